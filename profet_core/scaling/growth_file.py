"""Load `growth.json`: scaling with batch and pixel size, with its own checksum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.scaling.growth import CarryError, GrowthLaw

GROWTH_NAME = "growth.json"
GROWTH_VERSION = 1


@dataclass(frozen=True)
class GrowthModel:
    """Models that scale a step to other sizes.

    Attributes
    ----------
    laws : anchor -> scaling model for its profiles.
    error : of a step scaled from one profile.
    checksum : of the file's content.
    """

    laws: Mapping[str, GrowthLaw]
    error: CarryError
    fitted_on: Mapping[str, str]
    checksum: str


def load_growth(folder: Path | str | None = None) -> GrowthModel:
    """Load `growth.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    return load_coefficients(models_folder(folder) / GROWTH_NAME, GROWTH_VERSION, growth_model)


def growth_model(content: JsonObject) -> GrowthModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    return GrowthModel(
        laws=MappingProxyType({name: _law(row) for name, row in content["laws"].items()}),
        error=CarryError(*(_four(content["error"][name]) for name in ("of_size", "of_still"))),
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )


def _law(row: JsonObject) -> GrowthLaw:
    arrays = {
        name: np.array([finite_number(value) for value in row[name]])
        for name in ("centre", "spread", "low", "high", "share", "batch", "area")
    }
    offsets = {name: _three(values) for name, values in row["offsets"].items()}
    return GrowthLaw(**arrays, offsets=MappingProxyType(offsets), sharpness=finite_number(row["sharpness"]))


def _three(values: Iterable[object]) -> tuple[float, float, float]:
    first, second, third = (finite_number(value) for value in values)
    return first, second, third


def _four(values: Iterable[object]) -> tuple[float, float, float, float]:
    first, second, third, fourth = (finite_number(value) for value in values)
    return first, second, third, fourth
