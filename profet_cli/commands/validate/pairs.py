"""`profet validate --pairs`: errors by number of cells."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.files import default_models_folder

_TITLES = {"to": "To the new GPU", "from": "From the new GPU"}


def run(options: argparse.Namespace) -> None:
    """Judge, print, and with `--card` write them into the report and card of `--cells`."""
    with training_set():
        from profet_lab.reports import write_pairs_report
        from profet_lab.validation.pairs import pairs_report
    measurements, folder = open_measurements(options)
    with validation_progress() as progress:
        report = pairs_report(measurements, folder, seed=options.seed, progress=progress)
    if options.card:
        models = default_models_folder() if options.models is None else Path(options.models)
        report = write_pairs_report(report, models)
    if options.format == "json":
        print_json(report)
    else:
        print_report(report)


def print_report(report: Mapping[str, Any]) -> None:
    """One table a direction: a row a number of cells, a column a GPU."""
    gpus = list(report["rows"][0]["gpus"])
    for way, title in _TITLES.items():
        print(f"{title}, error of new networks, percent: analytical model / trained models / both\n")
        rows = [
            (str(row["cells"]), *(_cell(row["gpus"][name][way]) for name in gpus), _cell(row["mean"][way]))
            for row in report["rows"]
        ]
        print_table(("cells", *gpus, "mean"), rows)
        print()


def _cell(figures: Mapping[str, float]) -> str:
    return " / ".join(f"{figures[name]:.1f}" for name in ("law", "models", "both"))
