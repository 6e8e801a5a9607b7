"""Sums layers to counts."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.layers.counts import Counts
from profet_core.layers.rules import Kind, Layer
from profet_core.layers.shapes import elements

_WEIGHTED = frozenset({Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.DENSE})


def count(layers: Iterable[Layer], pixels: int, classes: int | None = None) -> Counts:
    """What the layers ask for one image of `pixels` x `pixels`; without `classes` the last layer's width is taken."""
    parameters = trainable = activations = weighted = number = width = 0
    flops = dict.fromkeys(Kind, 0)
    numbers = dict.fromkeys(Kind, 0)
    dense_parameters = 0
    for layer in layers:
        number += 1
        parameters += layer.parameters
        trainable += layer.trainable
        flops[layer.kind] += layer.flops
        numbers[layer.kind] += 1
        dense_parameters += layer.parameters if layer.kind is Kind.DENSE else 0
        width = layer.output[-1] if layer.output else 1
        size = elements(layer.output)
        activations += size
        weighted += size if layer.kind in _WEIGHTED else 0
    return Counts(
        pixels=pixels,
        classes=width if classes is None else classes,
        parameters=parameters,
        trainable_parameters=trainable,
        convolution_flops=flops[Kind.CONVOLUTION],
        depthwise_flops=flops[Kind.DEPTHWISE],
        dense_flops=flops[Kind.DENSE] + flops[Kind.PRODUCT],
        activation_elements=activations,
        other_elements=activations - weighted,
        convolutions=numbers[Kind.CONVOLUTION] + numbers[Kind.DEPTHWISE],
        dense_layers=numbers[Kind.DENSE],
        normalizations=numbers[Kind.NORMALIZATION],
        pools=numbers[Kind.POOLING],
        layers=number,
        dense_parameters=dense_parameters,
    )
