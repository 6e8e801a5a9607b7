"""MobileNets, EfficientNets, ShuffleNets and others of few operations."""

from __future__ import annotations

import math

from profet_core.layers.builder import Builder
from profet_core.layers.rules import Shape


def divisible(channels: float, divisor: int = 8, least: int | None = None) -> int:
    """The nearest multiple of `divisor`, that isn't smaller by more than a tenth."""
    rounded = max(least or divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


def mobilenet(net: Builder, pixels: int, classes: int) -> None:
    """Keras' MobileNet."""
    net.activation = "relu6"
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 32, 3, 2, bias=False))
    plan = (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *(((512, 1),) * 5), (1024, 2), (1024, 1)
    for filters, stride in plan:
        x = net.depthwise(net.pad(x, 0, 1), 3, 2, "valid") if stride > 1 else net.depthwise(x, 3)
        x = net.batch_norm_relu(net.convolution(net.batch_norm_relu(x), filters, 1, bias=False))
    x = net.elementwise(net.global_pool(x, keep_sides=True), function="dropout")
    x = net.convolution(x, classes, 1)
    net.elementwise(net.reshape(x, classes), function="softmax")


def mobilenet_v2(net: Builder, pixels: int, classes: int) -> None:
    """Keras' MobileNet V2, which the measurements use."""
    net.activation = "relu6"
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 32, 3, 2, bias=False))
    plan = (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
    for expansion, filters, blocks, first_stride in plan:
        for block in range(blocks):
            y = x
            if expansion > 1:
                y = net.batch_norm_relu(net.convolution(y, expansion * y[-1], 1, bias=False))
            stride = 1 if block else first_stride
            y = net.batch_norm_relu(_strided_depthwise(net, y, 3, stride))
            y = net.batch_norm(net.convolution(y, filters, 1, bias=False))
            x = net.elementwise(x, y) if x == y else y
    x = net.batch_norm_relu(net.convolution(x, 1280, 1, bias=False))
    net.dense(net.global_pool(x), classes)


def _strided_depthwise(net: Builder, x: Shape, kernel: int, stride: int) -> Shape:
    """Keras pads by a layer of its own before a stride of 2."""
    if stride == 1:
        return net.depthwise(x, kernel)
    return net.depthwise(net.pad_for_stride(x, kernel), kernel, stride, "valid")


#: Expansion, filters, kernel, stride, squeeze-excite.
_V3_LARGE = (
    (1, 16, 3, 1, False),
    (4, 24, 3, 2, False),
    (3, 24, 3, 1, False),
    (3, 40, 5, 2, True),
    (3, 40, 5, 1, True),
    (3, 40, 5, 1, True),
    (6, 80, 3, 2, False),
    (2.5, 80, 3, 1, False),
    (2.3, 80, 3, 1, False),
    (2.3, 80, 3, 1, False),
    (6, 112, 3, 1, True),
    (6, 112, 3, 1, True),
    (6, 160, 5, 2, True),
    (6, 160, 5, 1, True),
    (6, 160, 5, 1, True),
)
_V3_SMALL = (
    (1, 16, 3, 2, True),
    (72 / 16, 24, 3, 2, False),
    (88 / 24, 24, 3, 1, False),
    (4, 40, 5, 2, True),
    (6, 40, 5, 1, True),
    (6, 40, 5, 1, True),
    (3, 48, 5, 1, True),
    (3, 48, 5, 1, True),
    (6, 96, 5, 2, True),
    (6, 96, 5, 1, True),
    (6, 96, 5, 1, True),
)


def mobilenet_v3(net: Builder, pixels: int, classes: int, *, is_large: bool) -> None:
    """Keras' MobileNet V3, large or small, its rescaling of the image among the layers."""
    net.activation = "hard swish"
    x = net.elementwise(net.image(pixels), function="rescale")
    x = net.batch_norm_relu(net.convolution(x, 16, 3, 2, bias=False))
    for index, (expansion, filters, kernel, stride, has_squeeze) in enumerate(_V3_LARGE if is_large else _V3_SMALL):
        inner, y = divisible(x[-1] * expansion), x
        net.activation = "relu" if index < (6 if is_large else 3) else "hard swish"
        if index:
            y = net.batch_norm_relu(net.convolution(y, inner, 1, bias=False))
        y = net.batch_norm_relu(_strided_depthwise(net, y, kernel, stride))
        y = _hard_squeeze(net, y, divisible(inner * 0.25)) if has_squeeze else y
        y = net.batch_norm(net.convolution(y, filters, 1, bias=False))
        x = net.elementwise(x, y) if x == y else y
    x = net.batch_norm_relu(net.convolution(x, divisible(6 * x[-1]), 1, bias=False))
    x = net.convolution(net.global_pool(x, keep_sides=True), 1280 if is_large else 1024, 1)
    x = net.convolution(net.elementwise(net.elementwise(x), function="dropout"), classes, 1)
    net.elementwise(net.flatten(x), function="softmax")


def _hard_squeeze(net: Builder, x: Shape, squeezed: int) -> Shape:
    """Squeeze-excite whose last activation is x + 3, cut at 0 and 6, times 1/6: three operations in Keras."""
    weights = net.global_pool(x, keep_sides=True)
    weights = net.elementwise(net.convolution(weights, squeezed, 1), function="relu")
    weights = net.convolution(weights, x[-1], 1)
    for function in ("shift", "relu6", "rescale"):
        weights = net.elementwise(weights, function=function)
    return net.elementwise(x, weights, function="multiply")


#: Kernel, blocks, filters, expansion, stride.
_EFFICIENT = (
    (3, 1, 16, 1, 1),
    (3, 2, 24, 6, 2),
    (5, 2, 40, 6, 2),
    (3, 3, 80, 6, 2),
    (5, 3, 112, 6, 1),
    (5, 4, 192, 6, 2),
    (3, 1, 320, 6, 1),
)
#: Width and depth of each EfficientNet, beside B0.
EFFICIENT_SIZES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8), (1.6, 2.2), (1.8, 2.6), (2.0, 3.1))


def efficientnet(net: Builder, pixels: int, classes: int, size: int) -> None:
    """Keras' EfficientNet B0 to B7, its rescaling and normalizing of the image among the layers."""
    width, depth = EFFICIENT_SIZES[size]
    net.activation = "swish"
    x = net.normalize_input(net.elementwise(net.image(pixels), function="rescale"))
    x = net.pad_for_stride(x, 3)
    x = net.batch_norm_relu(net.convolution(x, divisible(32 * width), 3, 2, "valid", bias=False))
    is_first = True
    for kernel, blocks, filters, expansion, first_stride in _EFFICIENT:
        for block in range(math.ceil(depth * blocks)):
            stride = 1 if block else first_stride
            x = _efficient_block(net, x, divisible(filters * width), kernel, stride, expansion, is_first=is_first)
            is_first = False
    x = net.batch_norm_relu(net.convolution(x, divisible(1280 * width), 1, bias=False))
    net.dense(net.elementwise(net.global_pool(x), function="dropout"), classes)


def _efficient_block(
    net: Builder, x: Shape, filters: int, kernel: int, stride: int, expansion: int, *, is_first: bool
) -> Shape:
    y = x
    if expansion > 1:
        y = net.batch_norm_relu(net.convolution(y, expansion * x[-1], 1, bias=False))
    y = net.batch_norm_relu(_strided_depthwise(net, y, kernel, stride))
    # The weights of squeeze-excite are activated within their convolutions.
    weights = net.reshape(net.global_pool(y), 1, 1, y[-1])
    weights = net.convolution(weights, max(1, x[-1] // 4), 1, activation="swish")
    y = net.elementwise(y, net.convolution(weights, y[-1], 1, activation="sigmoid"), function="multiply")
    y = net.batch_norm(net.convolution(y, filters, 1, bias=False))
    if stride > 1 or x != y:
        return y
    return net.elementwise(y if is_first else net.elementwise(y, function="dropout"), x)


def mnasnet(net: Builder, pixels: int, classes: int, width: float) -> None:
    """torchvision's MNASNet."""
    stem, first, *stages = (divisible(channels * width) for channels in (32, 16, 24, 40, 80, 96, 192, 320))
    x = net.batch_norm_relu(net.convolution(net.image(pixels), stem, 3, 2, 1, bias=False))
    x = net.batch_norm_relu(net.depthwise(x, 3, 1, 1))
    x = net.batch_norm(net.convolution(x, first, 1, bias=False))
    plan = (3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1)
    for filters, (kernel, first_stride, expansion, blocks) in zip(stages, plan, strict=True):
        for block in range(blocks):
            y = net.batch_norm_relu(net.convolution(x, expansion * x[-1], 1, bias=False))
            y = net.batch_norm_relu(net.depthwise(y, kernel, 1 if block else first_stride, kernel // 2))
            y = net.batch_norm(net.convolution(y, filters, 1, bias=False))
            x = net.elementwise(x, y) if block else y
    x = net.batch_norm_relu(net.convolution(x, 1280, 1, bias=False))
    net.dense(net.elementwise(net.global_pool(x), function="dropout"), classes)


#: Channels of the stages, by width.
SHUFFLE_CHANNELS = {
    0.5: (24, 48, 96, 192, 1024),
    1.0: (24, 116, 232, 464, 1024),
    1.5: (24, 176, 352, 704, 1024),
    2.0: (24, 244, 488, 976, 2048),
}


def shufflenet_v2(net: Builder, pixels: int, classes: int, width: float) -> None:
    """torchvision's ShuffleNet V2."""
    stem, *stages, last = SHUFFLE_CHANNELS[width]
    x = net.batch_norm_relu(net.convolution(net.image(pixels), stem, 3, 2, 1, bias=False))
    x = net.pool(x, 3, 2, 1)
    for channels, blocks in zip(stages, (4, 8, 4), strict=True):
        half = channels // 2
        for block in range(blocks):
            if block:
                first, y = net.channels(x, half), net.channels(x, half, start=half)
            else:
                first = net.batch_norm(net.depthwise(x, 3, 2, 1))
                first, y = net.batch_norm_relu(net.convolution(first, half, 1, bias=False)), x
            y = net.batch_norm_relu(net.convolution(y, half, 1, bias=False))
            y = net.batch_norm(net.depthwise(y, 3, 1 if block else 2, 1))
            y = net.batch_norm_relu(net.convolution(y, half, 1, bias=False))
            x = net.concatenate(first, y)
            # The shuffle writes every value anew.
            x = net.reshape(x, *x)
    x = net.batch_norm_relu(net.convolution(x, last, 1, bias=False))
    net.dense(net.global_pool(x), classes)
