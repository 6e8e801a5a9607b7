"""LeNet, AlexNet, VGG, ResNets and small networks of the measurements; one of each newer family."""

from __future__ import annotations

from profet_collect.networks.builder import Builder
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
