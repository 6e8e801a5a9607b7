"""`profet validate`: accuracy on architectures the models have not seen."""

from __future__ import annotations

import argparse

from profet_cli.lab import import_lab
from profet_cli.output import print_json, print_table


def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    data, validate = import_lab("data"), import_lab("validate")
    from tqdm import tqdm  # part of the training set: only once import_lab has found that

    measurements = data.load_measurements(data.data_folder(options.data))
    data.check_instances(measurements, [*(options.anchor or ()), *(options.target or ())])
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        predictions = validate.predict_left_out(
            measurements,
            anchors=options.anchor,
            targets=options.target,
            clustered=not options.no_clustering,
            seed=options.seed,
            progress=bar.update,
        )
    if options.scaler:
        report = validate.scaler_report(measurements, predictions)
        print_json(report) if options.format == "json" else _print_scaler(report)
    else:
        report = validate.anchor_report(predictions)
        print_json(report) if options.format == "json" else _print_anchor(report)


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
    rows = []
    for name, setting in report["settings"].items():
        axis, ends = name.split("_")
        for instance, row in [*setting["by_instance"].items(), ("all", setting["overall"])]:
            rows.append(
                (axis, ends, instance, str(row["n"]), f"{row['mape']:.2f}", f"{row['r2']:.4f}", f"{row['rmse_ms']:.2f}")
            )
        rows.append((axis, ends, "mean", "", f"{setting['mean_mape']:.2f}", "", ""))
    print_table(("axis", "ends", "instance", "n", "MAPE %", "R2", "RMSE ms"), rows)
