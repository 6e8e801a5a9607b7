"""Inception V3 and Inception-ResNet V2, as Keras builds them."""

from __future__ import annotations

from profet_collect.networks.builder import Builder
from profet_core.layers.rules import Padding, Shape


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
