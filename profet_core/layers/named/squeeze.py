"""Squeeze-and-excite: channels weighed by what all of the image says of them."""

from __future__ import annotations

from profet_core.layers.builder import Builder
from profet_core.layers.shapes import Shape


def squeeze_excite(net: Builder, shape: Shape, squeezed: int) -> Shape:
    """Pooled, two convolutions of 1 x 1 with their activations, and multiplied to each channel."""
    weights = net.global_pool(shape, keep_sides=True)
    weights = net.elementwise(net.convolution(weights, squeezed, 1), function="relu")
    weights = net.elementwise(net.convolution(weights, shape[-1], 1), function="sigmoid")
    return net.elementwise(shape, weights, function="multiply")
