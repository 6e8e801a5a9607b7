"""`profet validate --cells`: prints the error on a new GPU against how many of its cells were measured."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.files import default_models_folder

#: Title -> figures of it, each a column a GPU.
_TABLES = {
    "Error of new networks, percent: mean and worst of the draws": ("mape", "worst_draw"),
    "90% intervals, percent: missed, and half-width": ("missed_90", "median_interval_pct"),
    "As anchor, analytical model only, percent: mean and worst of the draws": (
        "as_anchor_mape",
        "as_anchor_worst_draw",
    ),
}


def run(options: argparse.Namespace) -> None:
    """Judge, print, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.reports import write_cells_report
        from profet_lab.validation.cells import measured_cells_report
    measurements, folder = open_measurements(options)
    with validation_progress() as progress:
        report = measured_cells_report(measurements, folder, seed=options.seed, progress=progress)
    if options.card:
        models = default_models_folder() if options.models is None else Path(options.models)
        report = write_cells_report(report, models)
    if options.format == "json":
        print_json(report)
    else:
        print_report(report)


def print_report(report: Mapping[str, Any]) -> None:
    """One table a kind of figure: a row a number of cells, a column a GPU."""
    gpus = list(report["rows"][0]["gpus"])
    for title, (first, second) in _TABLES.items():
        print(f"{title}\n")
        rows = [
            (str(row["cells"]), *(f"{row['gpus'][name][first]:.1f} / {row['gpus'][name][second]:.1f}" for name in gpus))
            for row in report["rows"]
        ]
        print_table(("cells", *gpus), rows)
        print()
