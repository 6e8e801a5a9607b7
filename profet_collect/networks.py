"""The networks that are built to be measured: those of the published measurements, and one of each newer family."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from profet_collect.graph import Builder, Graph
from profet_core.errors import InputError
from profet_core.layers.network import Counts, Layer, Shape, count
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.layers.rules import Padding

#: Convolutions of each stage of VGG; a pooling ends each.
VGG_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_VGG_CHANNELS = (64, 128, 256, 512, 512)


def lenet5(net: Builder, pixels: int, classes: int) -> None:
    """LeNet-5 on color images, with maximum pooling."""
    x: Shape = (pixels, pixels, 3)
    for filters in (6, 16):
        x = net.pool(net.convolution(x, filters, 5, padding="valid", activation="relu"), 2, 2)
    x = net.flatten(x)
    for units in (120, 84):
        x = net.dense(x, units, activation="relu")
    net.dense(x, classes)


def mnist_cnn(net: Builder, pixels: int, classes: int) -> None:
    """Keras' example for MNIST, on color images."""
    x: Shape = (pixels, pixels, 3)
    for filters in (32, 64):
        x = net.pool(net.convolution(x, filters, 3, padding="valid", activation="relu"), 2, 2)
    net.dense(net.elementwise(net.flatten(x), function="dropout"), classes)


def cifar10_cnn(net: Builder, pixels: int, classes: int) -> None:
    """Keras' example for CIFAR-10."""
    x: Shape = (pixels, pixels, 3)
    for filters in (32, 64):
        x = net.elementwise(net.convolution(x, filters, 3))
        x = net.elementwise(net.convolution(x, filters, 3, padding="valid"))
        x = net.elementwise(net.pool(x, 2, 2), function="dropout")
    x = net.elementwise(net.dense(net.flatten(x), 512))
    net.elementwise(net.dense(net.elementwise(x, function="dropout"), classes), function="softmax")


def measured_alexnet(net: Builder, pixels: int, classes: int) -> None:
    """The measurements' AlexNet: stride 1, batch normalization, and dense layers that grow with the image."""
    x: Shape = (pixels, pixels, 3)
    for filters, kernel, is_padded, is_pooled in (
        (96, 11, False, True),
        (256, 5, False, True),
        (512, 3, True, True),
        (1024, 3, True, False),
        (1024, 3, True, True),
    ):
        x = net.pad(x, 1, 1) if is_padded else x
        x = net.batch_norm_relu(net.convolution(x, filters, kernel))
        x = net.pool(x, 2, 2) if is_pooled else x
    x = net.flatten(x)
    for units in (3072, 4096):
        x = net.elementwise(net.batch_norm_relu(net.dense(x, units)), function="dropout")
    net.elementwise(net.batch_norm(net.dense(x, classes)), function="softmax")


def measured_vgg(net: Builder, pixels: int, classes: int, depth: int) -> None:
    """VGG whose dense layers grow with the image."""
    x: Shape = (pixels, pixels, 3)
    for filters, number in zip(_VGG_CHANNELS, VGG_STAGES[depth], strict=True):
        for _ in range(number):
            x = net.convolution(x, filters, 3, activation="relu")
        x = net.pool(x, 2, 2)
    x = net.flatten(x)
    for units in (4096, 4096):
        x = net.dense(x, units, activation="relu")
    net.dense(x, classes)


#: Blocks of each stage, and whether a block is a bottleneck of three convolutions.
RESNET_STAGES = {
    18: ((2, 2, 2, 2), False),
    34: ((3, 4, 6, 3), False),
    50: ((3, 4, 6, 3), True),
}


def resnet_small(net: Builder, pixels: int, classes: int) -> None:
    """The measurements' small ResNet, whose residual convolutions are 1 x 1."""
    x = net.batch_norm(net.convolution(net.image(pixels), 64, 7, 2))
    x = net.pool(x, 3, 2, "same")
    for filters, stride in ((64, 2), (64, 1), (128, 2), (128, 1)):
        shortcut = net.batch_norm(net.convolution(x, filters, 1, 2, "valid")) if stride > 1 else x
        y = net.batch_norm_relu(net.convolution(x, filters, 1, stride))
        y = net.batch_norm(net.convolution(y, filters, 1))
        x = net.elementwise(net.elementwise(shortcut, y))
    net.dense(net.global_pool(x), classes)


def measured_resnet(net: Builder, pixels: int, classes: int, depth: int) -> None:
    """The measurements' ResNet: normalized before each convolution (v2), no normalization on shortcuts."""
    stages, is_bottleneck = RESNET_STAGES[depth]
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 64, 7, 2))
    x = net.pool(x, 3, 2, "same")
    for stage, blocks in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = _pre_activated(net, x, 64 * 2**stage, stride, is_bottleneck, is_first=not stage and not block)
    x = net.batch_norm_relu(x)
    x = net.flatten(net.pool(x, x[0], 1, is_mean=True))
    net.dense(x, classes)


def _pre_activated(net: Builder, x: Shape, filters: int, stride: int, is_bottleneck: bool, *, is_first: bool) -> Shape:
    kernels = ((1, 1), (3, 1), (1, 4)) if is_bottleneck else ((3, 1), (3, 1))
    y = x
    for index, (kernel, widening) in enumerate(kernels):
        y = y if is_first and not index else net.batch_norm_relu(y)
        y = net.convolution(y, widening * filters, kernel, 1 if index else stride)
    shortcut = x if x == y else net.convolution(x, y[-1], 1, stride, "valid")
    return net.elementwise(shortcut, y)


#: Groups of a ResNeXt-50, and their channels in the first stage.
_GROUPS, _GROUP_WIDTH = 32, 4


def resnext50(net: Builder, pixels: int, classes: int) -> None:
    """torchvision's ResNeXt-50 32x4d."""
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 64, 7, 2, 3, bias=False))
    x = net.pool(x, 3, 2, 1)
    for stage, blocks in enumerate(RESNET_STAGES[50][0]):
        for block in range(blocks):
            width, stride = _GROUPS * _GROUP_WIDTH * 2**stage, 2 if stage and not block else 1
            y = net.batch_norm_relu(net.convolution(x, width, 1, bias=False))
            y = net.batch_norm_relu(net.convolution(y, width, 3, stride, 1, groups=_GROUPS, bias=False))
            y = net.batch_norm(net.convolution(y, 256 * 2**stage, 1, bias=False))
            x = net.elementwise(net.elementwise(_shortcut(net, x, y, stride), y))
    net.dense(net.flatten(net.global_pool(x, keep_sides=True)), classes)


def _shortcut(net: Builder, x: Shape, y: Shape, stride: int) -> Shape:
    return x if x == y else net.batch_norm(net.convolution(x, y[-1], 1, stride, "valid", bias=False))


def regnet_y_800mf(net: Builder, pixels: int, classes: int) -> None:
    """torchvision's RegNetY-800MF."""
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 32, 3, 2, 1, bias=False))
    for blocks, width in ((1, 64), (3, 144), (8, 320), (2, 784)):
        for block in range(blocks):
            stride = 1 if block else 2
            y = net.batch_norm_relu(net.convolution(x, width, 1, bias=False))
            y = net.convolution(y, width, 3, stride, 1, groups=width // 16, bias=False)
            # Squeezed to a quarter of the block's input, as PyTorch rounds it.
            y = net.squeeze_excite(net.batch_norm_relu(y), round(0.25 * x[-1]))
            y = net.batch_norm(net.convolution(y, width, 1, bias=False))
            x = net.elementwise(net.elementwise(_shortcut(net, x, y, stride), y))
    net.dense(net.flatten(net.global_pool(x, keep_sides=True)), classes)


#: Blocks and channels of each stage.
_CONVNEXT_TINY = ((3, 96), (3, 192), (9, 384), (3, 768))


def densenet121(net: Builder, pixels: int, classes: int) -> None:
    """Keras' DenseNet 121."""
    blocks, growth, stem = (6, 12, 24, 16), 32, 64
    x = net.convolution(net.pad(net.image(pixels), 3, 3), stem, 7, 2, "valid", bias=False)
    x = net.pool(net.pad(net.batch_norm_relu(x), 1, 1), 3, 2)
    for stage, number in enumerate(blocks):
        for _ in range(number):
            y = net.convolution(net.batch_norm_relu(x), 4 * growth, 1, bias=False)
            y = net.convolution(net.batch_norm_relu(y), growth, 3, bias=False)
            x = net.concatenate(x, y)
        x = net.batch_norm_relu(x)
        if stage < len(blocks) - 1:
            x = net.pool(net.convolution(x, x[-1] // 2, 1, bias=False), 2, 2, is_mean=True)
    net.dense(net.global_pool(x), classes)


def convnext_tiny(net: Builder, pixels: int, classes: int) -> None:
    """Keras' ConvNeXt-Tiny, its normalizing of the image among the layers."""
    net.activation = "gelu"
    x = net.elementwise(net.image(pixels), function="rescale")
    x = net.layer_norm(net.convolution(x, _CONVNEXT_TINY[0][1], 4, 4, "valid"))
    for stage, (number, width) in enumerate(_CONVNEXT_TINY):
        if stage:
            x = net.convolution(net.layer_norm(x), width, 2, 2, "valid")
        for _ in range(number):
            y = net.layer_norm(net.depthwise(x, 7, bias=True))
            y = net.dense(net.elementwise(net.dense(y, 4 * width)), width)
            # Scaled by a weight per channel, then dropped at random in training.
            x = net.elementwise(x, net.elementwise(net.scale_channels(y), function="dropout"))
    net.dense(net.layer_norm(net.global_pool(x)), classes)


def _unit(
    net: Builder, x: Shape, filters: int, kernel: int | tuple[int, int], stride: int = 1, padding: Padding = "same"
) -> Shape:
    """Convolution, batch normalization, activation."""
    return net.batch_norm_relu(net.convolution(x, filters, kernel, stride, padding, bias=False))


def _line(net: Builder, x: Shape, *units: tuple[int, int | tuple[int, int]]) -> Shape:
    """Units of these filters and kernels, one after another."""
    for filters, kernel in units:
        x = _unit(net, x, filters, kernel)
    return x


def _mean_unit(net: Builder, x: Shape, filters: int) -> Shape:
    """A unit of 1 x 1 on averages of 3 x 3."""
    return _unit(net, net.pool(x, 3, 1, "same", is_mean=True), filters, 1)


def _stem(net: Builder, pixels: int) -> Shape:
    """The first layers of Inception V3 and Inception-ResNet V2; their normalizations don't scale."""
    net.norm_scales = False
    x = _unit(net, net.image(pixels), 32, 3, 2, "valid")
    x = _unit(net, _unit(net, x, 32, 3, 1, "valid"), 64, 3)
    x = _unit(net, net.pool(x, 3, 2), 80, 1, 1, "valid")
    return net.pool(_unit(net, x, 192, 3, 1, "valid"), 3, 2)


def inception_v3(net: Builder, pixels: int, classes: int) -> None:
    """Keras' Inception V3."""
    x = _stem(net, pixels)
    for pooled in (32, 64, 64):
        y5 = _line(net, x, (48, 1), (64, 5))
        y3 = _line(net, x, (64, 1), (96, 3), (96, 3))
        x = net.concatenate(_unit(net, x, 64, 1), y5, y3, _mean_unit(net, x, pooled))
    y3 = _unit(net, x, 384, 3, 2, "valid")
    y33 = _unit(net, _line(net, x, (64, 1), (96, 3)), 96, 3, 2, "valid")
    x = net.concatenate(y3, y33, net.pool(x, 3, 2))
    for inner in (128, 160, 160, 192):
        x = _seven(net, x, inner)
    y3 = _unit(net, _unit(net, x, 192, 1), 320, 3, 2, "valid")
    y7 = _line(net, x, (192, 1), (192, (1, 7)), (192, (7, 1)))
    x = net.concatenate(y3, _unit(net, y7, 192, 3, 2, "valid"), net.pool(x, 3, 2))
    for _ in range(2):
        y3 = _fork(net, _unit(net, x, 384, 1), 384)
        y33 = _fork(net, _line(net, x, (448, 1), (384, 3)), 384)
        x = net.concatenate(_unit(net, x, 320, 1), y3, y33, _mean_unit(net, x, 192))
    net.dense(net.global_pool(x), classes)


def _seven(net: Builder, x: Shape, inner: int) -> Shape:
    y7 = _line(net, x, (inner, 1), (inner, (1, 7)), (192, (7, 1)))
    y77 = _line(net, x, (inner, 1), (inner, (7, 1)), (inner, (1, 7)), (inner, (7, 1)), (192, (1, 7)))
    return net.concatenate(_unit(net, x, 192, 1), y7, y77, _mean_unit(net, x, 192))


def _fork(net: Builder, x: Shape, filters: int) -> Shape:
    return net.concatenate(_unit(net, x, filters, (1, 3)), _unit(net, x, filters, (3, 1)))


def inception_resnet_v2(net: Builder, pixels: int, classes: int) -> None:
    """Keras' Inception-ResNet V2."""
    x = _stem(net, pixels)
    y5 = _line(net, x, (48, 1), (64, 5))
    y3 = _line(net, x, (64, 1), (96, 3), (96, 3))
    x = net.concatenate(_unit(net, x, 96, 1), y5, y3, _mean_unit(net, x, 64))
    for _ in range(10):
        branches = (_unit(net, x, 32, 1), _line(net, x, (32, 1), (32, 3)), _line(net, x, (32, 1), (48, 3), (64, 3)))
        x = _residual(net, x, *branches)
    y33 = _unit(net, _line(net, x, (256, 1), (256, 3)), 384, 3, 2, "valid")
    x = net.concatenate(_unit(net, x, 384, 3, 2, "valid"), y33, net.pool(x, 3, 2))
    for _ in range(20):
        x = _residual(net, x, _unit(net, x, 192, 1), _line(net, x, (128, 1), (160, (1, 7)), (192, (7, 1))))
    y3 = _unit(net, _unit(net, x, 256, 1), 384, 3, 2, "valid")
    y33 = _unit(net, _unit(net, x, 256, 1), 288, 3, 2, "valid")
    y333 = _unit(net, _line(net, x, (256, 1), (288, 3)), 320, 3, 2, "valid")
    x = net.concatenate(y3, y33, y333, net.pool(x, 3, 2))
    for index in range(10):
        y3 = _line(net, x, (192, 1), (224, (1, 3)), (256, (3, 1)))
        x = _residual(net, x, _unit(net, x, 192, 1), y3, is_activated=index < 9)
    net.dense(net.global_pool(_unit(net, x, 1536, 1)), classes)


def _residual(net: Builder, x: Shape, *branches: Shape, is_activated: bool = True) -> Shape:
    y = net.convolution(net.concatenate(*branches), x[-1], 1)
    x = net.elementwise(x, y)
    return net.elementwise(x) if is_activated else x


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
    for kernel, blocks, filters, expansion, first_stride in _EFFICIENT:
        for block in range(blocks):
            x = _efficient_block(net, x, filters, kernel, 1 if block else first_stride, expansion)
    x = net.batch_norm_relu(net.convolution(x, 1280, 1, bias=False))
    net.dense(net.elementwise(net.global_pool(x), function="dropout"), classes)


def _efficient_block(net: Builder, x: Shape, filters: int, kernel: int, stride: int, expansion: int) -> Shape:
    """The first block alone doesn't expand, nor drop."""
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
    return net.elementwise(y if expansion == 1 else net.elementwise(y, function="dropout"), x)


Build = Callable[[Builder, int, int], None]

#: Image sizes of the published measurements.
MEASURED_PIXELS = (32, 64, 128, 224, 256)
#: The measured networks, as the measurements' own code builds them.
MEASURED: Mapping[str, Build] = MappingProxyType(
    {
        "LeNet5": lenet5,
        **{f"VGG{depth}": partial(measured_vgg, depth=depth) for depth in VGG_STAGES},
        "ResNetSmall": resnet_small,
        **{f"ResNet{depth}": partial(measured_resnet, depth=depth) for depth in (18, 34, 50)},
        "InceptionV3": inception_v3,
        "InceptionResNetV2": inception_resnet_v2,
        "MobileNetV2": mobilenet_v2,
        "AlexNet": measured_alexnet,
        "MNIST_CNN": mnist_cnn,
        "CIFAR10_CNN": cifar10_cnn,
    }
)
#: One of each newer family, as Keras or torchvision builds it.
NEWER: Mapping[str, Build] = MappingProxyType(
    {
        "ConvNeXt-Tiny": convnext_tiny,
        "EfficientNet-B0": efficientnet_b0,
        "RegNetY-800MF": regnet_y_800mf,
        "DenseNet-121": densenet121,
        "MobileNetV3-Large": mobilenet_v3,
        "ResNeXt-50 32x4d": resnext50,
    }
)
_ALL: Mapping[str, Build] = MappingProxyType({**MEASURED, **NEWER})


def classes_at(pixels: int) -> int:
    """Classes that the measurements give an image of this size: 10, 100 or 1000."""
    return 10 if pixels < 64 else 100 if pixels < 224 else 1000


def known_name(text: str) -> str:
    """The name in `MEASURED` or `NEWER` that is meant; case, spaces and marks don't matter."""
    names = {_plain(name): name for name in _ALL}
    found = names.get(_plain(text))
    if found is None:
        near = ", ".join(difflib.get_close_matches(text[:60], _ALL, n=3, cutoff=0.0))
        raise InputError(f"{text[:60]!a} is not built to be measured: {near}, and others in `profet collect -h`, are.")
    return found


def build_named(net: Builder, name: str, pixels: int, classes: int | None = None) -> None:
    """Put a network's layers into `net`.

    Parameters
    ----------
    pixels : height and width of the image, `MIN_PIXELS` to `MAX_PIXELS`.
    classes : width of the last layer; None for as many as the measurements have at this size (`classes_at`).

    Raises
    ------
    InputError : an unknown name, or an image that the network can't be built for.
    """
    name = known_name(name)
    if not MIN_PIXELS <= pixels <= MAX_PIXELS:
        raise InputError(f"Images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
    classes = classes_at(pixels) if classes is None else classes
    try:
        _ALL[name](net, pixels, classes)
    except InputError:
        raise InputError(f"{name} can't be built for images of {pixels} pixels: they are too small.") from None


def layers_of(name: str, pixels: int, classes: int | None = None) -> tuple[Layer, ...]:
    """The layers of a network; parameters and errors as `build_named`."""
    net = Builder()
    build_named(net, name, pixels, classes)
    return tuple(net.layers)


def network_graph(name: str, pixels: int, classes: int | None = None) -> Graph:
    """The graph of a named network.

    Parameters and errors are those of `layers_of`.
    """
    net = Graph(pixels, classes_at(pixels) if classes is None else classes)
    build_named(net, name, pixels, net.classes)
    return net


@cache
def counts_of(name: str, pixels: int) -> Counts:
    """What a network asks for one image; parameters and errors as `build_named`."""
    return count(layers_of(name, pixels), pixels)


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
