"""Layer shapes without the batch: (height, width, channels) or (features,)."""

from __future__ import annotations

import math
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
    return math.prod(shape)


def check_shape(shape: Shape) -> Shape:
    """The shape itself.

    Raises
    ------
    InputError : a side that is empty, or more values than any network has.
    """
    if len(shape) > MAX_DIMENSIONS or min(shape, default=1) < 1:
        raise InputError(f"it would put out {shape_text(shape)}: the image is too small, or the file is damaged.")
    if elements(shape) > MAX_ELEMENTS:
        raise InputError(f"it would put out more than {MAX_ELEMENTS:,} values: the sizes in the file make no sense.")
    return shape


def shape_text(shape: Shape) -> str:
    """ "112 x 112 x 64"."""
    return " x ".join(str(side) if abs(side) < 10**12 else "very many" for side in shape[: MAX_DIMENSIONS + 1])


def broadcast(first: Shape, second: Shape) -> Shape:
    """The shape of an elementwise operation on both, as numpy has it: aligned at the last side, 1 fits any.

    Raises
    ------
    InputError : they don't fit each other.
    """
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
    """Output sides of a window that moves over `sides`: convolution and pooling.

    Parameters
    ----------
    round_up : whether a window that reaches past the end counts, as PyTorch's and ONNX' `ceil_mode` has it.
    """
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
