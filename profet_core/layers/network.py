"""A network: the sums of its layers, its caveats, and checks of values from a file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from profet_core.errors import InputError, ProfileError
from profet_core.layers.rules import MAX_SETTING, Kind, Layer, Shape, elements


@dataclass(frozen=True, slots=True)
class Counts:
    """What one image of `pixels` x `pixels` asks of a network, in the forward pass.

    FLOPs count a multiply-add as two, and leave biases and elementwise work out. Elements are those of the layers'
    outputs. The columns of the measurements' `architectures.csv` stand in brackets.

    Attributes
    ----------
    pixels : height and width of the image.
    classes : width of the last layer.
    parameters : all. Keras counts running averages of normalizations among them, PyTorch doesn't.
    trainable_parameters : those that have a gradient [trainable].
    features : values that the last dense layer takes; 0 without one.
    convolution_flops : of convolutions that are not depthwise [conv_flops].
    pointwise_flops, grouped_flops : the part of 1 x 1 and of grouped convolutions.
    depthwise_flops : of depthwise convolutions [dwconv_flops].
    dense_flops : of dense layers and matrix products [dense_flops].
    activation_elements : of all layers' outputs, the input's where that is a layer of its own [act_elems]; none of
        layers that pass their input on.
    other_elements : the part of these that neither a convolution nor a dense layer puts out [other_elems].
    depthwise_elements, normalization_elements, pooling_elements, elementwise_elements : the part of that kind;
        elementwise are sums and products of layers.
    function_elements : of activation functions, also those inside of other layers.
    shaping_elements : of concatenations, padding, resizing and other copies.
    input_elements : that convolutions and dense layers read, but for depthwise ones.
    narrow_flops, narrow_grouped_flops : what convolutions would do more with as many channels as a GPU computes at
        once; of grouped ones by the channels of a group.
    convolutions : convolution layers, depthwise ones among them [n_conv].
    spatial_convolutions : those with a kernel larger than 1 x 1.
    products : products of two matrices that the network computes, as attention has them.
    dense_layers, normalizations, pools : layers of each kind; global pooling is pooling [n_dense, n_bn, n_pool].
    layers : all layers [n_layers].
    operations : layers, and activation functions inside of them, without those that pass their input on.
    dense_parameters : of dense layers alone; the measurements don't say it.
    """

    pixels: int
    classes: int
    parameters: int
    trainable_parameters: int
    features: int
    convolution_flops: float
    pointwise_flops: float
    grouped_flops: float
    depthwise_flops: float
    dense_flops: float
    activation_elements: float
    other_elements: float
    depthwise_elements: float
    normalization_elements: float
    function_elements: float
    elementwise_elements: float
    pooling_elements: float
    shaping_elements: float
    input_elements: float
    narrow_flops: float
    narrow_grouped_flops: float
    convolutions: int
    spatial_convolutions: int
    products: int
    dense_layers: int
    normalizations: int
    pools: int
    layers: int
    operations: int
    dense_parameters: int

    @property
    def flops(self) -> float:
        """All FLOPs of one image, forward."""
        return self.convolution_flops + self.depthwise_flops + self.dense_flops

    @property
    def is_convolutional(self) -> bool:
        """Whether convolutions mix its pixels: a transformer or a mixer has one that cuts the image into patches."""
        if self.spatial_convolutions > MAX_PATCH_CONVOLUTIONS:
            return True
        convolution_flops = self.convolution_flops + self.depthwise_flops
        return self.spatial_convolutions > 0 and convolution_flops > MIN_CONVOLUTION_SHARE * self.flops

    @property
    def has_attention(self) -> bool:
        """Whether it multiplies matrices that it computes."""
        return self.products > 1


#: Convolutions with a kernel that networks have which aren't convolutional: they cut the image into patches, with less
#: of the FLOPs than a convolutional network has in its only convolution.
MAX_PATCH_CONVOLUTIONS, MIN_CONVOLUTION_SHARE = 1, 0.1
_CONVOLUTIONS = (Kind.CONVOLUTION, Kind.POINTWISE, Kind.GROUPED, Kind.DEPTHWISE)


def count(layers: Iterable[Layer], pixels: int, classes: int | None = None) -> Counts:
    """What the layers ask for one image of `pixels` x `pixels`; without `classes` the last layer's width is taken."""
    layers = list(layers)
    numbers = Counter(layer.kind for layer in layers)
    sizes, flops, parameters = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    for layer in layers:
        sizes[layer.kind] += 0 if layer.kind is Kind.IDENTITY else elements(layer.output)
        flops[layer.kind] += layer.flops
        parameters[layer.kind] += layer.parameters
    activations, convolutions = sizes.total(), sum(numbers[kind] for kind in _CONVOLUTIONS)
    within = [layer for layer in layers if layer.is_activated]
    last = next((layer for layer in reversed(layers) if layer.kind is Kind.DENSE), None)
    return Counts(
        pixels=pixels,
        classes=(layers[-1].output or (1,))[-1] if classes is None else classes,
        parameters=parameters.total(),
        trainable_parameters=sum(layer.trainable for layer in layers),
        features=0 if last is None else last.flops // (2 * elements(last.output)),
        convolution_flops=sum(flops[kind] for kind in _CONVOLUTIONS[:3]),
        pointwise_flops=flops[Kind.POINTWISE],
        grouped_flops=flops[Kind.GROUPED],
        depthwise_flops=flops[Kind.DEPTHWISE],
        dense_flops=flops[Kind.DENSE] + flops[Kind.PRODUCT],
        activation_elements=activations,
        other_elements=activations - sum(sizes[kind] for kind in (*_CONVOLUTIONS, Kind.DENSE)),
        depthwise_elements=sizes[Kind.DEPTHWISE],
        normalization_elements=sizes[Kind.NORMALIZATION],
        function_elements=sizes[Kind.ACTIVATION] + sum(elements(layer.output) for layer in within),
        elementwise_elements=sizes[Kind.ELEMENTWISE],
        pooling_elements=sizes[Kind.POOLING],
        shaping_elements=sizes[Kind.SHAPING],
        input_elements=sum(layer.input_elements for layer in layers if layer.kind is not Kind.DEPTHWISE),
        narrow_flops=sum(_narrow(layer) for layer in layers if layer.kind in (Kind.CONVOLUTION, Kind.POINTWISE)),
        narrow_grouped_flops=sum(_narrow(layer) for layer in layers if layer.kind is Kind.GROUPED),
        convolutions=convolutions,
        spatial_convolutions=convolutions - numbers[Kind.POINTWISE],
        products=numbers[Kind.PRODUCT],
        dense_layers=numbers[Kind.DENSE],
        normalizations=numbers[Kind.NORMALIZATION],
        pools=numbers[Kind.POOLING],
        layers=len(layers),
        operations=len(layers) + len(within) - numbers[Kind.IDENTITY],
        dense_parameters=parameters[Kind.DENSE],
    )


#: Channels that a GPU computes at once, in tiles, and how much of a tile counts at least.
_TILE, _MIN_TILE = 64, 16


def _narrow(layer: Layer) -> float:
    """FLOPs that tiles add to a convolution: on output channels forward, on input channels backward."""
    added = (-(-width // _TILE) * _TILE / max(width, _MIN_TILE) - 1 for width in layer.channels)
    return layer.flops * max(sum(added), 0.0) / 2


#: Of a network; the deepest that is published has some thousands.
MAX_LAYERS = 20_000


class LayerList(list[Layer]):
    """The layers of a network, in order."""

    def put(self, layer: Layer, name: str = "") -> Shape:
        """Add a layer; returns its output's shape, which the next one takes."""
        if len(self) >= MAX_LAYERS:
            raise InputError(f"more than {MAX_LAYERS:,} layers.")
        self.append(replace(layer, name=name) if name else layer)
        return layer.output


@dataclass(frozen=True, slots=True)
class Network:
    """A network at one image size."""

    name: str
    source_format: str
    layers: tuple[Layer, ...]
    counts: Counts
    caveats: tuple[str, ...] = ()


_MAX_NAME = 60
#: Layers that one caveat names.
_NAMED = 3


def shown(value: object) -> str:
    """A name or a number from a file, printable and not too long; of anything else what it is."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a record"
    if isinstance(value, str):
        # Cut first: a name may be as long as a file.
        value = value[: _MAX_NAME + 1]
    text = value if isinstance(value, str) and value.isprintable() else ascii(value)
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def whole(value: object, what: str, least: int = 1) -> int:
    """A whole number of a sensible size."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SETTING:
        given = f'the text "{shown(value)}"' if isinstance(value, str) else shown(value)
        raise InputError(f"its {what} is {given}: a whole number from {least} to {MAX_SETTING:,} is needed.")
    return value


def packing_problem(error: ProfileError) -> str:
    """What is wrong with how a file is packed, without what that says of profiles and advises for them."""
    return str(error).partition(":")[0].partition(", which")[0].rstrip(".")


class Caveats:
    """Reasons and the layers that each is about."""

    def __init__(self) -> None:
        # Names as keys: in their order, each once, and twenty thousand of them are no wait.
        self._about: dict[str, dict[str, None]] = {}

    def add(self, reason: str, layer: str = "") -> None:
        """Note a reason; the layer's name is shown as it is, so it has to be printable."""
        names = self._about.setdefault(reason, {})
        if layer:
            names[layer] = None

    def square(self, height: int, width: int) -> int:
        """The side of a square image of as many pixels; noted where the image is none."""
        side = round(math.sqrt(height * width))
        if height != width:
            self.add(f"Its images are {height} x {width}, and taken for square ones of {side}")
        return side

    def lines(self) -> tuple[str, ...]:
        """Each reason once: "REASON: one, two, three and 4 more."."""
        return tuple(_line(reason, list(names)) for reason, names in self._about.items())


def _line(reason: str, names: list[str]) -> str:
    if not names:
        return f"{reason}."
    rest = len(names) - _NAMED
    return f"{reason}: {', '.join(names[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}."
