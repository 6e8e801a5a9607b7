"""Families of architectures: those of one are near relatives and leave together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: Every other architecture is a family of its own.
FAMILIES = {
    **dict.fromkeys(("VGG11", "VGG13", "VGG16", "VGG19"), "VGG"),
    **dict.fromkeys(("ResNet18", "ResNet34", "ResNet50", "ResNetSmall"), "ResNet"),
    **dict.fromkeys(("InceptionV3", "InceptionResNetV2"), "Inception"),
}
#: Architectures of the data that have a near relative in it: deeper or shallower versions of one design. The others
#: show what a network of your own may meet.
WITH_TWIN = frozenset({"VGG11", "VGG13", "VGG16", "VGG19", "ResNet18", "ResNet34", "ResNet50"})


def families_of(architectures: Iterable[str]) -> np.ndarray:
    """Family of each row, (rows,)."""
    return np.array([FAMILIES.get(name, name) for name in architectures])
