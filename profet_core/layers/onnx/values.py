"""What is known of a tensor while a graph is followed, and the arithmetic of shapes that exporters write into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from profet_core.errors import InputError
from profet_core.layers.onnx.messages import Node
from profet_core.layers.shapes import MAX_DIMENSIONS, Shape

#: Values of a constant that is computed; shapes have a handful, masks some thousands.
MAX_CONSTANT = 65_536
#: Of all constants together, and tensors of the file that one is made of.
MAX_CONSTANTS, MAX_MADE_OF = 4_000_000, 1_000
#: Inputs followed, and the tensors that these are made of; networks take some thousand.
MAX_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor.

    Attributes
    ----------
    shape : with the batch.
    constant : its numbers where the file tells them.
    weights : names of the float tensors of the file that it was made of, if of nothing else.
    is_static : whether it is the same for every image.
    """

    shape: Shape
    constant: np.ndarray | None = None
    weights: tuple[str, ...] = ()
    is_static: bool = False


def whole_numbers(node: Node, inputs: Sequence[Value | None], index: int, attribute: str = "") -> list[int] | None:
    """A list of whole numbers that stands in an attribute (older files) or in an input; None where it is left out.

    Raises
    ------
    InputError : the input isn't known before the network runs.
    """
    given = node.attributes.get(attribute)
    if given is not None and given.numbers:
        return given.numbers
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        return None
    if value.constant is None:
        raise InputError("it depends on values that are known in a run only: export it for one image size.")
    return [int(number) for number in value.constant.ravel().tolist() if abs(number) < 2**62]


def place(axis: int, rank: int) -> int:
    """An axis that may be counted from the end.

    Raises
    ------
    InputError : there is no such side.
    """
    if not -rank <= axis < rank:
        raise InputError(f"it works on side {axis} of {rank}.")
    return axis % rank


def folded(node: Node, inputs: Sequence[Value | None]) -> np.ndarray | None:
    """The result of an operator on constants; None where that isn't one, or is too large.

    Raises
    ------
    InputError : the constants don't fit the operator.
    """
    try:
        with np.errstate(all="ignore"):
            result = _folded(node, inputs)
    except (ValueError, IndexError, TypeError, OverflowError, AttributeError, ZeroDivisionError, RuntimeError):
        raise _misfit() from None
    if result is not None and (result.dtype == object or result.ndim > MAX_DIMENSIONS):
        raise _misfit()
    return result if result is not None and result.size <= MAX_CONSTANT else None


def _misfit() -> InputError:
    return InputError("its constants don't fit it: export the model again.")


def _folded(node: Node, inputs: Sequence[Value | None]) -> np.ndarray | None:
    if node.operator == "Constant":
        return _constant(node)
    if node.operator in ("Shape", "Size"):
        first = inputs[0] if inputs else None
        return None if first is None else _shape(node, first)
    fold = _FOLDS.get(node.operator)
    if fold is None or any(value is not None and value.constant is None for value in inputs):
        return None
    return fold(node, [None if value is None else value.constant for value in inputs])


def _constant(node: Node) -> np.ndarray | None:
    tensor = node.attributes.get("value")
    if tensor is not None and tensor.tensor is not None:
        return tensor.tensor.values
    for name in ("value_int", "value_ints"):
        if (given := node.attributes.get(name)) is not None:
            return np.array(given.number if name == "value_int" else given.numbers, np.int64)
    return None


def _shape(node: Node, value: Value) -> np.ndarray:
    if node.operator == "Size":
        return np.array(prod(value.shape), np.float64)
    start, end = (node.attributes.get(name) for name in ("start", "end"))
    shape = value.shape[start.number if start else None : end.number if end else None]
    return np.array(shape, np.int64)


def _elementwise(function: Callable[..., Any]) -> Callable[[Node, list[Any]], np.ndarray | None]:
    def fold(_: Node, arrays: list[Any]) -> np.ndarray | None:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        return np.asarray(function(*arrays)) if prod(shape) <= MAX_CONSTANT else None

    return fold


def _divide(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whole numbers are divided towards zero."""
    result: np.ndarray
    if one.dtype.kind == "i" and other.dtype.kind == "i":
        result = (np.sign(one) * np.sign(other)) * (np.abs(one) // np.abs(other))
    else:
        result = one / other
    return result


def _cast(node: Node, arrays: list[Any]) -> np.ndarray:
    to = node.attributes.get("to")
    data: np.ndarray = arrays[0]
    return data.astype(np.float64 if to is not None and to.number in (1, 10, 11, 16) else np.int64)


def _concat(node: Node, arrays: list[Any]) -> np.ndarray | None:
    if sum(array.size for array in arrays) > MAX_CONSTANT:
        return None
    return np.concatenate(arrays, node.number("axis", 0))


def _gather(node: Node, arrays: list[Any]) -> np.ndarray | None:
    data, indices = arrays
    if data.size * indices.size > MAX_CONSTANT:
        return None
    taken: np.ndarray = np.take(data, indices, node.number("axis", 0))
    return taken


def _axes(node: Node, arrays: list[Any]) -> tuple[int, ...] | None:
    given = node.attributes.get("axes")
    if given is not None and given.numbers:
        return tuple(given.numbers)
    return tuple(int(axis) for axis in arrays[1].ravel()) if len(arrays) > 1 and arrays[1] is not None else None


def _unsqueeze(node: Node, arrays: list[Any]) -> np.ndarray:
    return np.expand_dims(arrays[0], _axes(node, arrays) or ())


def _squeeze(node: Node, arrays: list[Any]) -> np.ndarray:
    data: np.ndarray = arrays[0]
    return np.squeeze(data, _axes(node, arrays))


def _slice(node: Node, arrays: list[Any]) -> np.ndarray:
    data: np.ndarray = arrays[0]
    parts = [[int(number) for number in array.ravel()] for array in arrays[1:5] if array is not None]
    if len(arrays) == 1:
        parts = [node.attributes[name].numbers for name in ("starts", "ends", "axes") if name in node.attributes]
    starts, ends = parts[:2]
    axes = parts[2] if len(parts) > 2 else range(len(starts))
    steps = parts[3] if len(parts) > 3 else [1] * len(starts)
    cut: list[slice] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        cut[axis] = slice(start, end, step)
    return data[tuple(cut)]


def _range(_: Node, arrays: list[Any]) -> np.ndarray | None:
    start, end, step = (array.item() for array in arrays)
    return None if step == 0 or abs(end - start) / abs(step) > MAX_CONSTANT else np.arange(start, end, step)


def _filled(node: Node, arrays: list[Any]) -> np.ndarray | None:
    shape = [int(side) for side in arrays[0].ravel()]
    if prod(shape) > MAX_CONSTANT or min(shape, default=0) < 0 or len(shape) > 8:
        return None
    given = node.attributes.get("value")
    values = None if given is None or given.tensor is None else given.tensor.values
    return np.full(shape, 0 if values is None or not values.size else values.ravel()[0])


def _expand(_: Node, arrays: list[Any]) -> np.ndarray | None:
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(side) for side in arrays[1].ravel()))
    return np.broadcast_to(arrays[0], shape) if prod(shape) <= MAX_CONSTANT else None


def _product(node: Node, arrays: list[Any]) -> np.ndarray:
    product: np.ndarray = np.prod(arrays[0], axis=_axes(node, arrays), keepdims=bool(node.number("keepdims", 1)))
    return product


_FOLDS: Mapping[str, Callable[[Node, list[Any]], np.ndarray | None]] = MappingProxyType(
    {
        "Add": _elementwise(np.add),
        "Sub": _elementwise(np.subtract),
        "Mul": _elementwise(np.multiply),
        "Div": _elementwise(_divide),
        "Mod": _elementwise(np.mod),
        "Min": _elementwise(lambda *arrays: np.minimum.reduce(np.broadcast_arrays(*arrays))),
        "Max": _elementwise(lambda *arrays: np.maximum.reduce(np.broadcast_arrays(*arrays))),
        "Neg": _elementwise(np.negative),
        "Abs": _elementwise(np.abs),
        "Floor": _elementwise(np.floor),
        "Ceil": _elementwise(np.ceil),
        "Sqrt": _elementwise(np.sqrt),
        "Equal": _elementwise(np.equal),
        "Greater": _elementwise(np.greater),
        "Less": _elementwise(np.less),
        "GreaterOrEqual": _elementwise(np.greater_equal),
        "LessOrEqual": _elementwise(np.less_equal),
        "And": _elementwise(np.logical_and),
        "Or": _elementwise(np.logical_or),
        "Not": _elementwise(np.logical_not),
        "Where": _elementwise(np.where),
        "Identity": lambda _, arrays: arrays[0],
        "Cast": _cast,
        "Concat": _concat,
        "Gather": _gather,
        "Unsqueeze": _unsqueeze,
        "Squeeze": _squeeze,
        "Slice": _slice,
        "Range": _range,
        "ConstantOfShape": _filled,
        "Expand": _expand,
        "Reshape": lambda _, arrays: arrays[0].reshape([int(side) for side in arrays[1].ravel()]),
        "Transpose": lambda _, arrays: arrays[0].T if arrays[0].ndim < 3 else None,
        "ReduceProd": _product,
    }
)
