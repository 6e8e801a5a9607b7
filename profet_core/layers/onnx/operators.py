"""ONNX operators: output shapes and cost from input shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.onnx.messages import Node
from profet_core.layers.onnx.values import Value, place, whole_numbers
from profet_core.layers.rules import Kind
from profet_core.layers.shapes import MAX_DIMENSIONS, MAX_SETTING, Padding, Shape, broadcast, shape_text, window_output


@dataclass(frozen=True, slots=True)
class Result:
    """What an operator does.

    Attributes
    ----------
    shapes : of its outputs, with the batch.
    kind : of layer; None without computation.
    flops : of the whole batch.
    """

    shapes: tuple[Shape, ...]
    kind: Kind | None = None
    flops: int = 0


Inputs = Sequence[Value | None]
Rule = Callable[[Node, Inputs], Result]


def _shape(inputs: Inputs, index: int = 0) -> Shape:
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        raise InputError(f"its input {index + 1} is missing.")
    return value.shape


def _settings(node: Node, name: str, length: int, default: int = 1, least: int = 1) -> Shape:
    given = node.attributes.get(name)
    numbers = tuple(given.numbers) if given is not None and given.numbers else (default,) * length
    if len(numbers) != length or any(not least <= number <= MAX_SETTING for number in numbers):
        raise InputError(f"its {name} makes no sense for an input of {length} sides.")
    return numbers


def _padding(node: Node, sides: int) -> Padding:
    given = node.attributes.get("auto_pad")
    match given.text if given is not None else "":
        case "SAME_UPPER" | "SAME_LOWER":
            return "same"
        case "VALID":
            return "valid"
    pads = _settings(node, "pads", 2 * sides, 0, 0)
    return tuple(zip(pads[:sides], pads[sides:], strict=True))


def _channels_last(shape: Shape) -> Shape:
    """One image of a batch, as the rules have it."""
    if len(shape) < 3:
        raise InputError(f"it needs an image, and its input is {shape_text(shape)}.")
    return (*shape[2:], shape[1])


def _channels_first(batch: int, shape: Shape) -> Shape:
    return (batch, shape[-1], *shape[:-1])


# --- convolutions and products ----------------------------------------------------------------------------------------


def _convolution(node: Node, inputs: Inputs) -> Result:
    shape, weight = _shape(inputs), _shape(inputs, 1)
    image = _channels_last(shape)
    sides, groups = len(image) - 1, node.number("group", 1)
    if len(weight) != sides + 2 or min(weight) < 1 or not 1 <= groups <= MAX_SETTING:
        raise InputError("its weights don't fit an image of so many sides.")
    if weight[1] * groups != image[-1]:
        raise InputError(f"its weights are for {weight[1] * groups:,} channels, and it gets {image[-1]:,}.")
    layer = rules.convolution(
        image,
        weight[0],
        weight[2:],
        _settings(node, "strides", sides),
        _padding(node, sides),
        dilation=_settings(node, "dilations", sides),
        groups=groups,
    )
    return Result((_channels_first(shape[0], layer.output),), layer.kind, shape[0] * layer.flops)


def _transposed(node: Node, inputs: Inputs) -> Result:
    shape, weight = _shape(inputs), _shape(inputs, 1)
    image = _channels_last(shape)
    sides, groups = len(image) - 1, node.number("group", 1)
    if len(weight) != sides + 2 or min(weight) < 1 or weight[0] != image[-1] or not 1 <= groups <= MAX_SETTING:
        raise InputError("its weights don't fit its input.")
    padding = _padding(node, sides)
    if node.attributes.get("output_shape") is not None or not isinstance(padding, tuple):
        raise InputError("its output's shape is set by itself, which isn't counted.")
    layer = rules.transposed_convolution(
        image,
        weight[1] * groups,
        weight[2:],
        _settings(node, "strides", sides),
        padding,
        dilation=_settings(node, "dilations", sides),
        groups=groups,
        output_padding=_settings(node, "output_padding", sides, 0, 0),
    )
    return Result((_channels_first(shape[0], layer.output),), layer.kind, shape[0] * layer.flops)


def _gemm(node: Node, inputs: Inputs) -> Result:
    first, second = _shape(inputs), _shape(inputs, 1)
    if len(first) != 2 or len(second) != 2:
        raise InputError("it multiplies other than two matrices.")
    rows, inner = reversed(first) if node.number("transA", 0) else first
    features, units = reversed(second) if node.number("transB", 0) else second
    _check_features(features, inner)
    return Result(((rows, units),), Kind.DENSE, 2 * rows * features * units)


def _check_features(expected: int, given: int) -> None:
    if expected != given:
        raise InputError(
            f"its weights are for {expected:,} values, and it gets {given:,}: "
            "the network takes images of one size only; leave the pixels out, or export it at these."
        )


def _matmul(_: Node, inputs: Inputs) -> Result:
    first, second = _shape(inputs), _shape(inputs, 1)
    if min(len(first), len(second)) < 2:
        raise InputError("it multiplies other than matrices.")
    _check_features(second[-2], first[-1])
    output = (*broadcast(first[:-2], second[:-2]), first[-2], second[-1])
    is_dense = any(value is not None and value.is_static for value in inputs[:2])
    return Result((output,), Kind.DENSE if is_dense else Kind.PRODUCT, 2 * prod(output) * first[-1])


# --- normalization, pooling, elementwise ------------------------------------------------------------------------------


def _normalization(_: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    return Result((shape,), Kind.NORMALIZATION)


def _pooling(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    image = _channels_last(shape)
    sides = len(image) - 1
    kernel = _settings(node, "kernel_shape", sides)
    strides, dilation = _settings(node, "strides", sides), _settings(node, "dilations", sides)
    round_up = bool(node.number("ceil_mode", 0))
    output = window_output(image[:-1], kernel, strides, _padding(node, sides), dilation, round_up)
    pooled = (*shape[:2], *output)
    # The second one has each maximum's position.
    return Result((pooled, pooled), Kind.POOLING)


def _global_pooling(_: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    _channels_last(shape)
    return Result(((*shape[:2], *(1,) * (len(shape) - 2)),), Kind.POOLING)


def _reduction(node: Node, inputs: Inputs) -> Result:
    """Averages and sums over sides; over an image's, as pooling it is written so by some exporters."""
    shape = _shape(inputs)
    axes = whole_numbers(node, inputs, 1, "axes")
    if axes is None or not axes:
        axes = [] if node.number("noop_with_empty_axes", 0) else list(range(len(shape)))
    reduced = {place(axis, len(shape)) for axis in axes}
    keeps = node.number("keepdims", 1)
    output = tuple(1 if side in reduced else size for side, size in enumerate(shape) if keeps or side not in reduced)
    is_pooling = len(shape) == 4 and len(reduced) == 2
    return Result((output,), Kind.POOLING if is_pooling else Kind.ELEMENTWISE)


def _elementwise(_: Node, inputs: Inputs) -> Result:
    output = _shape(inputs)
    for value in inputs[1:]:
        if value is not None:
            output = broadcast(output, value.shape)
    # A number for all values, as in the parts of GELU, costs no pass of its own.
    moving = [value for value in inputs if value is not None and prod(value.shape) > 1]
    is_scaling = len(inputs) > 1 and len(moving) == 1 and not moving[0].is_static
    return Result((output,), None if is_scaling else Kind.ELEMENTWISE)


def _activation(_: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    return Result((shape, shape), Kind.ELEMENTWISE)


def _same(_: Node, inputs: Inputs) -> Result:
    return Result((_shape(inputs),))


# --- shapes -----------------------------------------------------------------------------------------------------------


def _reshape(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    target = whole_numbers(node, inputs, 1, "shape")
    if target is None or len(target) > MAX_DIMENSIONS:
        raise InputError("its target shape is missing.")
    if not node.number("allowzero", 0):
        if any(side == 0 and index >= len(shape) for index, side in enumerate(target)):
            raise InputError("its target shape doesn't fit its input.")
        target = [shape[index] if side == 0 else side for index, side in enumerate(target)]
    return Result((rules.reshaping(shape, tuple(target)).output,), Kind.SHAPING)


def _flatten(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    axis = node.number("axis", 1)
    axis = place(axis, len(shape)) if axis != len(shape) else axis
    return Result(((prod(shape[:axis]), prod(shape[axis:])),), Kind.SHAPING)


def _transpose(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    given = node.attributes.get("perm")
    order = tuple(given.numbers) if given is not None and given.numbers else tuple(reversed(range(len(shape))))
    return Result((rules.permutation(shape, order).output,), Kind.SHAPING)


def _squeeze(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    axes = whole_numbers(node, inputs, 1, "axes")
    gone = {index for index, side in enumerate(shape) if side == 1} if axes is None else set()
    gone |= {place(axis, len(shape)) for axis in axes or ()}
    if any(shape[index] != 1 for index in gone):
        raise InputError("it removes a side larger than 1.")
    return Result((tuple(side for index, side in enumerate(shape) if index not in gone),))


def _unsqueeze(node: Node, inputs: Inputs) -> Result:
    shape = list(_shape(inputs))
    axes = whole_numbers(node, inputs, 1, "axes") or []
    rank = len(shape) + len(axes)
    if rank > MAX_DIMENSIONS:
        raise InputError(f"its output has more than {MAX_DIMENSIONS} sides.")
    for axis in sorted({place(axis, rank) for axis in axes}):
        shape.insert(axis, 1)
    return Result((tuple(shape),))


def _concatenation(node: Node, inputs: Inputs) -> Result:
    shapes = tuple(value.shape for value in inputs if value is not None)
    return Result((rules.concatenation(shapes, node.number("axis", -1)).output,), Kind.SHAPING)


def _pad(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    pads = whole_numbers(node, inputs, 1, "pads") or []
    axes = whole_numbers(node, inputs, 3) or list(range(len(shape)))
    if len(pads) != 2 * len(axes):
        raise InputError("its pads don't fit its input.")
    grown = list(shape)
    for index, axis in enumerate(axes):
        grown[place(axis, len(shape))] += pads[index] + pads[index + len(axes)]
    return Result((tuple(grown),), Kind.SHAPING)


def _slice(node: Node, inputs: Inputs) -> Result:
    shape = list(_shape(inputs))
    starts, ends = whole_numbers(node, inputs, 1, "starts"), whole_numbers(node, inputs, 2, "ends")
    axes, steps = whole_numbers(node, inputs, 3, "axes"), whole_numbers(node, inputs, 4)
    if starts is None or ends is None or len(starts) != len(ends) or len(starts) > len(shape):
        raise InputError("its starts and ends don't fit its input.")
    axes, steps = axes or list(range(len(starts))), steps or [1] * len(starts)
    if len(axes) != len(starts) or len(steps) != len(starts) or 0 in steps:
        raise InputError("its steps don't fit its input.")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        side = place(axis, len(shape))
        shape[side] = len(range(shape[side])[start:end:step])
    return Result((tuple(shape),), Kind.SHAPING)


def _split(node: Node, inputs: Inputs) -> Result:
    shape = _shape(inputs)
    axis = place(node.number("axis", 0), len(shape))
    sizes = whole_numbers(node, inputs, 1, "split")
    if sizes is None:
        parts = max(1, min(len(node.outputs), shape[axis]))
        each = -(-shape[axis] // parts)
        sizes = [each] * (parts - 1) + [shape[axis] - each * (parts - 1)]
    if sum(sizes) != shape[axis] or min(sizes, default=-1) < 0:
        raise InputError("its parts don't add up to its input.")
    return Result(tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in sizes), Kind.SHAPING)


def _gather(node: Node, inputs: Inputs) -> Result:
    shape, indices = _shape(inputs), _shape(inputs, 1)
    axis = place(node.number("axis", 0), len(shape))
    return Result(((*shape[:axis], *indices, *shape[axis + 1 :]),), Kind.SHAPING)


def _expand(node: Node, inputs: Inputs) -> Result:
    target = whole_numbers(node, inputs, 1) or []
    if len(target) > MAX_DIMENSIONS:
        raise InputError("its target shape makes no sense.")
    return Result((broadcast(_shape(inputs), tuple(target)),), Kind.SHAPING)


def _resize(node: Node, inputs: Inputs) -> Result:
    """Sizes, or factors, are an input whose place changed over the years."""
    shape = _shape(inputs)
    sizes = whole_numbers(node, inputs, 3)
    if sizes is not None and len(sizes) == len(shape):
        return Result((tuple(sizes),), Kind.SHAPING)
    given = node.attributes.get("scales")
    scales: list[float] = list(given.reals) if given is not None else []
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


def _constant_shape(node: Node, inputs: Inputs) -> Result:
    """A tensor filled with one number, too large to be kept."""
    target = whole_numbers(node, inputs, 0)
    if target is None or len(target) > MAX_DIMENSIONS:
        raise InputError("its shape makes no sense.")
    return Result((tuple(target),))


_ACTIVATIONS = """
Relu LeakyRelu PRelu Elu Selu Celu ThresholdedRelu Sigmoid HardSigmoid Tanh Softmax LogSoftmax Hardmax Softplus Softsign
HardSwish Swish Mish Gelu Erf Exp Log Sqrt Reciprocal Abs Neg Floor Ceil Round Sign Sin Cos Not Clip Cast Dropout LRN
Pow IsNaN
"""
_OF_TWO = """
Add Sub Mul Div Min Max Mean Sum Mod Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor Where
"""
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_ACTIVATIONS.split(), _activation),
        **dict.fromkeys(_OF_TWO.split(), _elementwise),
        "Conv": _convolution,
        "ConvTranspose": _transposed,
        "Gemm": _gemm,
        "MatMul": _matmul,
        **dict.fromkeys(
            (
                "BatchNormalization",
                "InstanceNormalization",
                "LayerNormalization",
                "GroupNormalization",
                "RMSNormalization",
                "LpNormalization",
            ),
            _normalization,
        ),
        **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pooling),
        **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global_pooling),
        **dict.fromkeys(
            ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL2", "ReduceSumSquare", "ReduceProd"),
            _reduction,
        ),
        "Identity": _same,
        "Reshape": _reshape,
        "Flatten": _flatten,
        "Transpose": _transpose,
        "Squeeze": _squeeze,
        "Unsqueeze": _unsqueeze,
        "Concat": _concatenation,
        "Pad": _pad,
        "Slice": _slice,
        "Split": _split,
        "Gather": _gather,
        "Expand": _expand,
        "Resize": _resize,
        "Upsample": _resize,
        "DepthToSpace": _blocks,
        "SpaceToDepth": _blocks,
        "ConstantOfShape": _constant_shape,
    }
)
