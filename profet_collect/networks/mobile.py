"""MobileNets and EfficientNet."""

from __future__ import annotations

from profet_collect.networks.builder import Builder
from profet_core.layers.rules import Shape


def _divisible(channels: float) -> int:
    """The nearest multiple of eight that isn't smaller by more than a tenth."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


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


def mobilenet_v3(net: Builder, pixels: int, classes: int) -> None:
    """Keras' MobileNet V3 Large, its rescaling of the image among the layers."""
    net.activation = "hard swish"
    x = net.elementwise(net.image(pixels), function="rescale")
    x = net.batch_norm_relu(net.convolution(x, 16, 3, 2, bias=False))
    for index, (expansion, filters, kernel, stride, has_squeeze) in enumerate(_V3_LARGE):
        inner, y = _divisible(x[-1] * expansion), x
        net.activation = "relu" if index < 6 else "hard swish"
        if index:
            y = net.batch_norm_relu(net.convolution(y, inner, 1, bias=False))
        y = net.batch_norm_relu(_strided_depthwise(net, y, kernel, stride))
        y = _hard_squeeze(net, y, _divisible(inner * 0.25)) if has_squeeze else y
        y = net.batch_norm(net.convolution(y, filters, 1, bias=False))
        x = net.elementwise(x, y) if x == y else y
    x = net.batch_norm_relu(net.convolution(x, _divisible(6 * x[-1]), 1, bias=False))
    x = net.convolution(net.global_pool(x, keep_sides=True), 1280, 1)
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


def efficientnet_b0(net: Builder, pixels: int, classes: int) -> None:
    """Keras' EfficientNet B0, its rescaling and normalizing of the image among the layers."""
    net.activation = "swish"
    x = net.normalize_input(net.elementwise(net.image(pixels), function="rescale"))
    x = net.pad_for_stride(x, 3)
    x = net.batch_norm_relu(net.convolution(x, 32, 3, 2, "valid", bias=False))
    is_first = True
    for kernel, blocks, filters, expansion, first_stride in _EFFICIENT:
        for block in range(blocks):
            stride = 1 if block else first_stride
            x = _efficient_block(net, x, filters, kernel, stride, expansion, is_first=is_first)
            is_first = False
    x = net.batch_norm_relu(net.convolution(x, 1280, 1, bias=False))
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
