"""Fit and write `memory.json`: everything that answers "does it fit?"."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from profet_core.catalog import load_shipped
from profet_core.files import sha256_hex
from profet_core.memory.model import MEMORY_VERSION, MemoryModel
from profet_lab.coefficient_files import signed
from profet_lab.measurements.tables import Measurements, load_architectures
from profet_lab.memory.law import calibrate_law, fit_law, memory_cells, ran_elsewhere
from profet_lab.memory.recorded import PEAKS_FILE, fit_peak, step_peaks
from profet_lab.memory.traffic import fit_images, fit_traffic, traffic_table

#: A step "fits" from this probability on, and does not fit below what is missing to 1. Chosen beforehand.
CERTAIN = 0.9


def fit_memory(
    cells: pd.DataFrame, traffic: pd.DataFrame, peaks: pd.DataFrame, fitted_on: dict[str, str]
) -> MemoryModel:
    """All coefficients from the cells of `memory_cells`, the profiles of `traffic_table` and the `step_peaks`."""
    law = calibrate_law(fit_law(cells), cells)
    failures, pairs = ran_elsewhere(cells)
    return MemoryModel(
        law=law,
        traffic=fit_traffic(traffic, law),
        images=fit_images(traffic, law),
        certain=CERTAIN,
        ran_probability=1 - (failures + 1) / (pairs + 2),
        fitted_on=fitted_on,
        peak=fit_peak(cells, peaks),
    )


def memory_tables(measurements: Measurements, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What `fit_memory` is fitted on: cells and profiles. `folder` holds `architectures.csv`."""
    architectures, catalog = load_architectures(folder), load_shipped()
    cells = memory_cells(measurements.all_latencies, architectures, catalog)
    return cells, traffic_table(measurements, architectures, catalog)


def memory_content(measurements: Measurements, folder: Path) -> dict:
    """What `memory.json` holds, fitted on all measurements; `folder` holds them and `architectures.csv`."""
    cells, traffic = memory_tables(measurements, folder)
    fitted_on = {
        "source": "PROFET measurements, github.com/ddps-lab/profet (MIT)",
        "cells": str(len(cells)),
        "did not run": str(int((~cells["ran"]).sum())),
        **measurements.sha256,
        PEAKS_FILE.name: sha256_hex(PEAKS_FILE.read_bytes()),
    }
    model = fit_memory(cells, traffic, step_peaks(), fitted_on)
    content = {"schema_version": MEMORY_VERSION, **_rounded(asdict(model))}
    content.pop("checksum")
    return signed(content)


def _rounded(value):
    """Six digits: the same file from the same data on any machine."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value
