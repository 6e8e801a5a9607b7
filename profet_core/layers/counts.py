"""Sum layers to what one image asks of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.layers.rules import Kind, Layer, elements


@dataclass(frozen=True, slots=True)
class Counts:
    """What one image of `pixels` x `pixels` asks of a network, in the forward pass.

    FLOPs count a multiply-add as two, and leave biases and elementwise work out. Elements are those of the layers'
    outputs. The definitions are those of the measurements' `architectures.csv`, whose columns stand in brackets.

    Attributes
    ----------
    pixels : height and width of the image.
    classes : width of the last layer.
    parameters : all, including running averages of normalizations.
    trainable_parameters : those that have a gradient [trainable].
    convolution_flops : of convolutions that are not depthwise [conv_flops].
    depthwise_flops : of depthwise convolutions [dwconv_flops].
    dense_flops : of dense layers and matrix products [dense_flops].
    activation_elements : of all layers' outputs, the input's where that is a layer of its own [act_elems].
    other_elements : the part of these that neither a convolution nor a dense layer puts out [other_elems].
    convolutions : convolution layers, depthwise ones among them [n_conv].
    dense_layers, normalizations, pools : layers of each kind; global pooling is pooling [n_dense, n_bn, n_pool].
    layers : all layers [n_layers].
    dense_parameters : of dense layers alone; the measurements don't say it.
    """

    pixels: int
    classes: int
    parameters: int
    trainable_parameters: int
    convolution_flops: float
    depthwise_flops: float
    dense_flops: float
    activation_elements: float
    other_elements: float
    convolutions: int
    dense_layers: int
    normalizations: int
    pools: int
    layers: int
    dense_parameters: int

    @property
    def flops(self) -> float:
        """All FLOPs of one image, forward."""
        return self.convolution_flops + self.depthwise_flops + self.dense_flops


def count(layers: Iterable[Layer], pixels: int, classes: int | None = None) -> Counts:
    """What the layers ask for one image of `pixels` x `pixels`; without `classes` the last layer's width is taken."""
    layers = list(layers)
    numbers = Counter(layer.kind for layer in layers)
    sizes, flops, parameters = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    for layer in layers:
        sizes[layer.kind] += elements(layer.output)
        flops[layer.kind] += layer.flops
        parameters[layer.kind] += layer.parameters
    activations = sizes.total()
    return Counts(
        pixels=pixels,
        classes=(layers[-1].output or (1,))[-1] if classes is None else classes,
        parameters=parameters.total(),
        trainable_parameters=sum(layer.trainable for layer in layers),
        convolution_flops=flops[Kind.CONVOLUTION],
        depthwise_flops=flops[Kind.DEPTHWISE],
        dense_flops=flops[Kind.DENSE] + flops[Kind.PRODUCT],
        activation_elements=activations,
        other_elements=activations - sizes[Kind.CONVOLUTION] - sizes[Kind.DEPTHWISE] - sizes[Kind.DENSE],
        convolutions=numbers[Kind.CONVOLUTION] + numbers[Kind.DEPTHWISE],
        dense_layers=numbers[Kind.DENSE],
        normalizations=numbers[Kind.NORMALIZATION],
        pools=numbers[Kind.POOLING],
        layers=len(layers),
        dense_parameters=parameters[Kind.DENSE],
    )
