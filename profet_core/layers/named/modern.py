"""DenseNets and ConvNeXts, as Keras builds them."""

from __future__ import annotations

from profet_core.layers.builder import Builder

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
