"""The networks that are measured: those of the published measurements, and one of each newer family."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from profet_core.errors import InputError, nearest
from profet_core.layers import networks
from profet_core.layers.network import Counts
from profet_core.layers.networks import PROFET

#: Image sizes of the published measurements.
MEASURED_PIXELS = (32, 64, 128, 224, 256)
_MEASURED = """
LeNet5 VGG11 VGG13 VGG16 VGG19 ResNetSmall ResNet18 ResNet34 ResNet50 InceptionV3 InceptionResNetV2 MobileNetV2 AlexNet
MNIST_CNN CIFAR10_CNN
"""
#: The measured networks, as the measurements' own code builds them.
MEASURED = tuple(_MEASURED.split())
#: One of each newer family, as Keras or torchvision builds it.
NEWER = (
    "ConvNeXt-Tiny",
    "EfficientNet-B0",
    "RegNetY-800MF",
    "DenseNet-121",
    "MobileNetV3-Large",
    "ResNeXt-50 32x4d",
)
#: What each framework takes from its library of networks: name -> what it is called there.
OF_KERAS: Mapping[str, str] = {
    **{name: name for name in ("InceptionV3", "InceptionResNetV2", "MobileNetV2")},
    "ConvNeXt-Tiny": "ConvNeXtTiny",
    "EfficientNet-B0": "EfficientNetB0",
    "DenseNet-121": "DenseNet121",
    "MobileNetV3-Large": "MobileNetV3Large",
}
OF_TORCHVISION: Mapping[str, str] = {
    "InceptionV3": "inception_v3",
    "MobileNetV2": "mobilenet_v2",
    "ConvNeXt-Tiny": "convnext_tiny",
    "EfficientNet-B0": "efficientnet_b0",
    "RegNetY-800MF": "regnet_y_800mf",
    "DenseNet-121": "densenet121",
    "MobileNetV3-Large": "mobilenet_v3_large",
    "ResNeXt-50 32x4d": "resnext50_32x4d",
}
#: Channels and number of convolutions of each stage of VGG; a pooling ends each.
VGGS = {
    f"VGG{depth}": tuple(zip((64, 128, 256, 512, 512), numbers, strict=True))
    for depth, numbers in {11: (1, 1, 2, 2, 2), 13: (2,) * 5, 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}.items()
}
#: Blocks of each stage, and kernels of a block; a third one widens its channels to four times as many.
RESNETS = {
    "ResNet18": ((2, 2, 2, 2), (3, 3)),
    "ResNet34": ((3, 4, 6, 3), (3, 3)),
    "ResNet50": ((3, 4, 6, 3), (1, 3, 1)),
}
#: Channels and stride of each block of ResNetSmall.
SMALL_RESNET = ((64, 2), (64, 1), (128, 2), (128, 1))
#: The measurements' AlexNet: channels, kernel, whether padded by one more and pooled; and its dense layers.
ALEXNET = (
    (96, 11, False, True),
    (256, 5, False, True),
    (512, 3, True, True),
    (1024, 3, True, False),
    (1024, 3, True, True),
)
ALEXNET_UNITS = (3072, 4096)
#: Of the values that a dropout gets; it takes the same time at any share.
DROPPED_SHARE = 0.5
LEARNING_RATE = 1e-3
#: As few pixels as both libraries build Inception for.
_MIN_INCEPTION_PIXELS = 75


def missing(framework: str) -> dict[str, str]:
    """Return the networks that a framework can't build here, each with the reason."""
    if framework == "tensorflow":
        return {name: "Keras does not have it" for name in NEWER if name not in OF_KERAS}
    lacks = {"InceptionResNetV2": "torchvision does not have it"}
    if find_spec("torchvision") is None:
        lacks |= dict.fromkeys(OF_TORCHVISION, "it needs torchvision: pip install torchvision")
    return lacks


def resnet_blocks(blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the stage and the number in it of each block.

    >>> resnet_blocks((1, 2))
    [(0, 0), (1, 0), (1, 1)]
    """
    return [(stage, block) for stage, number in enumerate(blocks) for block in range(number)]


def classes_at(pixels: int) -> int:
    """Classes that the measurements give an image of this size: 10, 100 or 1000."""
    return 10 if pixels < 64 else 100 if pixels < 224 else 1000


def known_name(text: str) -> str:
    """Return the name in `MEASURED` or `NEWER` that is meant; case, spaces and marks don't matter."""
    names = {_plain(name): name for name in (*MEASURED, *NEWER)}
    name = names.get(_plain(text))
    if name is None:
        raise InputError(
            f"{text[:60]!a} is not built to be measured: choose from {nearest(text[:60], names.values())}."
        )
    return name


def counts_of(name: str, pixels: int) -> Counts:
    """Return the counts of one image of a network, with as many classes as the measurements have at this size.

    Raises
    ------
    InputError : an unknown name, or an image that is too small for the network.
    """
    name = known_name(name)
    if name.startswith("Inception") and pixels < _MIN_INCEPTION_PIXELS:
        raise InputError(f"{name} can't be built for images of {pixels} pixels: they are too small.")
    if name in MEASURED:
        return networks.counts_of(f"{PROFET}{name}", pixels)
    return networks.counts_of(name, pixels, classes_at(pixels))


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
