"""`profet validate --scaleout`: prints how well steps on several GPUs are predicted."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from profet_cli.lab import training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.files import models_folder
from profet_core.scaleout.model import load_scaleout

Section = Mapping[str, Any]

_TITLES = {"networks": "network", "gpus": "GPU model"}


def run(options: argparse.Namespace) -> None:
    """Judge, print, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.measurements.tables import data_folder
        from profet_lab.reports import write_scaleout_report
        from profet_lab.validation.scaleout import scaleout_report
    folder = models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    model = load_scaleout(folder) if options.card else None
    with validation_progress() as progress:
        report = scaleout_report(data_folder(options.data), progress)
    if model is not None:
        report = write_scaleout_report(report, model, folder)
    if options.format == "json":
        print_json(report)
    else:
        print_report(report)


def print_report(report: Section) -> None:
    """Each data set: summary, folds, and excluded rows; then 64 GPUs."""
    for name, found in report["data_sets"].items():
        print(f"{name}: {found['n']} steps on several GPUs, given one GPU's measured step\n")
        header = (
            "held out",
            "n",
            "MAPE %",
            "perfect %",
            "n under 90%",
            "MAPE %",
            "perfect %",
            "covered %",
            "half-width %",
        )
        print_table(header, [_summary(each, found[each]) for each in _TITLES])
        for each, title in _TITLES.items():
            print()
            print_table((title, "n", "MAPE %", "bias %", "perfect %"), _rows(found[each]["by_fold"]))
        print()
        print_table(("strategy", "n", "MAPE %", "bias %", "perfect %"), _rows(found["networks"]["by_strategy"]))
        every = found["with_excluded"]
        print(
            f"\nexcluded (with those that have a one-GPU step, networks held out: {every['mape']:.1f}% over "
            f"{every['n']} steps, perfect {every['perfect_mape']:.1f}%):"
        )
        for reason, count in found["excluded"].items():
            print(f"  {count:4d}  {reason}")
        print()
    on_64 = report["on_64"]
    print(
        f"64 K80 over a network, network held out: {on_64['mape']:.1f}% (perfect scaling "
        f"{on_64['perfect_mape']:.1f}%): "
        + "; ".join(f"{name} {value:+.1f}%" for name, value in report["network_64"].items())
    )


def _summary(each: str, found: Section) -> tuple[str, ...]:
    every, hard = found["every"], found["hard"]
    return (
        _TITLES[each],
        str(every["n"]),
        *(f"{every[key]:.1f}" for key in ("mape", "perfect_mape")),
        str(hard["n"]),
        *(f"{hard[key]:.1f}" for key in ("mape", "perfect_mape")),
        f"{found['covered_90']:.1f}",
        f"{found['median_interval_pct']:.1f}",
    )


def _rows(table: Section) -> list[tuple[str, ...]]:
    return [
        (name, str(row["n"]), *(f"{row[key]:.1f}" for key in ("mape", "bias", "perfect_mape")))
        for name, row in table.items()
    ]
