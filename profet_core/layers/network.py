"""A network: the sums of its layers, its caveats, and checks of values from a file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.errors import InputError, ProfileError
from profet_core.layers.rules import MAX_SETTING, Kind, Layer, elements


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
