"""`profet validate --precision`: prints how well AMP and TF32 are predicted from FP32."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.files import models_folder
from profet_core.precision.model import load_precision

_HEADER = ("n", "bias %", "MAPE %", "median %", "worst %")
_WITH_INTERVAL = (*_HEADER, "covered %", "half-width %", "interval score")


def run(options: argparse.Namespace) -> None:
    """Judge, print, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.precision.pairs import load_pairs
        from profet_lab.precision.shares import network_shares
        from profet_lab.reports import write_precision_report
        from profet_lab.validation.precision import precision_report
    folder = models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    model = load_precision(folder) if options.card else None
    measurements, data = open_measurements(options)
    with validation_progress() as progress:
        report = precision_report(load_pairs(data, network_shares(measurements)), progress)
    if model is not None:
        report = write_precision_report(report, model, folder)
    if options.format == "json":
        print_json(report)
    else:
        print_report(report)


def print_report(report: Mapping[str, Any]) -> None:
    """What was held out in turn, then what answers assume, TF32, and GPUs without tensor cores."""
    print(f"AMP over FP32 or TF32, {report['pairs']} pairs ({report['failed_pairs']} failed runs left out)\n")
    held_out = {"network": report["networks"], "GPU": report["gpus"], "TF32 over FP32": report["tf32"]}
    print_table(("held out", *_WITH_INTERVAL), [(name, *_judged(row)) for name, row in held_out.items()])
    print()
    print_table(("network", *_WITH_INTERVAL), _rows(report["networks"]["by_network"]))
    print()
    print_table(("GPU, networks held out", *_WITH_INTERVAL), _rows(report["networks"]["by_gpu"]))
    print()
    print_table(("GPU held out", *_WITH_INTERVAL), _rows(report["gpus"]["by_gpu"]))
    print()
    today = {"all": report["today"], **report["today"]["by_table"], "without tensor cores": report["plain"]}
    print_table(("as answers assume", *_HEADER), [(name, *_errors(row)) for name, row in today.items()])


def _rows(table: Mapping[str, Mapping[str, float]]) -> list[tuple[str, ...]]:
    return [(name, *_judged(row)) for name, row in table.items()]


def _errors(row: Mapping[str, float]) -> tuple[str, ...]:
    return str(row["cells"]), *(f"{row[name]:.1f}" for name in ("bias", "mape", "median", "worst"))


def _judged(row: Mapping[str, float]) -> tuple[str, ...]:
    widths = (f"{row[name]:.1f}" for name in ("coverage", "half_width_percent"))
    return *_errors(row), *widths, f"{row['interval_score']:.2f}"
