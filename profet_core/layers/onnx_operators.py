"""ONNX operators: output shapes, cost, and values that shapes come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from profet_core.errors import InputError, not_a_cnn
from profet_core.layers import rules
from profet_core.layers.network import MAX_DIMENSIONS, MAX_SETTING, Kind, Shape, shape_text
from profet_core.layers.rules import Padding, Window, broadcast, is_function

#: Values of a constant that is computed; shapes have a handful, masks some thousands.
MAX_CONSTANT = 65_536
_LARGEST = 2**62


#: TensorProto.DataType of weights.
FLOAT_TYPES = (1, 10, 11, 16)


class Value(NamedTuple):
    """One tensor.

    Attributes
    ----------
    shape : with the batch.
    constant : its numbers where the file has them.
    weights : names of the float tensors of the file that it was made of, if of nothing else.
    is_static : whether it is the same for every image.
    """

    shape: Shape
    constant: np.ndarray | None = None
    weights: tuple[str, ...] = ()
    is_static: bool = False


class Node(NamedTuple):
    """One operator, the names of what it takes and puts out ("" for omitted ones), and its attributes as messages.

    Attributes
    ----------
    value : the tensor among the attributes that makes a constant.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    value: Value | None

    def number(self, name: str, default: int) -> int:
        """A whole number among its attributes."""
        return self.attributes[name].number if name in self.attributes else default

    def numbers(self, name: str) -> list[Any]:
        """A list of numbers among its attributes."""
        given = self.attributes.get(name)
        return [] if given is None else [*given.numbers] or [*given.reals]


class Result(NamedTuple):
    """What an operator does.

    Attributes
    ----------
    shapes : of its outputs, with the batch.
    kind : of layer; None without computation.
    flops : of the whole batch.
    constant : numbers of its first output where those of all inputs are known.
    """

    shapes: tuple[Shape, ...]
    kind: Kind | None = None
    flops: int = 0
    constant: np.ndarray | None = None


Inputs = Sequence[Value | None]
Rule = Callable[[Node, Inputs], Result]


def applied(node: Node, inputs: Inputs) -> Result:
    """The result of an operator."""
    if node.operator in ("LSTM", "GRU", "RNN"):
        raise InputError(not_a_cnn("the network is not a CNN", "it has recurrent layers", "Give a CNN"))
    rule = RULES.get(node.operator) or (_keeping(Kind.ELEMENTWISE) if is_function(node.operator) else None)
    if rule is None:
        raise InputError("this operator isn't counted: export the model with others, or write a layer table.")
    try:
        with np.errstate(all="ignore"):
            result = rule(node, inputs)
        if result.constant is not None and (result.constant.dtype == object or result.constant.ndim > MAX_DIMENSIONS):
            raise ValueError
    except InputError:
        raise
    except (ValueError, IndexError, TypeError, OverflowError, AttributeError, ZeroDivisionError, RuntimeError):
        raise InputError("its inputs don't fit it: export the model again.") from None
    return result


def _value(inputs: Inputs, index: int = 0) -> Value:
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        raise InputError(f"its input {index + 1} is missing.")
    return value


def _shape(inputs: Inputs, index: int = 0) -> Shape:
    return _value(inputs, index).shape


def _constants(inputs: Inputs) -> list[Any] | None:
    """The numbers of all inputs, None for omitted ones; None where some are not known."""
    if any(value is not None and value.constant is None for value in inputs):
        return None
    return [None if value is None else value.constant for value in inputs]


def _whole_numbers(node: Node, inputs: Inputs, index: int, attribute: str = "") -> list[int] | None:
    """A list of whole numbers that stands in an attribute (older files) or in an input; None where it is omitted."""
    if numbers := node.numbers(attribute):
        return numbers
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        return None
    if value.constant is None:
        raise InputError("it depends on runtime values: export it for one image size.")
    # The end of a slice may be the largest number that there is.
    return [max(-_LARGEST, min(int(number), _LARGEST)) for number in value.constant.ravel().tolist()]


def _needed(node: Node, inputs: Inputs, index: int, attribute: str, what: str) -> list[int]:
    numbers = _whole_numbers(node, inputs, index, attribute)
    if numbers is None or len(numbers) > MAX_DIMENSIONS:
        raise InputError(f"its {what} is missing or makes no sense.")
    return numbers


def _place(axis: int, rank: int) -> int:
    """An axis that may be counted from the end."""
    if not -rank <= axis < rank:
        raise InputError(f"its axis is {axis}, and its input has {rank}.")
    return axis % rank


def _settings(node: Node, name: str, length: int, default: int = 1, least: int = 1) -> Shape:
    numbers = tuple(node.numbers(name) or (default,) * length)
    if len(numbers) != length or any(not least <= number <= MAX_SETTING for number in numbers):
        raise InputError(f"its {name} makes no sense for an input of {length} sides.")
    return numbers


def _padding(node: Node, sides: int) -> Padding:
    match node.attributes["auto_pad"].text if "auto_pad" in node.attributes else b"":
        case b"SAME_UPPER" | b"SAME_LOWER":
            return "same"
        case b"VALID":
            return "valid"
    pads = _settings(node, "pads", 2 * sides, 0, 0)
    return tuple(zip(pads[:sides], pads[sides:], strict=True))


def _window(node: Node, kernel: Shape) -> Window:
    sides = len(kernel)
    strides, dilation = _settings(node, "strides", sides), _settings(node, "dilations", sides)
    return Window(kernel, strides, _padding(node, sides), dilation)


def _channels_last(shape: Shape) -> Shape:
    """One image of a batch, as the rules have it."""
    if len(shape) < 3:
        raise InputError(f"it needs an image, and its input is {shape_text(shape)}.")
    return (*shape[2:], shape[1])


# --- convolutions and products ----------------------------------------------------------------------------------------


def _convolution(node: Node, inputs: Inputs) -> Result:
    shape, weight = _shape(inputs), _shape(inputs, 1)
    image = _channels_last(shape)
    sides, groups = len(image) - 1, node.number("group", 1)
    if len(weight) != sides + 2 or min(weight) < 1 or not 1 <= groups <= MAX_SETTING:
        raise InputError("its weights don't fit an image of so many sides.")
    is_transposed = node.operator == "ConvTranspose"
    channels = weight[0] if is_transposed else weight[1] * groups
    if channels != image[-1]:
        raise InputError(f"its weights are for {channels:,} channels, and it gets {image[-1]:,}.")
    window = _window(node, weight[2:])
    if is_transposed:
        if "output_shape" in node.attributes or not isinstance(window.padding, tuple):
            raise InputError("its output's shape is set by itself, which isn't counted.")
        extra, filters = _settings(node, "output_padding", sides, 0, 0), weight[1] * groups
        layer = rules.transposed_convolution(image, filters, window, groups, output_padding=extra)
    else:
        layer = rules.convolution(image, weight[0], window, groups)
    output = (shape[0], layer.output[-1], *layer.output[:-1])
    return Result((output,), layer.kind, shape[0] * layer.flops)


def _product(node: Node, inputs: Inputs) -> Result:
    first, second, is_gemm = _shape(inputs), _shape(inputs, 1), node.operator == "Gemm"
    if min(len(first), len(second)) < 2 or (is_gemm and max(len(first), len(second)) > 2):
        raise InputError("it does not multiply matrices.")
    first = first[::-1] if is_gemm and node.number("transA", 0) else first
    second = second[::-1] if is_gemm and node.number("transB", 0) else second
    if second[-2] != first[-1]:
        raise InputError(
            f"its weights are for {second[-2]:,} values, and it gets {first[-1]:,}: "
            "the network takes images of one size only; leave the pixels out, or export it at these."
        )
    output = (*broadcast(first[:-2], second[:-2]), first[-2], second[-1])
    is_dense = is_gemm or any(value is not None and value.is_static for value in inputs[:2])
    return Result((output,), Kind.DENSE if is_dense else Kind.PRODUCT, 2 * prod(output) * first[-1])


# --- normalization, pooling, elementwise ------------------------------------------------------------------------------


def _pooling(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    image = _channels_last(shape)
    window = _window(node, _settings(node, "kernel_shape", len(image) - 1))
    output = window.output(image[:-1], bool(node.number("ceil_mode", 0)))
    pooled = (*shape[:2], *output)
    # The second one has each maximum's position.
    return Result((pooled, pooled), Kind.POOLING)


def _global_pooling(_: Node, inputs: Inputs) -> Result:
    sides = len(_channels_last(_shape(inputs))) - 1
    return Result(((*_shape(inputs)[:2], *(1,) * sides),), Kind.POOLING)


def _reduction(node: Node, inputs: Inputs) -> Result:
    """Averages and sums over sides; over an image's, as pooling it is written so by some exporters."""
    shape = _shape(inputs)
    axes = _whole_numbers(node, inputs, 1, "axes")
    if not axes:
        axes = [] if node.number("noop_with_empty_axes", 0) else list(range(len(shape)))
    reduced = {_place(axis, len(shape)) for axis in axes}
    keeps = bool(node.number("keepdims", 1))
    output = tuple(1 if side in reduced else size for side, size in enumerate(shape) if keeps or side not in reduced)
    numbers = _value(inputs).constant
    constant = None
    if node.operator == "ReduceProd" and numbers is not None:
        product = np.asarray(np.prod(numbers, axis=tuple(reduced)))
        constant = np.expand_dims(product, tuple(reduced)) if keeps else product
    is_pooling = len(shape) == 4 and len(reduced) == 2
    return Result((output,), Kind.POOLING if is_pooling else Kind.ELEMENTWISE, constant=constant)


def _elementwise(function: Callable[..., Any]) -> Rule:
    """An operator on several tensors; exporters compute shapes with it too."""

    def rule(_: Node, inputs: Inputs) -> Result:
        output = _shape(inputs)
        for value in inputs[1:]:
            if value is not None:
                output = broadcast(output, value.shape)
        # A number for all values, as in the parts of GELU, costs no pass of its own.
        moving = [value for value in inputs if value is not None and prod(value.shape) > 1]
        is_scaling = len(inputs) > 1 and len(moving) == 1 and not moving[0].is_static
        return _made(output, inputs, function, None if is_scaling else Kind.ELEMENTWISE)

    return rule


def _divide(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whole numbers are divided towards zero."""
    if one.dtype.kind == other.dtype.kind == "i":
        return np.asarray((np.sign(one) * np.sign(other)) * (np.abs(one) // np.abs(other)))
    return np.asarray(one / other)


def _cast(node: Node, inputs: Inputs) -> Result:
    numbers = _value(inputs).constant
    is_float = node.number("to", 0) in FLOAT_TYPES
    constant = None if numbers is None else numbers.astype(np.float64 if is_float else np.int64)
    return Result((_shape(inputs),), Kind.ELEMENTWISE, constant=constant)


def _keeping(kind: Kind) -> Rule:
    """An operator whose outputs have its input's shape."""
    return lambda _, inputs: Result((_shape(inputs),) * 2, kind)


# --- the same values elsewhere ----------------------------------------------------------------------------------------

Move = Callable[[Node, np.ndarray, Inputs], np.ndarray]


def _moving(move: Move, kind: Kind | None = Kind.SHAPING) -> Rule:
    """An operator that views its first input in another way: numbers where they are known, else a shape."""

    def rule(node: Node, inputs: Inputs) -> Result:
        value = _value(inputs)
        is_known = _constants(inputs) is not None
        # Of one byte, whatever the shape.
        data = value.constant if is_known else np.broadcast_to(np.int8(0), value.shape)
        assert data is not None
        moved = move(node, data, inputs)
        return Result((moved.shape,), kind, constant=moved if is_known else None)

    return rule


def _reshape(node: Node, data: np.ndarray, inputs: Inputs) -> np.ndarray:
    target = _needed(node, inputs, 1, "shape", "target shape")
    if not node.number("allowzero", 0):
        target = [data.shape[index] if side == 0 else side for index, side in enumerate(target)]
    return data.reshape(rules.reshaping(data.shape, tuple(target)).output if data.size else target)


def _flatten(node: Node, data: np.ndarray, _: Inputs) -> np.ndarray:
    axis = node.number("axis", 1)
    axis = _place(axis, data.ndim) if axis != data.ndim else axis
    return data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))


def _axes(node: Node, inputs: Inputs) -> tuple[int, ...] | None:
    axes = _whole_numbers(node, inputs, 1, "axes")
    return None if axes is None else tuple(axes)


def _unsqueeze(node: Node, data: np.ndarray, inputs: Inputs) -> np.ndarray:
    axes = _axes(node, inputs) or ()
    if data.ndim + len(axes) > MAX_DIMENSIONS:
        raise InputError(f"its output has more than {MAX_DIMENSIONS} sides.")
    return np.expand_dims(data, axes)


def _slice(node: Node, data: np.ndarray, inputs: Inputs) -> np.ndarray:
    starts, ends = _whole_numbers(node, inputs, 1, "starts"), _whole_numbers(node, inputs, 2, "ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise InputError("its starts and ends don't fit its input.")
    axes, steps = _whole_numbers(node, inputs, 3, "axes"), _whole_numbers(node, inputs, 4)
    cut = [slice(None)] * data.ndim
    for start, end, axis, step in zip(
        starts, ends, axes or range(len(starts)), steps or [1] * len(starts), strict=True
    ):
        cut[_place(axis, data.ndim)] = slice(start, end, step)
    return data[tuple(cut)]


def _expand(node: Node, data: np.ndarray, inputs: Inputs) -> np.ndarray:
    target = _needed(node, inputs, 1, "", "target shape")
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(target)))


def _concatenation(node: Node, inputs: Inputs) -> Result:
    axis = node.number("axis", -1)
    shape = rules.concatenation(tuple(value.shape for value in inputs if value is not None), axis).output
    return _made(shape, inputs, lambda *arrays: np.concatenate([one for one in arrays if one is not None], axis))


def _gather(node: Node, inputs: Inputs) -> Result:
    shape, indices = _shape(inputs), _shape(inputs, 1)
    axis = _place(node.number("axis", 0), len(shape))
    output = (*shape[:axis], *indices, *shape[axis + 1 :])
    return _made(output, inputs, lambda values, places: np.take(values, places, axis))


def _made(shape: Shape, inputs: Inputs, function: Callable[..., Any], kind: Kind | None = Kind.SHAPING) -> Result:
    """A result of this shape, with its numbers where those of all inputs are known and few."""
    numbers = _constants(inputs) if prod(shape) <= MAX_CONSTANT else None
    return Result((shape,), kind, constant=None if numbers is None else np.asarray(function(*numbers)))


def _pad(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    pads = _whole_numbers(node, inputs, 1, "pads") or []
    axes = _whole_numbers(node, inputs, 3) or list(range(len(shape)))
    if len(pads) != 2 * len(axes):
        raise InputError("its pads don't fit its input.")
    grown = list(shape)
    for index, axis in enumerate(axes):
        grown[_place(axis, len(shape))] += pads[index] + pads[index + len(axes)]
    return Result((tuple(grown),), Kind.SHAPING)


def _split(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    axis = _place(node.number("axis", 0), len(shape))
    sizes = _whole_numbers(node, inputs, 1, "split")
    if sizes is None:
        parts = max(1, min(len(node.outputs), shape[axis]))
        each = -(-shape[axis] // parts)
        sizes = [each] * (parts - 1) + [shape[axis] - each * (parts - 1)]
    if sum(sizes) != shape[axis] or min(sizes, default=-1) < 0:
        raise InputError("its parts don't add up to its input.")
    return Result(tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in sizes), Kind.SHAPING)


def _resize(node: Node, inputs: Inputs) -> Result:
    """Sizes, or factors, are an input whose place changed over the years."""
    shape = _shape(inputs)
    sizes = _whole_numbers(node, inputs, 3)
    if sizes is not None and len(sizes) == len(shape):
        return Result((tuple(sizes),), Kind.SHAPING)
    scales: list[float] = node.numbers("scales")
    for value in inputs[1:3]:
        if value is not None and value.constant is not None and value.constant.size == len(shape):
            scales = [float(scale) for scale in value.constant.ravel()]
    if len(scales) != len(shape) or any(not 0 < scale <= MAX_SETTING for scale in scales):
        raise InputError("how much it resizes isn't in the file: export it for one image size.")
    return Result((tuple(int(side * scale) for side, scale in zip(shape, scales, strict=True)),), Kind.SHAPING)


def _blocks(node: Node, inputs: Inputs) -> Result:
    """Depth to space, and back."""
    shape, block = _shape(inputs), node.number("blocksize", 0)
    if len(shape) != 4 or not 1 <= block <= MAX_SETTING:
        raise InputError("its blocks don't fit its input.")
    batch, channels, height, width = shape
    if node.operator == "DepthToSpace":
        return Result(((batch, channels // block**2, height * block, width * block),), Kind.SHAPING)
    return Result(((batch, channels * block**2, height // block, width // block),), Kind.SHAPING)


# --- tensors that the graph makes -------------------------------------------------------------------------------------


def _shape_of(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    if node.operator == "Size":
        constant = np.array(prod(shape), np.float64)
    else:
        constant = np.array(shape[node.number("start", 0) : node.number("end", len(shape))], np.int64)
    return Result((constant.shape,), constant=constant)


def _range(_: Node, inputs: Inputs) -> Result:
    numbers = _constants(inputs)
    if numbers is None:
        raise InputError("it depends on runtime values: export it for one image size.")
    start, end, step = (array.item() for array in numbers)
    if step == 0 or abs(end - start) / abs(step) > MAX_CONSTANT:
        raise InputError(f"it makes more than {MAX_CONSTANT:,} values: export the model again.")
    constant = np.arange(start, end, step)
    return Result((constant.shape,), constant=constant)


def _filled(node: Node, inputs: Inputs) -> Result:
    """A tensor of one number."""
    target = tuple(_needed(node, inputs, 0, "", "shape"))
    constant = None
    if prod(target) <= MAX_CONSTANT and min(target, default=0) >= 0:
        values = None if node.value is None else node.value.constant
        constant = np.full(target, 0 if values is None or not values.size else values.ravel()[0])
    return Result((target,), constant=constant)


_NORMALIZATIONS = """
BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LpNormalization
"""
_REDUCTIONS = "ReduceMean ReduceMax ReduceMin ReduceSum ReduceL2 ReduceSumSquare ReduceProd"
#: Called so in numpy too.
_NUMPY = "Add Mod Abs Floor Ceil Sqrt Equal Greater Less Where"
#: Operators with rules of their own; others that `is_function` knows compute each value by itself.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_NORMALIZATIONS.split(), _keeping(Kind.NORMALIZATION)),
        **dict.fromkeys(_REDUCTIONS.split(), _reduction),
        **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pooling),
        **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global_pooling),
        **{name: _elementwise(getattr(np, name.lower())) for name in _NUMPY.split()},
        "Sub": _elementwise(np.subtract),
        "Mul": _elementwise(np.multiply),
        "Div": _elementwise(_divide),
        "Min": _elementwise(lambda *arrays: reduce(np.minimum, arrays)),
        "Max": _elementwise(lambda *arrays: reduce(np.maximum, arrays)),
        "Neg": _elementwise(np.negative),
        "GreaterOrEqual": _elementwise(np.greater_equal),
        "LessOrEqual": _elementwise(np.less_equal),
        "And": _elementwise(np.logical_and),
        "Or": _elementwise(np.logical_or),
        "Xor": _elementwise(np.logical_xor),
        "Sum": _elementwise(lambda *arrays: reduce(np.add, arrays)),
        "Mean": _elementwise(lambda *arrays: reduce(np.add, arrays) / len(arrays)),
        "Not": _elementwise(np.logical_not),
        "Cast": _cast,
        "Conv": _convolution,
        "ConvTranspose": _convolution,
        "Gemm": _product,
        "MatMul": _product,
        "Identity": _moving(lambda _, data, __: data, None),
        "Reshape": _moving(_reshape),
        "Flatten": _moving(_flatten),
        "Transpose": _moving(lambda node, data, _: np.transpose(data, node.numbers("perm") or None)),
        "Squeeze": _moving(lambda node, data, inputs: np.squeeze(data, _axes(node, inputs)), None),
        "Unsqueeze": _moving(_unsqueeze, None),
        "Slice": _moving(_slice),
        "Expand": _moving(_expand),
        "Concat": _concatenation,
        "Gather": _gather,
        "Pad": _pad,
        "Split": _split,
        "Resize": _resize,
        "Upsample": _resize,
        "DepthToSpace": _blocks,
        "SpaceToDepth": _blocks,
        "Shape": _shape_of,
        "Size": _shape_of,
        "Range": _range,
        "ConstantOfShape": _filled,
    }
)
