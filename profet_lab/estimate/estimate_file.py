"""Fit and write `estimate.json` and its trees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from profet_core.ensemble.fitted import TreeStack, written
from profet_core.files import sha256_hex
from profet_core.from_layers.costs import WORK, GpuCosts
from profet_core.from_layers.model import (
    ESTIMATE_NAME,
    ESTIMATE_VERSION,
    LIGHTGBM,
    LOG_LINEAR,
    XGBOOST,
    EstimateModel,
    Regime,
    features_of,
    load_estimate,
)
from profet_core.whole_files import write_whole
from profet_lab.estimate.fit import fit_correction, select, training_of
from profet_lab.estimate.report import Inside, Judge, default_method
from profet_lab.estimate.rows import EstimateRows, estimate_rows
from profet_lab.measurements.tables import LATENCIES_FILE, Measurements
from profet_lab.models_folder import signed, write_coefficients
from profet_lab.tasks import Progress

TREES_FOLDER = "estimate"


def fit_and_write(measurements: Measurements, out: Path, progress: Progress | None = None) -> EstimateModel:
    """Choose the method per split, calibrate, fit on all measurements, and write the file.

    out : a models folder.
    """
    rows = estimate_rows(measurements.all_latencies)
    judge, everything = Judge(rows, progress), np.arange(len(rows))
    default = default_method({regime: judge.judged(regime) for regime in Regime})
    inside = {regime: judge.inside(regime, everything) for regime in Regime}
    read = str(LATENCIES_FILE)
    return write_estimate(rows, default, inside, {read: measurements.sha256[read]}, out)


def write_estimate(
    rows: EstimateRows, default: str, inside: Mapping[Regime, Inside], sha256: Mapping[str, str], out: Path
) -> EstimateModel:
    """Fit every method on all rows, and write what serves.

    default : method. inside : inner-fold results by split.
    sha256 : file -> hash of the source. out : a models folder.
    """
    training = training_of(rows)
    names = [feature.name for feature in features_of(tuple(training.costs))]
    selected = select(training)
    methods: dict[str, dict] = {
        LOG_LINEAR: {
            "intercept": selected.intercept,
            "selected": [
                {"feature": names[column], "weight": weight, "error_after": error}
                for column, weight, error in zip(selected.columns, selected.weights, selected.errors[1:], strict=False)
            ],
        }
    }
    for method in (XGBOOST, LIGHTGBM):
        correction = fit_correction(training, method)
        if not isinstance(correction, TreeStack):
            raise TypeError(method)
        data, name = written(correction), f"{TREES_FOLDER}/{method}.npz"
        (out / TREES_FOLDER).mkdir(parents=True, exist_ok=True)
        write_whole(out / name, data)
        methods[method] = {"file": name, "sha256": sha256_hex(data), "splits": splits_by_feature(correction, names)}
    content = {
        "schema_version": ESTIMATE_VERSION,
        "instances": {name: _costs_row(one) for name, one in training.costs.items()},
        "methods": methods,
        "default": default,
        "regimes": {str(regime): dict(one.log_half_widths) for regime, one in inside.items()},
        "fitted_on": {
            "source": "PROFET measurements, github.com/ddps-lab/profet (MIT)",
            "workloads on instances": str(len(rows)),
            **sha256,
        },
    }
    write_coefficients(signed(content), out / ESTIMATE_NAME)
    return load_estimate(out)


def splits_by_feature(trees: TreeStack, names: list[str]) -> dict[str, float]:
    """Feature -> share of the trees' splits that ask for it, the most first."""
    columns = trees.features[trees.steps > 0].tolist()
    shares = {name: columns.count(column) / max(len(columns), 1) for column, name in enumerate(names)}
    return {name: share for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share}


def _costs_row(costs: GpuCosts) -> dict:
    return {
        "gpu": costs.gpu,
        "host": costs.host,
        "work_ms": dict(zip(WORK, costs.work_ms, strict=True)),
        "layer_ms": costs.layer_ms,
        "convolution_ms": costs.convolution_ms,
        "start_ms": costs.start_ms,
        "value_ms": costs.value_ms,
        "log_speed": costs.log_speed,
    }
