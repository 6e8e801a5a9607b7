"""`profet validate`: leave-one-architecture-out accuracy of methods and scalers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    "settings_default_ends_only": "default, endpoints only",
}


def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    measurements, _ = open_measurements(options)
    pairs = _wanted_pairs(options, measurements)
    with validation_progress() as progress:
        if options.sizes:
            report = _sizes_report(options, measurements, progress)
        elif options.card:
            report = _card_report(options, measurements, progress)
        elif options.scaler or _is_documented(options):
            report = _documented_report(options, measurements, pairs, progress)
        else:
            report = _default_report(options, measurements, pairs, progress)
    if options.format == "json":
        print_json(report)
    else:
        _print_report(options, report)


def _is_documented(options: argparse.Namespace) -> bool:
    return options.method == "profet" or options.no_clustering


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


def _card_report(options: argparse.Namespace, measurements: Measurements, progress: Progress) -> Report:
    with training_set():
        from profet_lab.reports import write_report
    return write_report(measurements, open_models(options), seed=options.seed, progress=progress)


def _sizes_report(options: argparse.Namespace, measurements: Measurements, progress: Progress) -> Report:
    with training_set():
        from profet_lab.classes.bank import class_bank
        from profet_lab.classes.fit_networks import STEPS
        from profet_lab.reports import write_sizes_report
        from profet_lab.validation.ensemble_latencies import ensemble_latencies
        from profet_lab.validation.growth import growth_report, predictions_of_ensemble
    # Read before the work, so that a damaged file doesn't cost minutes.
    models = open_models(options) if options.card else None
    bank = class_bank(measurements)
    ensemble = ensemble_latencies(bank, seed=options.seed, steps=STEPS, progress=progress)
    report = growth_report(measurements, bank, predictions_of_ensemble(ensemble, measurements.workloads))
    if models is not None:
        write_sizes_report(report, models)
    return report


def _documented_report(
    options: argparse.Namespace, measurements: Measurements, pairs: Sequence[Pair], progress: Progress
) -> Report:
    with training_set():
        from profet_lab.validation.documented import documented_report, documented_table
        from profet_lab.validation.scalers import scaler_report
    predictions = documented_table(
        measurements, pairs, clustered=not options.no_clustering, seed=options.seed, progress=progress
    )
    return scaler_report(measurements, predictions) if options.scaler else documented_report(predictions)


def _default_report(
    options: argparse.Namespace, measurements: Measurements, pairs: Sequence[Pair], progress: Progress
) -> Report:
    with training_set():
        from profet_lab.classes.bank import class_bank
        from profet_lab.validation.default import default_table
        from profet_lab.validation.default_report import default_report
    table = default_table(class_bank(measurements), measurements.workloads, pairs, seed=options.seed, progress=progress)
    return default_report(table)


def _print_report(options: argparse.Namespace, report: Report) -> None:
    if options.sizes:
        _print_growth(report)
    elif options.card:
        _print_default(report["default"])
        _print_documented(report["profet"])
        _print_growth(report["growth"])
        _print_scaler(report["scaler"])
    elif options.scaler:
        _print_scaler(report)
    elif _is_documented(options):
        _print_documented(report)
    else:
        _print_default(report)


def _print_default(report: Report) -> None:
    _print_rows(
        ("anchor", "target"),
        {
            "n": ("n", 0),
            "MAPE with %": ("mape_with_latency", 2),
            "without %": ("mape_without_latency", 2),
            "with, sizes %": ("mape_with_latency_and_sizes", 2),
            "R2": ("r2", 4),
            "RMSE ms": ("rmse_ms", 2),
            "covered %": ("coverage_90", 1),
            "half-width %": ("median_interval_pct", 1),
        },
        [((row["anchor"], row["target"]), row) for row in report["pairs"]],
    )
    for name in ("mean", "worst_pair", "without_twin", "family"):
        values = ", ".join(f"{key} {value:.2f}" for key, value in report[name].items())
        print(f"\n{name.replace('_', ' ')}: {values}")
    print()
    _print_rows(
        ("architecture",),
        {
            "MAPE with %": ("mape_with_latency", 1),
            "without %": ("mape_without_latency", 1),
            "covered %": ("coverage_90_with_latency", 1),
            "half-width %": ("median_interval_pct_with_latency", 1),
        },
        [((model,), row) for model, row in report["by_model"].items()],
    )
    print()


def _print_documented(report: Report) -> None:
    pooled = {("all" if name == "overall" else name, "all"): row for name, row in report["pooled"].items()}
    pairs = {(row["anchor"], row["target"]): row for row in report["pairs"]}
    _print_rows(
        ("anchor", "target"),
        {
            "n": ("n", 0),
            "MAPE with %": ("mape_with_latency", 2),
            "without %": ("mape_without_latency", 2),
            "dense %": ("dense", 2),
            "forest %": ("forest", 2),
            "line %": ("line", 2),
            "R2": ("r2", 4),
            "RMSE ms": ("rmse_ms", 2),
        },
        [(names, {**row, **row["mape_by_member"]}) for names, row in {**pairs, **pooled}.items()],
    )
    mean = report["mean"]
    print(
        f"\nmean of {len(report['pairs'])} pairs: {mean['mape_with_latency']:.2f}% with latency, "
        f"{mean['mape_without_latency']:.2f}% without\n"
    )
    _print_rows(
        ("architecture",),
        {"MAPE with %": ("mape_with_latency", 1), "without %": ("mape_without_latency", 1)},
        [((model,), row) for model, row in report["by_model"].items()],
    )


def _print_growth(report: Report) -> None:
    """One row an axis and distance; "between" has no distance."""
    _print_rows(
        ("from", "axis", "knots"),
        {
            "n": ("n", 0),
            "MAPE %": ("mape", 2),
            "proportional %": ("proportional", 1),
            "covered %": ("coverage_90", 1),
            "half-width %": ("median_interval_pct", 1),
        },
        [((known, row["axis"], str(row.get("knots") or "all")), row) for known, part in report.items() for row in part],
    )
    print()


def _print_scaler(report: Report) -> None:
    """One row an instance, one of all, and the mean."""
    rows: list[tuple[tuple[str, ...], Report]] = []
    for key, method in _SCALER_METHODS.items():
        for name, setting in report.get(key, {}).items():
            by_name = {**setting["by_instance"], "all": setting["overall"], "mean": {"mape": setting["mean_mape"]}}
            rows += [((method, *name.split("_"), instance), row) for instance, row in by_name.items()]
    columns = {"n": ("n", 0), "MAPE %": ("mape", 2), "R2": ("r2", 4), "RMSE ms": ("rmse_ms", 2)}
    _print_rows(("method", "axis", "ends", "instance"), columns, rows)


def _print_rows(
    names: Sequence[str], columns: Mapping[str, tuple[str, int]], rows: Iterable[tuple[tuple[str, ...], Report]]
) -> None:
    """A table: names, then figures; header of a column -> name of its figure and its decimals."""
    print_table(
        (*names, *columns),
        [
            (*row_names, *(f"{row[name]:.{digits}f}" if name in row else "" for name, digits in columns.values()))
            for row_names, row in rows
        ],
    )
