"""Two convolutions and a dense layer."""

from __future__ import annotations

from profet_collect.networks.builder import Builder


def two_layers(net: Builder, pixels: int, classes: int) -> None:
    """As its paper has it: padded, ReLU, halved once."""
    x = net.convolution(net.image(pixels), 32, 3, activation="relu")
    x = net.pool(net.convolution(x, 64, 3, activation="relu"), 2, 2)
    net.dense(net.global_pool(x), classes)
