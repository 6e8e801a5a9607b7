"""`profet validate`: accuracy on architectures the models have not seen."""

from __future__ import annotations

import argparse

from profet_cli.commands.validate import real as validate_real
from profet_cli.commands.validate import transfer as validate_transfer
from profet_cli.inputs import open_models
from profet_cli.lab import import_lab
from profet_cli.output import print_json, print_table
from profet_core.errors import InputError


def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    if options.real is not None:
        _check_alone(options, "--real compares whole profiles with what was measured")
        validate_real.run(options)
        return
    if options.transfer:
        _check_alone(options, "--transfer validates on all instances at once")
        validate_transfer.run(options)
        return
    data, validate = import_lab("measurements.tables"), import_lab("validation.documented")
    from tqdm import tqdm  # part of the training set: only once import_lab has found that

    measurements = data.load_measurements(data.data_folder(options.data))
    data.check_instances(measurements, [*(options.anchor or ()), *(options.target or ())])
    wanted = [
        (anchor, target)
        for anchor, target in data.pairs(measurements.instances)
        if (not options.anchor or anchor in options.anchor) and (not options.target or target in options.target)
    ]
    if not wanted:
        raise InputError("No pair is left: name an anchor and a target that differ.")
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        if options.card:
            report = import_lab("reports").write_report(
                measurements, open_models(options), seed=options.seed, progress=bar.update
            )
        elif options.method == "profet" or options.no_clustering or options.scaler:
            predictions = validate.documented_table(
                measurements, wanted, clustered=not options.no_clustering, seed=options.seed, progress=bar.update
            )
            if options.scaler:
                report = import_lab("validation.scalers").scaler_report(measurements, predictions)
            else:
                report = validate.documented_report(predictions)
        else:
            default, bank = import_lab("validation.default"), import_lab("classes.bank").class_bank(measurements)
            report = import_lab("validation.default_report").default_report(
                default.default_table(bank, measurements.workloads, wanted, seed=options.seed, progress=bar.update)
            )
    _print(options, report)


def _check_alone(options: argparse.Namespace, what: str) -> None:
    others = {
        "--anchor": options.anchor,
        "--target": options.target,
        "--method": options.method != "default",
        "--no-clustering": options.no_clustering,
        "--scaler": options.scaler,
        "--transfer": options.transfer and options.real is not None,
    }
    named = [name for name, given in others.items() if given]
    if named:
        raise InputError(f"{what}: leave {', '.join(named)} out.")


def _print(options: argparse.Namespace, report: dict) -> None:
    if options.format == "json":
        print_json(report)
    elif options.card:
        _print_default(report["default"])
        _print_anchor(report["profet"])
        _print_scaler(report["scaler"])
    elif options.scaler:
        _print_scaler(report)
    elif options.method == "profet" or options.no_clustering:
        _print_anchor(report)
    else:
        _print_default(report)


def _print_default(report: dict) -> None:
    print_table(
        ("anchor", "target", "n", "MAPE with %", "without %", "with, sizes %", "R2", "RMSE ms", "covered %", "half %"),
        [
            (
                row["anchor"],
                row["target"],
                str(row["n"]),
                *(
                    f"{row[f'mape_{case}']:.2f}"
                    for case in ("with_latency", "without_latency", "with_latency_and_sizes")
                ),
                f"{row['r2']:.4f}",
                f"{row['rmse_ms']:.2f}",
                f"{row['coverage_90']:.1f}",
                f"{row['median_interval_pct']:.1f}",
            )
            for row in report["pairs"]
        ],
    )
    for name in ("mean", "worst_pair", "without_twin", "family"):
        values = ", ".join(f"{key} {value:.2f}" for key, value in report[name].items())
        print(f"\n{name.replace('_', ' ')}: {values}")
    print()
    print_table(
        ("architecture", "MAPE with %", "without %", "covered %", "half %"),
        [
            (
                model,
                f"{row['mape_with_latency']:.1f}",
                f"{row['mape_without_latency']:.1f}",
                f"{row['coverage_90_with_latency']:.1f}",
                f"{row['median_interval_pct_with_latency']:.1f}",
            )
            for model, row in report["by_model"].items()
        ],
    )
    print()


def _print_anchor(report: dict) -> None:
    pooled = [
        {"anchor": "all" if name == "overall" else name, "target": "all", **row}
        for name, row in report["pooled"].items()
    ]
    print_table(
        ("anchor", "target", "n", "MAPE with %", "without %", "dense %", "forest %", "line %", "R2", "RMSE ms"),
        [_anchor_row(row) for row in [*report["pairs"], *pooled]],
    )
    mean = report["mean"]
    print(
        f"\nmean of {len(report['pairs'])} pairs: {mean['mape_with_latency']:.2f} % with latency, "
        f"{mean['mape_without_latency']:.2f} % without\n"
    )
    print_table(
        ("architecture", "MAPE with %", "without %"),
        [
            (model, f"{row['mape_with_latency']:.1f}", f"{row['mape_without_latency']:.1f}")
            for model, row in report["by_model"].items()
        ],
    )


def _anchor_row(row: dict) -> tuple[str, ...]:
    members = row["mape_by_member"]
    return (
        row["anchor"],
        row["target"],
        str(row["n"]),
        f"{row['mape_with_latency']:.2f}",
        f"{row['mape_without_latency']:.2f}",
        *(f"{members[name]:.2f}" for name in ("dense", "forest", "line")),
        f"{row['r2']:.4f}",
        f"{row['rmse_ms']:.2f}",
    )


def _print_scaler(report: dict) -> None:
    titles = {"settings": "profet", "settings_default": "default", "settings_default_ends_only": "default, ends only"}
    rows = []
    for key, method in titles.items():
        for name, setting in report.get(key, {}).items():
            axis, ends = name.split("_")
            for instance, row in [*setting["by_instance"].items(), ("all", setting["overall"])]:
                figures = (f"{row['mape']:.2f}", f"{row['r2']:.4f}", f"{row['rmse_ms']:.2f}")
                rows.append((method, axis, ends, instance, str(row["n"]), *figures))
            rows.append((method, axis, ends, "mean", "", f"{setting['mean_mape']:.2f}", "", ""))
    print_table(("method", "axis", "ends", "instance", "n", "MAPE %", "R2", "RMSE ms"), rows)
