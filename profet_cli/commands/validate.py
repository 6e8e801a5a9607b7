"""`profet validate`: accuracy on architectures, GPUs and profiles that the models have not seen."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from profet_cli.arguments import add_anchors, add_dask, add_data, add_format, add_models
from profet_cli.lab import on_dask, open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_markdown, print_table
from profet_core.errors import InputError
from profet_core.files import models_folder

if TYPE_CHECKING:
    from profet_lab.measurements.tables import Measurements

#: An anchor and a target.
Pair = tuple[str, str]
#: A part of a report, as `profet_lab` makes it and `--format json` prints it.
Report = dict[str, Any]
#: Is called with the number of steps done since.
Progress = Callable[[int], object]

#: Key of a scaler report -> the method it is of.
_SCALER_METHODS = {
    "settings": "profet",
    "settings_default": "default",
}


def _methods(options: argparse.Namespace) -> None:
    """Validate and print."""
    measurements, _ = open_measurements(options)
    pairs = _wanted_pairs(options, measurements)
    with validation_progress() as progress:
        report = _report(options, measurements, pairs, progress)
    if options.format == "json":
        print_json(report)
        return
    if options.scaler:
        _print_scaler(report)
    else:
        _print_method(report)


def _wanted_pairs(options: argparse.Namespace, measurements: Measurements) -> list[Pair]:
    """The pairs that `--anchor` and `--target` leave."""
    with training_set():
        from profet_lab.measurements.tables import check_instances, pairs
    check_instances(measurements, [*(options.anchor or ()), *(options.target or ())])
    wanted = [
        (anchor, target)
        for anchor, target in pairs(measurements.instances)
        if (not options.anchor or anchor in options.anchor) and (not options.target or target in options.target)
    ]
    if not wanted:
        raise InputError("No pair remains: name different anchor and target.")
    return wanted


def _report(
    options: argparse.Namespace, measurements: Measurements, pairs: Sequence[Pair], progress: Progress
) -> Report:
    """All of `--card`, the documented method, a scaler or the default method."""
    with training_set():
        from profet_lab.class_folds import default_report, default_table
        from profet_lab.documented import documented_report, documented_table, scaler_report
        from profet_lab.measurements.tables import class_bank
    how: dict[str, Any] = {"seed": options.seed, "progress": progress}
    if options.scaler or options.method == "profet":
        predictions = documented_table(measurements, pairs, **how)
        return scaler_report(measurements, predictions) if options.scaler else documented_report(predictions)
    return default_report(default_table(class_bank(measurements), pairs, **how))


def _print_method(report: Report) -> None:
    """Pairs, means and architectures; of the documented method also errors by member and over all rows."""
    pairs = {(row["anchor"], row["target"]): row for row in report["pairs"]}
    pooled = {(name, "all"): row for name, row in report.get("pooled", {}).items()}
    rows = {**pairs, **pooled}.items()
    _print_rows(("anchor", "target"), [(names, {**row, **row.get("mape_by_member", {})}) for names, row in rows])
    for name in ("mean", "worst_pair", "without_twin", "family"):
        if name in report:
            values = ", ".join(f"{key} {value:.2f}" for key, value in report[name].items())
            print(f"\n{name.replace('_', ' ')}: {values}")
    print()
    _print_rows(("architecture",), [((model,), row) for model, row in report["by_model"].items()])
    print()


def _print_scaler(report: Report) -> None:
    """One row an instance, one of all, and the mean."""
    rows: list[tuple[tuple[str, ...], Report]] = []
    for key, method in _SCALER_METHODS.items():
        for name, setting in report.get(key, {}).items():
            by_name = {**setting["by_instance"], "all": setting["overall"], "mean": {"mape": setting["mean_mape"]}}
            rows += [((method, *name.split("_"), instance), row) for instance, row in by_name.items()]
    _print_rows(("method", "axis", "ends", "instance"), rows)


#: Header of a column -> its figure and decimals.
_COLUMNS = {
    "n": ("n", 0),
    "MAPE %": ("mape", 2),
    "MAPE with %": ("mape_with_latency", 2),
    "without %": ("mape_without_latency", 2),
    "with, sizes %": ("mape_with_latency_and_sizes", 2),
    "dense %": ("dense", 2),
    "forest %": ("forest", 2),
    "line %": ("line", 2),
    "R2": ("r2", 4),
    "RMSE ms": ("rmse_ms", 2),
    "covered %": ("coverage_90", 1),
    "half-width %": ("median_interval_pct", 1),
}


def _print_rows(names: Sequence[str], rows: Sequence[tuple[tuple[str, ...], Report]]) -> None:
    """A table: names, then the figures that the first row has."""
    columns = {header: one for header, one in _COLUMNS.items() if rows and rows[0][1].get(one[0]) is not None}
    print_table(
        (*names, *columns),
        [
            (
                *row_names,
                *("" if row.get(name) is None else f"{row[name]:.{digits}f}" for name, digits in columns.values()),
            )
            for row_names, row in rows
        ],
    )


def _part(options: argparse.Namespace, name: str) -> None:
    """Judge and print the card, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.reports import PARTS, Task
    part, models = PARTS[name], models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    part.checksums(models)
    with validation_progress() as progress:
        task = Task(lambda: open_measurements(options), models, options.seed, progress, options.real or "")
        report = part.dated(part.make(task), models)
    if options.card:
        report = part.write(report, models)
    if options.format == "json":
        print_json(report)
    else:
        print_markdown(part.text(report, models))


#: Option -> help: what is validated instead of the shipped models, one at a time, on all instances at once.
PARTS = {
    "gpus": "unprofiled GPUs, AMP and memory: held-out GPUs, published speeds, MLPerf, order of GPUs",
    "cells": "error by number of cells of a new GPU: each profiled GPU in turn, networks held out",
    "estimate": "networks without a profile: the paper's tests and ours",
    "manycore": "many-core models against published predictions",
    "scaleout": "several GPUs: leave-one-network-out and leave-one-GPU-out",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, and what is validated on them."""
    add_format(parser)
    add_data(parser)
    add_anchors(parser)
    parser.add_argument("--target", action="append", metavar="INSTANCE", help="only pairs with this target")
    parser.add_argument(
        "--method", choices=["default", "profet"], default="default", help="default or profet (the documented method)"
    )
    parser.add_argument(
        "--card", action="store_true", help="run all validations; writes validation.json and MODEL_CARD.md"
    )
    add_models(parser)
    parser.add_argument(
        "--scaler", action="store_true", help="the scaler: batch and pixels, with true and predicted endpoints"
    )
    for part, said in PARTS.items():
        parser.add_argument(f"--{part}", action="store_true", help=f"{said}; --card writes the report and card")
    parser.add_argument(
        "--real",
        metavar="DIR",
        help="third-party profiles listed in DIR/index.json, against measurements; --card writes the report and "
        "updates the card",
    )
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    if len(options.data or ()) > 1:
        raise InputError("Validation takes one folder of measurements: give --data once.")
    options.data = options.data[0] if options.data else None
    given = [part for part in sorted([*PARTS, "real"]) if getattr(options, part)]
    if given:
        part, *others = given
        _check_alone(options, part, others)
        _part(options, part)
    elif options.card:
        _part(options, "models")
    else:
        _methods(options)


def _check_alone(options: argparse.Namespace, part: str, also: Sequence[str]) -> None:
    """Refuse other parts, and what chooses pairs, beside a part that is validated as a whole."""
    others = {
        "--anchor": options.anchor,
        "--target": options.target,
        "--method": options.method != "default",
        "--scaler": options.scaler,
    }
    named = [name for name, given in others.items() if given] + [f"--{name}" for name in also]
    if named:
        raise InputError(f"--{part} validates all of one thing: remove {', '.join(named)}.")
