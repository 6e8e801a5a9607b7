"""Families hold near relatives."""

from __future__ import annotations

import pytest

from profet_lab.validation.families import FAMILIES, families_of

pytestmark = pytest.mark.training


def test_families_are_of_the_kind_they_are_named_after():
    assert {FAMILIES[name] for name in ("VGG11", "VGG19")} == {"VGG"}
    assert {FAMILIES[name] for name in ("ResNetSmall", "ResNet50")} == {"ResNet"}
    assert "InceptionResNetV2" in FAMILIES and "AlexNet" not in FAMILIES


def test_an_architecture_without_relatives_is_a_family_of_its_own():
    assert families_of(["VGG16", "AlexNet", "ResNetSmall"]).tolist() == ["VGG", "AlexNet", "ResNet"]
