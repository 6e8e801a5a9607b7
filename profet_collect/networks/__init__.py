"""The networks that are built to be measured: those of the published measurements, and one of each newer family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from profet_collect.networks.builder import Builder
from profet_collect.networks.classic import (
    VGG_STAGES,
    cifar10_cnn,
    convnext_tiny,
    densenet121,
    lenet5,
    measured_alexnet,
    measured_resnet,
    measured_vgg,
    mnist_cnn,
    regnet_y_800mf,
    resnet_small,
    resnext50,
)
from profet_collect.networks.inception import inception_resnet_v2, inception_v3
from profet_collect.networks.mobile import efficientnet_b0, mobilenet_v2, mobilenet_v3
from profet_core.errors import InputError
from profet_core.layers.network import Counts, count
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.layers.rules import Layer

Build = Callable[[Builder, int, int], None]

#: Image sizes of the published measurements.
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
#: One of each newer family, as Keras or torchvision builds it.
NEWER: Mapping[str, Build] = MappingProxyType(
    {
        "ConvNeXt-Tiny": convnext_tiny,
        "EfficientNet-B0": efficientnet_b0,
        "RegNetY-800MF": regnet_y_800mf,
        "DenseNet-121": densenet121,
        "MobileNetV3-Large": mobilenet_v3,
        "ResNeXt-50 32x4d": resnext50,
    }
)
_ALL: Mapping[str, Build] = MappingProxyType({**MEASURED, **NEWER})


def classes_at(pixels: int) -> int:
    """Classes that the measurements give an image of this size: 10, 100 or 1000."""
    return 10 if pixels < 64 else 100 if pixels < 224 else 1000


def known_name(text: str) -> str:
    """The name in `MEASURED` or `NEWER` that is meant; case, spaces and marks don't matter."""
    names = {_plain(name): name for name in _ALL}
    found = names.get(_plain(text))
    if found is None:
        raise InputError(f"{text[:60]!a} is not built to be measured: use one of {', '.join(_ALL)}.")
    return found


def build_named(net: Builder, name: str, pixels: int, classes: int | None = None) -> tuple[str, int]:
    """Put a network's layers into `net`; returns its name and its classes.

    Parameters
    ----------
    pixels : height and width of the image, `MIN_PIXELS` to `MAX_PIXELS`.
    classes : width of the last layer; None for as many as the measurements have at this size (`classes_at`).

    Raises
    ------
    InputError : an unknown name, or an image that the network can't be built for.
    """
    name = known_name(name)
    if not MIN_PIXELS <= pixels <= MAX_PIXELS:
        raise InputError(f"Images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
    classes = classes_at(pixels) if classes is None else classes
    try:
        _ALL[name](net, pixels, classes)
    except InputError:
        raise InputError(f"{name} can't be built for images of {pixels} pixels: they are too small.") from None
    return name, classes


def layers_of(name: str, pixels: int, classes: int | None = None) -> tuple[Layer, ...]:
    """The layers of a network; parameters and errors as `build_named`."""
    net = Builder()
    build_named(net, name, pixels, classes)
    return tuple(net.layers)


@cache
def counts_of(name: str, pixels: int) -> Counts:
    """What a network asks for one image; parameters and errors as `build_named`."""
    return count(layers_of(name, pixels), pixels)


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
