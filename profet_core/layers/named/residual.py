"""ResNets: those of the measurements, torchvision's with ResNeXt and wide ones, and RegNets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.layers.builder import Builder
from profet_core.layers.rules import Shape

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
