"""LeNet, AlexNet, VGG and small networks; ResNets, ResNeXts and RegNets; DenseNets and ConvNeXts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.layers.builder import Builder
from profet_core.layers.rules import Shape

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


def vgg_with_batch_norm(net: Builder, pixels: int, classes: int, depth: int) -> None:
    """torchvision's VGG with batch normalization, pooled to 7 x 7 before the dense layers."""
    x = net.image(pixels)
    for filters, number in zip(_VGG_CHANNELS, VGG_STAGES[depth], strict=True):
        for _ in range(number):
            x = net.batch_norm_relu(net.convolution(x, filters, 3))
        x = net.pool(x, 2, 2)
    x = net.flatten(net.pool_to(x, 7))
    for units in (4096, 4096):
        x = net.elementwise(net.elementwise(net.dense(x, units)), function="dropout")
    net.dense(x, classes)


def alexnet_2014(net: Builder, pixels: int, classes: int) -> None:
    """torchvision's AlexNet ("One weird trick", 2014), pooled to 6 x 6 before the dense layers."""
    x = net.image(pixels)
    x = net.pool(net.elementwise(net.convolution(x, 64, 11, 4, 2)), 3, 2)
    x = net.pool(net.elementwise(net.convolution(x, 192, 5, 1, 2)), 3, 2)
    for filters in (384, 256, 256):
        x = net.elementwise(net.convolution(x, filters, 3, 1, 1))
    x = net.flatten(net.pool_to(net.pool(x, 3, 2), 6))
    for units in (4096, 4096):
        x = net.elementwise(net.dense(net.elementwise(x, function="dropout"), units))
    net.dense(x, classes)


def squeezenet(net: Builder, pixels: int, classes: int, *, is_first: bool) -> None:
    """torchvision's SqueezeNet 1.0 (`is_first`) or 1.1."""
    x = net.image(pixels)
    filters, kernel = (96, 7) if is_first else (64, 3)
    x = net.pool(net.elementwise(net.convolution(x, filters, kernel, 2, "valid")), 3, 2, round_up=True)
    pooled_after = (2, 6) if is_first else (1, 3)
    for index, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        x = _fire(net, x, squeezed)
        if index in pooled_after:
            x = net.pool(x, 3, 2, round_up=True)
    x = net.elementwise(net.convolution(net.elementwise(x, function="dropout"), classes, 1))
    net.flatten(net.global_pool(x, keep_sides=True))


def _fire(net: Builder, x: Shape, squeezed: int) -> Shape:
    x = net.elementwise(net.convolution(x, squeezed, 1))
    return net.concatenate(
        net.elementwise(net.convolution(x, 4 * squeezed, 1)), net.elementwise(net.convolution(x, 4 * squeezed, 3, 1, 1))
    )


#: Blocks of each stage, and whether a block is a bottleneck of three convolutions.
RESNET_STAGES = {
    18: ((2, 2, 2, 2), False),
    34: ((3, 4, 6, 3), False),
    50: ((3, 4, 6, 3), True),
    101: ((3, 4, 23, 3), True),
    152: ((3, 8, 36, 3), True),
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


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The inside of a residual block: `groups` of `group_width` channels in the first stage, squeezed or not."""

    groups: int = 1
    group_width: int = 64
    has_squeeze: bool = False


def resnet(net: Builder, pixels: int, classes: int, depth: int, inside: Bottleneck = Bottleneck()) -> None:
    """torchvision's ResNet (v1.5: stride in the 3 x 3 convolution), ResNeXt and wide ResNet; timm's SE-ResNeXt."""
    stages, is_bottleneck = RESNET_STAGES[depth]
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 64, 7, 2, 3, bias=False))
    x = net.pool(x, 3, 2, 1)
    for stage, blocks in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            if is_bottleneck:
                x = _bottleneck(net, x, 2**stage, stride, inside)
            else:
                x = _basic(net, x, 64 * 2**stage, stride)
    net.dense(net.flatten(net.global_pool(x, keep_sides=True)), classes)


def _basic(net: Builder, x: Shape, filters: int, stride: int) -> Shape:
    y = net.batch_norm_relu(net.convolution(x, filters, 3, stride, 1, bias=False))
    y = net.batch_norm(net.convolution(y, filters, 3, 1, 1, bias=False))
    return net.elementwise(net.elementwise(_shortcut(net, x, y, stride), y))


def _bottleneck(net: Builder, x: Shape, widening: int, stride: int, inside: Bottleneck) -> Shape:
    width = inside.groups * inside.group_width * widening
    y = net.batch_norm_relu(net.convolution(x, width, 1, bias=False))
    y = net.batch_norm_relu(net.convolution(y, width, 3, stride, 1, groups=inside.groups, bias=False))
    y = net.batch_norm(net.convolution(y, 256 * widening, 1, bias=False))
    y = net.squeeze_excite(y, 16 * widening) if inside.has_squeeze else y
    return net.elementwise(net.elementwise(_shortcut(net, x, y, stride), y))


def _shortcut(net: Builder, x: Shape, y: Shape, stride: int) -> Shape:
    return x if x == y else net.batch_norm(net.convolution(x, y[-1], 1, stride, "valid", bias=False))


@dataclass(frozen=True, slots=True)
class RegNet:
    """A RegNet: blocks and channels of each stage, channels of a group, squeeze-excite (Y) or not (X)."""

    blocks: Sequence[int]
    widths: Sequence[int]
    group_width: int
    has_squeeze: bool


REGNETS = {
    "RegNetX-400MF": RegNet((1, 2, 7, 12), (32, 64, 160, 400), 16, False),
    "RegNetX-800MF": RegNet((1, 3, 7, 5), (64, 128, 288, 672), 16, False),
    "RegNetX-1.6GF": RegNet((2, 4, 10, 2), (72, 168, 408, 912), 24, False),
    "RegNetX-3.2GF": RegNet((2, 6, 15, 2), (96, 192, 432, 1008), 48, False),
    "RegNetY-400MF": RegNet((1, 3, 6, 6), (48, 104, 208, 440), 8, True),
    "RegNetY-800MF": RegNet((1, 3, 8, 2), (64, 144, 320, 784), 16, True),
    "RegNetY-1.6GF": RegNet((2, 6, 17, 2), (48, 120, 336, 888), 24, True),
    "RegNetY-3.2GF": RegNet((2, 5, 13, 1), (72, 216, 576, 1512), 24, True),
}


def regnet(net: Builder, pixels: int, classes: int, plan: RegNet) -> None:
    """torchvision's RegNets."""
    x = net.batch_norm_relu(net.convolution(net.image(pixels), 32, 3, 2, 1, bias=False))
    for blocks, width in zip(plan.blocks, plan.widths, strict=True):
        for block in range(blocks):
            stride = 1 if block else 2
            y = net.batch_norm_relu(net.convolution(x, width, 1, bias=False))
            y = net.convolution(y, width, 3, stride, 1, groups=width // plan.group_width, bias=False)
            y = net.batch_norm_relu(y)
            # A quarter of the block's input, as PyTorch rounds it.
            y = net.squeeze_excite(y, round(0.25 * x[-1])) if plan.has_squeeze else y
            y = net.batch_norm(net.convolution(y, width, 1, bias=False))
            x = net.elementwise(net.elementwise(_shortcut(net, x, y, stride), y))
    net.dense(net.flatten(net.global_pool(x, keep_sides=True)), classes)


DENSENETS = {
    121: ((6, 12, 24, 16), 32, 64),
    161: ((6, 12, 36, 24), 48, 96),
    169: ((6, 12, 32, 32), 32, 64),
    201: ((6, 12, 48, 32), 32, 64),
}
#: Blocks and channels of each stage.
CONVNEXTS = {
    "Tiny": ((3, 3, 9, 3), (96, 192, 384, 768)),
    "Small": ((3, 3, 27, 3), (96, 192, 384, 768)),
    "Base": ((3, 3, 27, 3), (128, 256, 512, 1024)),
    "Large": ((3, 3, 27, 3), (192, 384, 768, 1536)),
}


def densenet(net: Builder, pixels: int, classes: int, depth: int) -> None:
    """Keras' DenseNet 121, 169 and 201; 161 as torchvision has it."""
    blocks, growth, stem = DENSENETS[depth]
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


def convnext(net: Builder, pixels: int, classes: int, size: str) -> None:
    """Keras' ConvNeXt, its normalizing of the image among the layers."""
    blocks, channels = CONVNEXTS[size]
    net.activation = "gelu"
    x = net.elementwise(net.image(pixels), function="rescale")
    x = net.layer_norm(net.convolution(x, channels[0], 4, 4, "valid"))
    for stage, (number, width) in enumerate(zip(blocks, channels, strict=True)):
        if stage:
            x = net.convolution(net.layer_norm(x), width, 2, 2, "valid")
        for _ in range(number):
            y = net.layer_norm(net.depthwise(x, 7, bias=True))
            y = net.dense(net.elementwise(net.dense(y, 4 * width)), width)
            # Scaled by a weight per channel, then dropped at random in training.
            x = net.elementwise(x, net.elementwise(net.scale_channels(y), function="dropout"))
    net.dense(net.layer_norm(net.global_pool(x)), classes)
