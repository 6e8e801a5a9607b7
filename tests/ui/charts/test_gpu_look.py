"""Each GPU has its own look, which readers of any color vision tell apart on both backgrounds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from profet_core.catalog import load_gpus
from ui.charts.gpu_look import gpu_look

#: Streamlit's backgrounds, light and dark.
BACKGROUNDS = ("#ffffff", "#0e1117")
#: Linear RGB as it is seen without one kind of cone; Machado, Oliveira and Fernandes (2009), severity 1.
VISION = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no middle": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
#: CIE76 distance at which two marks beside each other are distinguished at a glance.
TOLD_APART = 15
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(linear(color) @ TO_XYZ[1] for color in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    scaled = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_no_two_gpus_on_offer_look_alike(catalog):
    rented = {load_gpus().find(offer.gpu, offer.gpu_memory_gib).name for offer in catalog.all_offers}
    looks = {name: gpu_look(name) for name in rented}
    assert len(set(looks.values())) == len(looks)


def test_forms_of_a_model_share_its_color(catalog):
    colors: dict[str, set[str]] = {}
    for offer in catalog.all_offers:
        colors.setdefault(offer.gpu_model, set()).add(gpu_look(offer.gpu).color)
    assert {model for model, found in colors.items() if len(found) > 1} == set()


@pytest.mark.parametrize("vision", VISION)
def test_colors_are_told_apart_with_any_color_vision(vision):
    colors = sorted({gpu_look(name).color for name in load_gpus()})
    seen = {color: lab(np.array(VISION[vision]) @ linear(color)) for color in colors}
    for one, other in combinations(colors, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= TOLD_APART, (one, other)


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_colors_stand_out_from_the_background(background):
    for name in load_gpus():
        assert contrast(gpu_look(name).color, background) >= 3, name
