"""Networks without branches, and SqueezeNet: LeNet, AlexNet, VGG and small ones."""

from __future__ import annotations

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
