"""Fit and write `growth.json`: scaling with batch and pixel size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from profet_core.sizes.growth import GROWTH_NAME, GROWTH_VERSION, GrowthLaw
from profet_lab.classes.bank import class_bank
from profet_lab.coefficient_files import signed, write_coefficients
from profet_lab.measurements.tables import DataError, Measurements
from profet_lab.scalers.growth import fit_error, fit_growth, growth_rows, joined_rows, out_of_fold_growth

#: With fewer architectures or sizes there is nothing to learn from.
_FEWEST_ARCHITECTURES, _FEWEST_SIZES = 3, 3


def measured_sizes(measurements: Measurements) -> bool:
    """Whether the measurements have enough networks and sizes to learn scaling from."""
    table = measurements.workloads
    sizes = table[["pixels", "batch_size"]].drop_duplicates()
    return table["model"].nunique() >= _FEWEST_ARCHITECTURES and len(sizes) >= _FEWEST_SIZES


def growth_content(measurements: Measurements) -> dict:
    """Content of `growth.json`: a scaling model per anchor, and its leave-one-architecture-out error.

    Raises
    ------
    DataError : too few networks or sizes were measured.
    """
    if not measured_sizes(measurements):
        raise DataError(
            f"Scaling is learned from at least {_FEWEST_ARCHITECTURES} networks at {_FEWEST_SIZES} sizes or more."
        )
    bank = class_bank(measurements)
    rows = {anchor: growth_rows(measurements, bank, anchor) for anchor in measurements.instances}
    held_out = [out_of_fold_growth(part) for part in rows.values()]
    grown, shares = (np.concatenate(parts) for parts in zip(*held_out, strict=True))
    together = joined_rows(rows)
    error = fit_error(
        together.models, together.log_batch, together.log_area, np.abs(grown - together.log_growth), shares
    )
    content = {
        "schema_version": GROWTH_VERSION,
        "laws": {anchor: _law_content(fit_growth(part)) for anchor, part in rows.items()},
        "error": asdict(error),
        "fitted_on": dict(measurements.sha256),
    }
    return signed(content)


def write_growth(content: Mapping, out: Path) -> Path:
    """Write `growth.json` into a models folder; returns its path."""
    return write_coefficients(content, out / GROWTH_NAME)


def _law_content(law: GrowthLaw) -> dict:
    arrays = {
        name: _rounded(getattr(law, name)) for name in ("centre", "spread", "low", "high", "share", "batch", "area")
    }
    return {
        **arrays,
        "offsets": {name: _rounded(np.array(values)) for name, values in law.offsets.items()},
        "sharpness": float(f"{law.sharpness:.6g}"),
    }


def _rounded(values: np.ndarray) -> list[float]:
    """Six digits."""
    return [float(f"{value:.6g}") for value in values]
