"""`profet validate`: leave-one-architecture-out accuracy of methods and scalers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from profet_cli.inputs import open_models
from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.errors import InputError

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


def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    measurements, _ = open_measurements(options)
    pairs = _wanted_pairs(options, measurements)
    with validation_progress() as progress:
        report = _report(options, measurements, pairs, progress)
    if options.format == "json":
        print_json(report)
        return
    for method in ("default", "profet") if options.card else ():
        _print_method(report[method])
    if options.card:
        _print_growth(report["growth"])
    if options.card or options.scaler:
        _print_scaler(report["scaler"] if options.card else report)
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
        from profet_lab.classes.bank import class_bank
        from profet_lab.reports import write_report
        from profet_lab.validation.default import default_table
        from profet_lab.validation.default_report import default_report
        from profet_lab.validation.documented import documented_report, documented_table
        from profet_lab.validation.scalers import scaler_report
    how: dict[str, Any] = {"seed": options.seed, "progress": progress}
    if options.card:
        return write_report(measurements, open_models(options), **how)
    if options.scaler or options.method == "profet":
        predictions = documented_table(measurements, pairs, **how)
        return scaler_report(measurements, predictions) if options.scaler else documented_report(predictions)
    return default_report(default_table(class_bank(measurements), measurements.workloads, pairs, **how))


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


def _print_growth(report: Report) -> None:
    """One row an axis and distance; "between" has no distance."""
    rows = [
        ((known, row["axis"], str(row.get("knots") or "all")), row) for known, part in report.items() for row in part
    ]
    _print_rows(("from", "axis", "knots"), rows)
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
    "proportional %": ("proportional", 1),
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
    columns = {header: one for header, one in _COLUMNS.items() if rows[0][1].get(one[0]) is not None}
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
