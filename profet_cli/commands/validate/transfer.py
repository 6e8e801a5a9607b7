"""`profet validate --transfer`: prints how well GPUs are reached that nobody profiled."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from profet_cli.lab import import_lab
from profet_cli.output import print_json, print_table
from profet_core.files import default_models_folder
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer


def run(options: argparse.Namespace) -> None:
    """Make every section, print it, and with `--card` write report and card beside the models."""
    data, validate = import_lab("measurements.tables"), import_lab("validation.transfer")
    from tqdm import tqdm  # part of the training set: only once import_lab has found that

    folder = data.data_folder(options.data)
    models = default_models_folder() if options.models is None else Path(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    written_for = (load_transfer(models), load_memory(models)) if options.card else None
    measurements = data.load_measurements(folder)
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        report = validate.transfer_report(
            validate.TransferData(measurements, folder, seed=options.seed, progress=bar.update)
        )
    if written_for:
        report = import_lab("reports").write_transfer_report(report, *written_for, models)
    if options.format == "json":
        print_json(report)
        return
    for name, show in PRINTERS.items():
        if name in report:
            show(report[name])


def print_left_out_gpus(report: Mapping) -> None:
    """One row a direction, then each GPU's mean and misses."""
    print("One GPU left out; of it the data sheet and ResNet-50's latency at 224 pixels, batch 32, are known.\n")
    columns = (
        ("mape_with_latency", "MAPE with %"),
        ("mape_without_latency", "without %"),
        ("mape_without_resnet50_with_latency", "no ResNet50 %"),
        ("bias_with_latency", "bias %"),
        ("missed_90_with_latency", "missed %"),
        ("median_interval_pct_with_latency", "half %"),
        ("sheet_only_mape_with_latency", "sheet only %"),
        ("sheet_only_missed_90_with_latency", "missed %"),
        ("one_constant", "one constant %"),
    )
    keys, titles = [key for key, _ in columns], [title for _, title in columns]
    rows = [(row["anchor"], row["target"], str(row["n"]), *_cells(row, keys)) for row in report["directions"]]
    rows.append(("mean", "", "", *_cells(report["mean"], keys)))
    rows.append(("worst", "", "", *_cells(report["worst"], keys)))
    rows += [("all", name, "", *_cells(row, keys)) for name, row in report["by_gpu"].items()]
    print_table(("anchor", "left out", "n", *titles), rows)
    print()
    print_table(
        ("architecture", "MAPE with %"), [(model, f"{value:.1f}") for model, value in report["by_model"].items()]
    )
    print("\nA10G and P100 left out, judged by the other source's corrected steps.\n")
    other = [(row["anchor"], row["target"], str(row["n"]), *_cells(row, keys)) for row in report["other_gpus"]]
    print_table(("anchor", "left out", "n", *titles), other)
    print("\nThe same by the published benchmark instead, the way L40S, A100, H100 and H200 are reached.\n")
    published = (
        "published_mape_with_latency",
        "published_missed_90_with_latency",
        "published_median_interval_pct_with_latency",
    )
    print_table(
        ("anchor", "left out", "n", "MAPE with %", "missed %", "half %"),
        [
            (row["anchor"], row["target"], str(row["n"]), *_cells(row, published))
            for row in report["other_gpus"]
            if published[0] in row
        ],
    )


def print_derived(report: Mapping) -> None:
    """The routes between the GPUs both sources have, then each derived GPU."""
    print("\nThrough the other source's ratios, against PROFET's own measurement; networks left out.\n")
    routes = [(name, row) for name, row in report["routes"].items() if name != "by_model"]
    print_table(
        ("steps", "n", "T4 -> V100 %", "V100 -> T4 %", "median ratio"),
        [
            (
                name.replace("_", " "),
                str(row["n"]),
                f"{row['T4 -> V100']:.1f}",
                f"{row['V100 -> T4']:.1f}",
                f"{row['median_ratio_t4_to_v100']:.3f}",
            )
            for name, row in routes
        ],
    )
    print("\nDerived GPUs, each network left out; truth is the corrected step.\n")
    keys = ("mape_with_latency", "mape_without_latency", "missed_90_with_latency", "median_interval_pct_with_latency")
    claims = ("claims_pct_with_latency", "claims_right_pct_with_latency")
    rows = []
    for gpu, found in report["gpus"].items():
        rows.append((gpu, "T4 and V100 known", str(found["n"]), f"{found['law']:.1f}", "", "", "", "", ""))
        rows += [(gpu, row["anchor"], str(row["n"]), *_cells(row, (*keys, *claims))) for row in found["served"]]
    print_table(
        ("GPU", "anchor", "n", "MAPE with %", "without %", "missed %", "half %", "claims %", "right %"),
        rows,
    )
    print("\nclaims: g5.xlarge dearer or cheaper a step than g4dn.xlarge, made where the interval excludes break-even")


def print_memory(report: Mapping) -> None:
    """One row for what is known of the network."""
    print("Does it fit, one architecture left out: of workloads x GPUs (8, 12, 16 and 16 GiB), which ran.\n")
    print_table(*import_lab("validation.memory").memory_rows(report))


#: Section of the report -> how it is printed, in this order.
PRINTERS: dict[str, Callable[[Mapping], None]] = {
    "left_out_gpus": print_left_out_gpus,
    "derived": print_derived,
    "memory": print_memory,
}


def _cells(row: Mapping, keys) -> tuple[str, ...]:
    return tuple("" if row.get(key) is None else f"{row[key]:.1f}" for key in keys)
