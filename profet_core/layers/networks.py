"""Networks known by name, at any image size."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from profet_core.errors import InputError
from profet_core.layers.builder import Builder
from profet_core.layers.named.classic import (
    CONVNEXTS,
    DENSENETS,
    REGNETS,
    RESNET_STAGES,
    VGG_STAGES,
    Bottleneck,
    alexnet_2014,
    cifar10_cnn,
    convnext,
    densenet,
    lenet5,
    measured_alexnet,
    measured_resnet,
    measured_vgg,
    mnist_cnn,
    regnet,
    resnet,
    resnet_small,
    squeezenet,
    vgg_with_batch_norm,
)
from profet_core.layers.named.inception import inception_resnet_v2, inception_v3, inception_v4, xception
from profet_core.layers.named.mobile import (
    EFFICIENT_SIZES,
    SHUFFLE_CHANNELS,
    efficientnet,
    mnasnet,
    mobilenet,
    mobilenet_v2,
    mobilenet_v3,
    shufflenet_v2,
)
from profet_core.layers.network import Counts, count
from profet_core.layers.rules import Layer

Build = Callable[[Builder, int, int], None]

#: Image sizes that a network by name is built at.
MIN_PIXELS, MAX_PIXELS = 1, 4096
MAX_CLASSES = 1_000_000
#: Those of the measurements.
MEASURED_PIXELS = (32, 64, 128, 224, 256)

#: The measured networks, as the measurements' own code builds them.
MEASURED: Mapping[str, Build] = MappingProxyType(
    {
        "LeNet5": lenet5,
        **{f"VGG{depth}": partial(measured_vgg, depth=depth) for depth in VGG_STAGES},
        "ResNetSmall": resnet_small,
        **{f"ResNet{depth}": partial(measured_resnet, depth=depth) for depth in (18, 34, 50)},
        "InceptionV3": inception_v3,
        "InceptionResNetV2": inception_resnet_v2,
        "MobileNetV2": mobilenet_v2,
        "AlexNet": measured_alexnet,
        "MNIST_CNN": mnist_cnn,
        "CIFAR10_CNN": cifar10_cnn,
    }
)
#: The others, as Keras builds them where it has them, else as torchvision (Inception V4 and SE-ResNeXt: timm) does.
PUBLISHED: Mapping[str, Build] = MappingProxyType(
    {
        "ConvNeXt-Tiny": partial(convnext, size="Tiny"),
        **{f"ConvNeXt-{size}": partial(convnext, size=size) for size in CONVNEXTS if size != "Tiny"},
        **{f"EfficientNet-B{size}": partial(efficientnet, size=size) for size in range(len(EFFICIENT_SIZES))},
        **{name: partial(regnet, plan=plan) for name, plan in REGNETS.items()},
        **{f"DenseNet-{depth}": partial(densenet, depth=depth) for depth in DENSENETS},
        "MobileNet": mobilenet,
        "MobileNetV3-Large": partial(mobilenet_v3, is_large=True),
        "MobileNetV3-Small": partial(mobilenet_v3, is_large=False),
        **{f"MNASNet-{width}": partial(mnasnet, width=width) for width in (0.5, 0.75, 1.0, 1.3)},
        **{f"ShuffleNetV2-x{width}": partial(shufflenet_v2, width=width) for width in SHUFFLE_CHANNELS},
        "ResNeXt-50 32x4d": partial(resnet, depth=50, inside=Bottleneck(32, 4)),
        "ResNeXt-101 32x4d": partial(resnet, depth=101, inside=Bottleneck(32, 4)),
        "ResNeXt-101 32x8d": partial(resnet, depth=101, inside=Bottleneck(32, 8)),
        "ResNeXt-101 64x4d": partial(resnet, depth=101, inside=Bottleneck(64, 4)),
        "SE-ResNeXt-101 32x4d": partial(resnet, depth=101, inside=Bottleneck(32, 4, has_squeeze=True)),
        "Wide ResNet-50-2": partial(resnet, depth=50, inside=Bottleneck(1, 128)),
        "Wide ResNet-101-2": partial(resnet, depth=101, inside=Bottleneck(1, 128)),
        **{f"ResNet-{depth} v1.5": partial(resnet, depth=depth) for depth in RESNET_STAGES},
        **{f"VGG{depth}-BN": partial(vgg_with_batch_norm, depth=depth) for depth in VGG_STAGES},
        "AlexNet (2014)": alexnet_2014,
        "SqueezeNet 1.0": partial(squeezenet, is_first=True),
        "SqueezeNet 1.1": partial(squeezenet, is_first=False),
        "InceptionV4": inception_v4,
        "Xception": xception,
    }
)
_ALL: Mapping[str, Build] = MappingProxyType({**MEASURED, **PUBLISHED})
#: Other names of the same; those of ResNets that the measurements don't have are torchvision's.
_ALIASES = {
    "ResNet101": "ResNet-101 v1.5",
    "ResNet152": "ResNet-152 v1.5",
    "ConvNeXt": "ConvNeXt-Tiny",
    "EfficientNet": "EfficientNet-B0",
    "MobileNetV1": "MobileNet",
    "MobileNetV3": "MobileNetV3-Large",
    "ResNeXt50": "ResNeXt-50 32x4d",
    "ResNeXt101": "ResNeXt-101 32x8d",
}
#: Names that a refusal offers, and where the others are.
_MAX_MEANT = 3
_ALL_NAMES = "docs/NETWORKS.md"
#: What was counted, by name and pixels: names that ship and `MEASURED_PIXELS`, so nothing that a visitor typed.
_COUNTED: dict[tuple[str, int], Counts] = {}


def named_networks() -> list[str]:
    """Names of all networks that `counts_of` knows: the measured ones first."""
    return list(_ALL)


def measured_networks() -> list[str]:
    """Names of the networks that were measured."""
    return list(MEASURED)


def classes_at(pixels: int) -> int:
    """Classes that the measurements give an image of this size: 10, 100 or 1000."""
    return 10 if pixels < 64 else 100 if pixels < 224 else 1000


def network_name(text: str) -> str:
    """The name in `named_networks` that is meant; case, spaces and marks between don't matter.

    >>> network_name("resnext50_32x4d"), network_name("vgg16")
    ('ResNeXt-50 32x4d', 'VGG16')
    """
    typed, names = _plain(text[:100]), _names()
    if typed not in names:
        # Twice as many, as some have two names.
        close = difflib.get_close_matches(typed, names, n=2 * _MAX_MEANT)
        meant = list(dict.fromkeys(names[each] for each in close))[:_MAX_MEANT]
        known = f"did you mean {', '.join(meant)}? All names are in {_ALL_NAMES}." if meant else f"see {_ALL_NAMES}."
        raise InputError(f"unknown network {text[:60]!a}: {known}")
    return names[typed]


def layers_of(name: str, pixels: int, classes: int | None = None) -> tuple[Layer, ...]:
    """The layers of a named network, in order.

    Parameters
    ----------
    pixels : height and width of the image, `MIN_PIXELS` to `MAX_PIXELS`.
    classes : width of the last layer; None for as many as the measurements have at this size (`classes_at`).

    Raises
    ------
    InputError : an unknown name, or an image that the network can't be built for.
    """
    net = Builder()
    build_named(net, name, pixels, classes)
    return tuple(net.layers)


def build_named(net: Builder, name: str, pixels: int, classes: int | None = None) -> tuple[str, int]:
    """Put a named network's layers into `net`; its name in `named_networks` and its classes.

    Parameters and errors are those of `layers_of`.
    """
    name = network_name(name)
    if not MIN_PIXELS <= pixels <= MAX_PIXELS:
        raise InputError(f"Images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
    if classes is not None and not 1 <= classes <= MAX_CLASSES:
        raise InputError(f"{classes:,} classes are not supported: use 1 to {MAX_CLASSES:,}.")
    classes = classes_at(pixels) if classes is None else classes
    try:
        _ALL[name](net, pixels, classes)
    except InputError:
        raise InputError(f"{name} can't be built for images of {pixels} pixels: they are too small.") from None
    return name, classes


def counts_of(name: str, pixels: int, classes: int | None = None) -> Counts:
    """What a named network asks for one image of `pixels` x `pixels`.

    Parameters and errors are those of `layers_of`. The measured networks' counts are those of the measurements.

    >>> counts_of("ResNet50", 224).parameters
    25621352
    """
    name = network_name(name)
    if pixels not in MEASURED_PIXELS or classes not in (None, classes_at(pixels)):
        return count(layers_of(name, pixels, classes), pixels)
    if (name, pixels) not in _COUNTED:
        _COUNTED[name, pixels] = count(layers_of(name, pixels), pixels)
    return _COUNTED[name, pixels]


@cache
def _names() -> Mapping[str, str]:
    return {_plain(alias): name for alias, name in [*_ALIASES.items(), *((name, name) for name in _ALL)]}


def _plain(text: str) -> str:
    return re.sub(r"[\s_.()-]+", "", text).lower()
