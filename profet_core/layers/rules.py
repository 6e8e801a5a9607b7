"""The rules of counting: each kind of layer from its input's shape and its settings to what it is and asks.

Shapes are without the batch and have channels last: (height, width, channels) or (features,). A multiply-add is two
FLOPs; biases and elementwise work are none, as in the measurements' `architectures.csv`. Each rule raises `InputError`,
a line that a layer's name can stand before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Literal

from profet_core.errors import InputError

Shape = tuple[int, ...]
#: What is added around an input: as little as keeps ceil(size / stride), nothing, or (before, after) for each side.
Padding = Literal["same", "valid"] | tuple[tuple[int, int], ...]

#: Maximum shape: a terabyte and more for one layer of one image.
MAX_ELEMENTS = 2**38
MAX_DIMENSIONS = 8
#: Largest kernel, stride, dilation, padding or number of groups.
MAX_SETTING = 2**24


def elements(shape: Shape) -> int:
    """How many values a shape has."""
    return prod(shape)


def check_shape(shape: Shape) -> Shape:
    """The shape itself."""
    if len(shape) > MAX_DIMENSIONS or min(shape, default=1) < 1:
        raise InputError(f"it would put out {shape_text(shape)}: the image is too small, or the file is damaged.")
    if elements(shape) > MAX_ELEMENTS:
        raise InputError(f"it would put out more than {MAX_ELEMENTS:,} values: the sizes in the file make no sense.")
    return shape


def shape_text(shape: Shape) -> str:
    """ "112 x 112 x 64"."""
    return " x ".join(str(side) if abs(side) < 10**12 else "very many" for side in shape[: MAX_DIMENSIONS + 1])


def broadcast(first: Shape, second: Shape) -> Shape:
    """The shape of an elementwise operation on both, as numpy has it: aligned at the last side, 1 fits any."""
    if first == second:
        return first
    length = max(len(first), len(second))
    pairs = zip((1,) * (length - len(first)) + first, (1,) * (length - len(second)) + second, strict=True)
    sides = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            raise InputError(f"its inputs, {shape_text(first)} and {shape_text(second)}, don't fit each other.")
        sides.append(other if one == 1 else one)
    return tuple(sides)


def window_output(
    sides: Shape, kernel: Shape, strides: Shape, padding: Padding, dilation: Shape, round_up: bool = False
) -> Shape:
    """Output sides of a window that moves over `sides`: convolution and pooling."""
    output = []
    for axis, side in enumerate(sides):
        stride, reach = strides[axis], (kernel[axis] - 1) * dilation[axis] + 1
        if padding == "same":
            output.append(-(-side // stride))
            continue
        before, after = (0, 0) if padding == "valid" else padding[axis]
        room = side + before + after - reach
        count = -(-room // stride) + 1 if round_up else room // stride + 1
        # The last window has to start inside the input or in the padding before it.
        if round_up and (count - 1) * stride >= side + before:
            count -= 1
        output.append(count if room >= 0 else 0)
    return tuple(output)


def transposed_output(
    sides: Shape, kernel: Shape, strides: Shape, padding: Padding, dilation: Shape, extra: Shape | None = None
) -> Shape:
    """Output sides of a transposed convolution.

    Parameters
    ----------
    extra : the output padding; None for the one Keras takes, which leaves no input out.
    """
    output = []
    for axis, side in enumerate(sides):
        stride, reach = strides[axis], (kernel[axis] - 1) * dilation[axis] + 1
        if extra is None:
            output.append(side * stride if padding == "same" else side * stride + max(reach - stride, 0))
            continue
        before, after = padding[axis] if isinstance(padding, tuple) else (0, 0)
        output.append((side - 1) * stride + reach - before - after + extra[axis])
    return tuple(output)


#: Values that one layer's parameters may have; larger ones don't fit any GPU.
MAX_PARAMETERS = 2**38


class Kind(StrEnum):
    """Kinds of layers, as far as counts tell them apart."""

    INPUT = "input"
    CONVOLUTION = "convolution"
    POINTWISE = "1 x 1 convolution"
    GROUPED = "grouped convolution"
    DEPTHWISE = "depthwise convolution"
    DENSE = "dense"
    PRODUCT = "matrix product"
    NORMALIZATION = "normalization"
    POOLING = "pooling"
    ACTIVATION = "activation"
    ELEMENTWISE = "elementwise"
    SHAPING = "shaping"
    #: Passes its input on: computes and keeps nothing.
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer with its shapes resolved.

    Attributes
    ----------
    output : its shape without the batch.
    parameters : all of them.
    trainable : those that have a gradient.
    flops : of one image, forward.
    is_activated : whether an activation function is part of the layer, as in Keras' `Dense(10, activation="relu")`.
    input_elements : values that a convolution or a dense layer reads.
    channels : of one group of a convolution, (input, output).
    """

    kind: Kind
    output: Shape
    parameters: int = 0
    trainable: int = 0
    flops: int = 0
    name: str = ""
    is_activated: bool = False
    input_elements: int = 0
    channels: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        check_shape(self.output)
        if self.parameters > MAX_PARAMETERS:
            raise InputError(f"it would have more than {MAX_PARAMETERS:,} parameters: the sizes make no sense.")


def convolution(
    shape: Shape,
    filters: int,
    kernel: Shape,
    strides: Shape | None = None,
    padding: Padding = "valid",
    *,
    dilation: Shape | None = None,
    groups: int = 1,
    bias: bool = True,
) -> Layer:
    """A convolution over all sides but the channels; one filter (or more) for each channel is a depthwise one."""
    (sides, _), ones = _image(shape, kernel), (1,) * len(kernel)
    output = (*window_output(sides, kernel, strides or ones, padding, dilation or ones), filters)
    return _convolved(shape, output, kernel, groups, bias)


def convolution_kind(kernel: Shape, channels: int, groups: int) -> Kind:
    """The kind of a convolution of an image with so many channels."""
    if groups > 1:
        return Kind.DEPTHWISE if groups == channels else Kind.GROUPED
    return Kind.POINTWISE if prod(kernel) == 1 else Kind.CONVOLUTION


def transposed_convolution(
    shape: Shape,
    filters: int,
    kernel: Shape,
    strides: Shape | None = None,
    padding: Padding = "valid",
    *,
    dilation: Shape | None = None,
    groups: int = 1,
    output_padding: Shape | None = None,
    bias: bool = True,
) -> Layer:
    """A transposed convolution: each input value is multiplied with the whole kernel."""
    (sides, _), ones = _image(shape, kernel), (1,) * len(kernel)
    output = (*transposed_output(sides, kernel, strides or ones, padding, dilation or ones, output_padding), filters)
    return _convolved(shape, output, kernel, groups, bias, is_transposed=True)


def _convolved(
    shape: Shape, output: Shape, kernel: Shape, groups: int, bias: bool, *, is_transposed: bool = False
) -> Layer:
    channels, filters = shape[-1], output[-1]
    if channels % groups or filters % groups:
        raise InputError(f"{channels:,} channels and {filters:,} filters don't divide into {groups:,} groups.")
    weights = prod(kernel) * (channels // groups) * filters
    parameters = weights + (filters if bias else 0)
    return Layer(
        Kind.CONVOLUTION if is_transposed else convolution_kind(kernel, channels, groups),
        output,
        parameters,
        parameters,
        2 * weights * prod((shape if is_transposed else output)[:-1]),
        input_elements=elements(shape),
        channels=(channels // groups, filters // groups),
    )


def dense(shape: Shape, units: int, *, bias: bool = True) -> Layer:
    """A dense layer on the last side; the others are positions that share its weights."""
    if not shape:
        raise InputError("a dense layer needs features, and its input has none.")
    weights = shape[-1] * units
    parameters = weights + (units if bias else 0)
    flops = 2 * weights * prod(shape[:-1])
    return Layer(Kind.DENSE, (*shape[:-1], units), parameters, parameters, flops, input_elements=elements(shape))


def product(output: Shape, inner: int) -> Layer:
    """A product of two matrices that the network computes, as attention has it, over `inner` values each."""
    return Layer(Kind.PRODUCT, output, flops=2 * inner * elements(output))


def pooling(
    shape: Shape, kernel: Shape, strides: Shape, padding: Padding = "valid", *, round_up: bool = False
) -> Layer:
    """Maximum or average pooling."""
    sides, channels = _image(shape, kernel)
    output = window_output(sides, kernel, strides, padding, (1,) * len(kernel), round_up)
    return Layer(Kind.POOLING, (*output, channels))


def global_pooling(shape: Shape, *, keep_sides: bool = False) -> Layer:
    """Pooling over all of the image."""
    if len(shape) < 2:
        raise InputError(f"global pooling needs an image, and its input is {shape_text(shape)}.")
    return Layer(Kind.POOLING, ((1,) * (len(shape) - 1) if keep_sides else ()) + shape[-1:])


def normalization(
    shape: Shape, *, scale: bool = True, center: bool = True, averages: bool = True, features: int | None = None
) -> Layer:
    """Batch, layer, group or instance normalization.

    Parameters
    ----------
    averages : whether running averages of mean and variance are kept, which have no gradient; batch normalization.
    features : scaled values; the last side if None.
    """
    if not shape:
        raise InputError("a normalization needs features, and its input has none.")
    features = shape[-1] if features is None else features
    trainable = features * (scale + center)
    return Layer(Kind.NORMALIZATION, shape, trainable + 2 * features * averages, trainable)


def elementwise(*shapes: Shape, parameters: int = 0, trainable: int | None = None) -> Layer:
    """Activations, dropout and scales of one input; sums and products of several: a value for each of the inputs'."""
    if not shapes:
        raise InputError("it has no input.")
    output = shapes[0]
    for shape in shapes[1:]:
        output = broadcast(output, shape)
    kind = Kind.ELEMENTWISE if len(shapes) > 1 else Kind.ACTIVATION
    return Layer(kind, output, parameters, parameters if trainable is None else trainable)


def scaling(shape: Shape) -> Layer:
    """Each channel times a weight of its own."""
    weights = shape[-1] if shape else 1
    return Layer(Kind.ELEMENTWISE, shape, weights, weights)


def only(shapes: tuple[Shape, ...]) -> Shape:
    """The shape of a layer's only input."""
    if len(shapes) != 1:
        raise InputError(f"it has {len(shapes):,} inputs, 1 is needed.")
    return shapes[0]


def concatenation(shapes: tuple[Shape, ...], axis: int = -1) -> Layer:
    """Layers side by side along one side, the last one as a rule."""
    if not shapes or not -len(shapes[0]) <= axis < len(shapes[0]):
        raise InputError("it has nothing to put together.")
    at = axis % len(shapes[0])
    rest = {(len(shape), *shape[:at], *shape[at + 1 :]) for shape in shapes}
    if len(rest) != 1:
        raise InputError("its inputs don't fit each other: " + ", ".join(map(shape_text, shapes[:4])) + ".")
    return Layer(Kind.SHAPING, (*shapes[0][:at], sum(shape[at] for shape in shapes), *shapes[0][at + 1 :]))


def flattening(shape: Shape) -> Layer:
    """All values in one row."""
    return Layer(Kind.SHAPING, (elements(shape),))


def reshaping(shape: Shape, target: Shape) -> Layer:
    """The same values in another shape; one side may be -1, which is what is left."""
    known = prod(side for side in target if side != -1)
    if target.count(-1) == 1 and known > 0 and elements(shape) % known == 0:
        target = tuple(elements(shape) // known if side == -1 else side for side in target)
    if min(target, default=1) < 1 or elements(target) != elements(shape):
        raise InputError(f"{shape_text(shape)} values don't fill {shape_text(target)}: other pixels than its own?")
    return Layer(Kind.SHAPING, target)


def permutation(shape: Shape, order: Shape) -> Layer:
    """The sides in another order, counted from 0."""
    if sorted(order) != list(range(len(shape))):
        raise InputError(f"its order doesn't fit an input of {shape_text(shape)}.")
    return Layer(Kind.SHAPING, tuple(shape[side] for side in order))


def margins(shape: Shape, sides: tuple[tuple[int, int], ...]) -> Layer:
    """(before, after) added to each side but the channels; taken away where they are negative."""
    if len(sides) != len(shape) - 1:
        raise InputError(f"padding of {len(sides)} sides doesn't fit an input of {shape_text(shape)}.")
    grown = tuple(side + before + after for side, (before, after) in zip(shape, sides, strict=False))
    return Layer(Kind.SHAPING, (*grown, shape[-1]))


def enlargement(shape: Shape, factors: Shape) -> Layer:
    """Upsampling by whole factors of all sides but the channels."""
    sides, channels = _image(shape, factors)
    return Layer(Kind.SHAPING, (*(side * factor for side, factor in zip(sides, factors, strict=True)), channels))


def resized(output: Shape) -> Layer:
    """Anything that computes nothing we count and puts out this shape: resizing, cutting out, choosing."""
    return Layer(Kind.SHAPING, output)


def _image(shape: Shape, kernel: Shape) -> tuple[Shape, int]:
    """Sides and channels of an image with as many sides as the kernel has."""
    if len(shape) != len(kernel) + 1:
        raise InputError(f"it needs an image of {len(kernel)} sides and channels, its input is {shape_text(shape)}.")
    if elements(shape) > MAX_ELEMENTS or min(shape) < 1:
        raise InputError(f"its input of {shape_text(shape)} makes no sense.")
    return shape[:-1], shape[-1]
