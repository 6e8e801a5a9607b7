"""A network: its layers with their shapes, the sums of these, its caveats, and checks of values from a file.

Shapes are without the batch and have channels last: (height, width, channels) or (features,).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import prod
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from profet_core.errors import InputError, ProfileError
from profet_profiles.record import TransformerWork

Shape = tuple[int, ...]

#: Maximum shape: a terabyte and more for one layer of one image; and parameters that fit no GPU.
MAX_ELEMENTS = MAX_PARAMETERS = 2**38
MAX_DIMENSIONS = 8
#: Largest kernel, stride, dilation, padding or number of groups.
MAX_SETTING = 2**24


def elements(shape: Shape) -> int:
    """How many values a shape has."""
    return prod(shape)


def check_shape(shape: Shape) -> Shape:
    """Return the shape itself; refuse one that makes no sense."""
    if len(shape) > MAX_DIMENSIONS or min(shape, default=1) < 1:
        raise InputError(f"it would put out {shape_text(shape)}: the image is too small, or the file is damaged.")
    if elements(shape) > MAX_ELEMENTS:
        raise InputError(f"it would put out more than {MAX_ELEMENTS:,} values: the sizes in the file make no sense.")
    return shape


def shape_text(shape: Shape) -> str:
    """Write a shape as "112 x 112 x 64"."""
    return " x ".join(str(side) if abs(side) < 10**12 else "very many" for side in shape[: MAX_DIMENSIONS + 1])


class Kind(StrEnum):
    """Kinds of layers, as far as counts tell them apart."""

    INPUT = "input"
    CONVOLUTION = "convolution"
    POINTWISE = "1 x 1 convolution"
    GROUPED = "grouped convolution"
    DEPTHWISE = "depthwise convolution"
    DENSE = "dense"
    PRODUCT = "matrix product"
    NORMALIZATION = "normalization"
    POOLING = "pooling"
    ACTIVATION = "activation"
    #: An activation, as attention has it over its scores.
    SOFTMAX = "softmax"
    ELEMENTWISE = "elementwise"
    SHAPING = "shaping"
    #: Passes its input on: computes and keeps nothing.
    IDENTITY = "identity"


class Layer(Struct, frozen=True):
    """One layer with its shapes resolved.

    Attributes
    ----------
    output : its shape without the batch.
    parameters : all of them.
    trainable : those that have a gradient.
    flops : of one image, forward.
    is_activated : whether an activation function is part of the layer, as in Keras' `Dense(10, activation="relu")`.
    input_elements : values that a convolution or a dense layer reads.
    channels : of one group of a convolution, (input, output).
    """

    kind: Kind
    output: Shape
    parameters: int = 0
    trainable: int = 0
    flops: int = 0
    name: str = ""
    is_activated: bool = False
    input_elements: int = 0
    channels: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        check_shape(self.output)
        if self.parameters > MAX_PARAMETERS:
            raise InputError(f"it would have more than {MAX_PARAMETERS:,} parameters: the sizes make no sense.")


class Flops(NamedTuple):
    """FLOPs of one image, forward: a multiply-add is two, biases and elementwise work are none.

    Attributes
    ----------
    convolution : of convolutions that are not depthwise.
    pointwise, grouped : the part of 1 x 1 and of grouped ones.
    depthwise : of depthwise convolutions.
    dense : of dense layers and matrix products.
    narrow, narrow_grouped : what convolutions would do more with as many channels as a GPU computes at once; of grouped
        ones by the channels of a group.
    product : the part of dense that multiplies two matrices which the network computes, as attention does.
    """

    convolution: float
    pointwise: float
    grouped: float
    depthwise: float
    dense: float
    narrow: float
    narrow_grouped: float
    product: float = 0.0

    @property
    def all(self) -> float:
        """Of the network."""
        return self.convolution + self.depthwise + self.dense


class Elements(NamedTuple):
    """Values that the layers of one image put out.

    Attributes
    ----------
    all : the input's too where that is a layer of its own; none of layers that pass their input on.
    other : the part that neither a convolution nor a dense layer puts out.
    depthwise, normalization, elementwise, pooling : the part of that kind; elementwise are sums and products of layers.
    function : of activation functions, also those inside of other layers.
    shaping : of concatenations, padding, resizing and other copies.
    read : values that convolutions and dense layers read, but for depthwise ones.
    score : the part of function that softmax puts out.
    """

    all: float
    other: float
    depthwise: float
    normalization: float
    function: float
    elementwise: float
    pooling: float
    shaping: float
    read: float
    score: float = 0.0


class Numbers(NamedTuple):
    """Numbers of layers.

    Attributes
    ----------
    convolutions, spatial : all, depthwise ones among them, and those with a kernel larger than 1 x 1.
    products : of two matrices that the network computes, as attention has them.
    dense, normalizations, pools : of that kind; global pooling is pooling.
    all : layers.
    operations : and activation functions inside of them, without layers that pass their input on.
    """

    convolutions: int
    spatial: int
    products: int
    dense: int
    normalizations: int
    pools: int
    all: int
    operations: int


class Counts(Struct, frozen=True):
    """What one image of `pixels` x `pixels` takes in the forward pass.

    Attributes
    ----------
    classes : width of the last layer.
    parameters, trainable_parameters : all, and those that have a gradient. Keras counts running averages of
        normalizations among all, PyTorch doesn't.
    dense_parameters : of dense layers alone; 0 where the measurements don't say it.
    features : values that the last dense layer takes; 0 without one.
    """

    pixels: int
    classes: int
    parameters: int
    trainable_parameters: int
    dense_parameters: int
    features: int
    flops: Flops
    elements: Elements
    layers: Numbers

    @classmethod
    def from_values(cls, values: Sequence[int]) -> Counts:
        """Return the counts of numbers in the order of `values`."""
        pixels, classes, parameters, trainable, features = values[:5]
        flops, elements = Flops(*values[5:10], *values[19:21])._replace(product=values[30]), Elements(*values[10:19])
        elements = elements._replace(score=values[31])
        numbers, dense = Numbers(*values[21:29]), values[29]
        return cls(pixels, classes, parameters, trainable, dense, features, flops, elements, numbers)

    @property
    def values(self) -> tuple[float, ...]:
        """All numbers, in the order of `VALUE_NAMES`."""
        first = (self.pixels, self.classes, self.parameters, self.trainable_parameters, self.features)
        flops, elements = self.flops, self.elements
        middle = (*flops[:5], *elements[:9], *flops[5:7], *self.layers, self.dense_parameters)
        return (*first, *middle, flops.product, elements.score)

    @property
    def is_convolutional(self) -> bool:
        """Whether convolutions mix its pixels: a transformer or a mixer has one that cuts the image into patches."""
        if self.layers.spatial > MAX_PATCH_CONVOLUTIONS:
            return True
        convolution = self.flops.convolution + self.flops.depthwise
        return self.layers.spatial > 0 and convolution > MIN_CONVOLUTION_SHARE * self.flops.all

    @property
    def has_attention(self) -> bool:
        """Whether it multiplies matrices that it computes."""
        return self.layers.products > 1


def counts_of_work(work: TransformerWork, batch_size: int, pixels: int) -> Counts:
    """Return what one image takes in a transformer whose step's shapes were recorded."""

    def each(value: float) -> int:
        return round(value / batch_size)

    values, products = round(work.operations), work.dense_flops + work.product_flops
    # More would be a convolutional network's, and its times say it of what isn't.
    convolution = min(work.convolution_flops, _PATCH_SHARE * products)
    flops = products + work.convolution_flops - convolution
    outputs = work.convolution_outputs + work.dense_outputs
    function = work.activation + work.score
    others = work.normalization + function + work.elementwise + work.pooling + work.copies + work.product_outputs
    return Counts(
        pixels=pixels,
        classes=1,
        parameters=round(work.parameters),
        trainable_parameters=round(work.parameters),
        dense_parameters=round(work.dense_parameters),
        features=0,
        flops=Flops(each(convolution), 0, 0, 0, each(flops), 0, 0, each(work.product_flops)),
        elements=Elements(
            all=each(outputs + others),
            other=each(others),
            depthwise=0,
            normalization=each(work.normalization),
            function=each(function),
            elementwise=each(work.elementwise),
            pooling=each(work.pooling),
            shaping=each(work.copies),
            read=each(work.inputs),
            score=each(work.score),
        ),
        layers=Numbers(int(work.patch > 0), int(work.patch > 0), round(work.products), 0, 0, 0, values, values),
    )


def at_pixels(counts: Counts, pixels: int, *, attends_whole: bool) -> Counts:
    """Return counts of a transformer at another image size: its tokens grow with the area.

    Parameters
    ----------
    attends_whole : over the image, so that attention grows with the square of the tokens; not over windows.
    """
    area = (pixels / counts.pixels) ** 2
    more = area * (area - 1) if attends_whole else 0.0
    flops = Flops(*(area * value for value in counts.flops))
    elements = Elements(*(area * value for value in counts.elements))
    grown = replace(counts, pixels=pixels, flops=flops, elements=elements)
    return with_attention(grown, more * counts.flops.product, more * counts.elements.score)


def with_attention(counts: Counts, flops: float, scores: float) -> Counts:
    """Return counts with so many more FLOPs of attention's products, and values of its scores."""
    elements = counts.elements
    return replace(
        counts,
        flops=counts.flops._replace(dense=counts.flops.dense + flops, product=counts.flops.product + flops),
        elements=elements._replace(
            all=elements.all + scores,
            other=elements.other + scores,
            function=elements.function + scores,
            score=elements.score + scores,
        ),
    )


def attends_whole_image(work: TransformerWork, pixels: int) -> bool:
    """Whether attention is over the whole image, not over windows; of patches that aren't known it is."""
    return work.patch == 0 or work.attended >= _WHOLE_IMAGE_SHARE * (pixels / work.patch) ** 2


def check_patches(name: str, patch: int, pixels: int) -> None:
    """Refuse an image size that patches don't divide, with the next ones."""
    if patch > 1 and pixels % patch:
        below = max(pixels // patch, 1) * patch
        raise InputError(
            f"{name} cuts images into patches of {patch} pixels: use {below} or {below + patch} pixels instead of "
            f"{pixels:,}."
        )


#: Of `Counts.values`, as columns of `data/networks.csv`.
VALUE_NAMES = (
    *("pixels", "classes", "parameters", "trainable_parameters", "features"),
    *("convolution_flops", "pointwise_flops", "grouped_flops", "depthwise_flops", "dense_flops"),
    *("activation_elements", "other_elements", "depthwise_elements", "normalization_elements", "function_elements"),
    *("elementwise_elements", "pooling_elements", "shaping_elements", "input_elements"),
    *("narrow_flops", "narrow_grouped_flops", "convolutions", "spatial_convolutions", "products", "dense_layers"),
    *("normalizations", "pools", "layers", "operations", "dense_parameters", "product_flops", "score_elements"),
)
#: Convolutions with a kernel that networks have which aren't convolutional: they cut the image into patches, with less
#: of the FLOPs than a convolutional network has in its only convolution.
MAX_PATCH_CONVOLUTIONS, MIN_CONVOLUTION_SHARE = 1, 0.1
_CONVOLUTIONS = (Kind.CONVOLUTION, Kind.POINTWISE, Kind.GROUPED, Kind.DEPTHWISE)
#: FLOPs of the patches' convolution, over those of matrix products, at most.
_PATCH_SHARE = MIN_CONVOLUTION_SHARE / 2
#: Tokens that see each other, over those of an image, from which attention is over all of it and not over windows.
_WHOLE_IMAGE_SHARE = 0.5


def count(layers: Iterable[Layer], pixels: int, classes: int | None = None) -> Counts:
    """Count one image of `pixels` x `pixels`; without `classes` the last layer's width is taken."""
    layers = list(layers)
    numbers = Counter(layer.kind for layer in layers)
    sizes, flops, parameters = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    for layer in layers:
        sizes[layer.kind] += 0 if layer.kind is Kind.IDENTITY else elements(layer.output)
        flops[layer.kind] += layer.flops
        parameters[layer.kind] += layer.parameters
    convolutions = sum(numbers[kind] for kind in _CONVOLUTIONS)
    within = [layer for layer in layers if layer.is_activated]
    last = next((layer for layer in reversed(layers) if layer.kind is Kind.DENSE), None)
    return Counts(
        pixels=pixels,
        classes=(layers[-1].output or (1,))[-1] if classes is None else classes,
        parameters=parameters.total(),
        trainable_parameters=sum(layer.trainable for layer in layers),
        dense_parameters=parameters[Kind.DENSE],
        features=0 if last is None else last.flops // (2 * elements(last.output)),
        flops=Flops(
            convolution=sum(flops[kind] for kind in _CONVOLUTIONS[:3]),
            pointwise=flops[Kind.POINTWISE],
            grouped=flops[Kind.GROUPED],
            depthwise=flops[Kind.DEPTHWISE],
            dense=flops[Kind.DENSE] + flops[Kind.PRODUCT],
            narrow=sum(_narrow(layer) for layer in layers if layer.kind in (Kind.CONVOLUTION, Kind.POINTWISE)),
            narrow_grouped=sum(_narrow(layer) for layer in layers if layer.kind is Kind.GROUPED),
            product=flops[Kind.PRODUCT],
        ),
        elements=Elements(
            all=sizes.total(),
            other=sizes.total() - sum(sizes[kind] for kind in (*_CONVOLUTIONS, Kind.DENSE)),
            depthwise=sizes[Kind.DEPTHWISE],
            normalization=sizes[Kind.NORMALIZATION],
            function=sizes[Kind.ACTIVATION] + sizes[Kind.SOFTMAX] + sum(elements(layer.output) for layer in within),
            elementwise=sizes[Kind.ELEMENTWISE],
            pooling=sizes[Kind.POOLING],
            shaping=sizes[Kind.SHAPING],
            read=sum(layer.input_elements for layer in layers if layer.kind is not Kind.DEPTHWISE),
            score=sizes[Kind.SOFTMAX],
        ),
        layers=Numbers(
            convolutions=convolutions,
            spatial=convolutions - numbers[Kind.POINTWISE],
            products=numbers[Kind.PRODUCT],
            dense=numbers[Kind.DENSE],
            normalizations=numbers[Kind.NORMALIZATION],
            pools=numbers[Kind.POOLING],
            all=len(layers),
            operations=len(layers) + len(within) - numbers[Kind.IDENTITY],
        ),
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


class Network(Struct, frozen=True):
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
    """Return a name or a number from a file, printable and not too long; of anything else what it is."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a record"
    if isinstance(value, str):
        # Cut first: a name may be as long as a file.
        value = value[: _MAX_NAME + 1]
    text = value if isinstance(value, str) and value.isprintable() else ascii(value)
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def whole(value: object, what: str, least: int = 1) -> int:
    """Return a whole number of a sensible size."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SETTING:
        given = f'the text "{shown(value)}"' if isinstance(value, str) else "missing" if value is None else shown(value)
        raise InputError(f"its {what} is {given}: a whole number from {least} to {MAX_SETTING:,} is needed.")
    return value


def image_sides(height: object, width: object, pixels: int | None) -> tuple[int, int]:
    """Sides of the image that a network takes: those of its file, or `pixels`."""
    if pixels is not None:
        height = width = pixels
    if height is None or width is None:
        raise InputError("it leaves the image's size open: give the pixels.")
    return whole(height, "image's height"), whole(width, "image's width")


def packing_problem(error: ProfileError) -> str:
    """Return what is wrong with how a file is packed, without what that says of profiles and advises for them."""
    return str(error).partition(":")[0].partition(". ")[0].partition(", which")[0].rstrip(".")


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
        """Return the side of a square image of as many pixels; noted where the image is none."""
        side = round(math.sqrt(height * width))
        if height != width:
            self.add(f"Its images are {height} x {width}, and taken for square ones of {side}")
        return side

    def lines(self) -> tuple[str, ...]:
        """Each reason once: "REASON: one, two, three and 4 more."."""
        lines = []
        for reason, names in self._about.items():
            rest = len(names) - _NAMED
            about = ", ".join(list(names)[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
            lines.append(f"{reason}: {about}." if about else f"{reason}.")
        return tuple(lines)
