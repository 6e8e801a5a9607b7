"""`profet validate --transfer`: accuracy on unprofiled GPUs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from profet_cli.commands.validate.memory import print_memory
from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.files import models_folder
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer

#: A part of the report, as `profet_lab` makes it and `--format json` prints it.
Section = dict[str, Any]

_LEFT_OUT_COLUMNS = {
    "mape_with_latency": "MAPE with %",
    "mape_without_latency": "without %",
    "mape_without_resnet50_with_latency": "no ResNet50 %",
    "bias_with_latency": "bias %",
    "missed_90_with_latency": "missed %",
    "median_interval_pct_with_latency": "half-width %",
    "sheet_only_mape_with_latency": "specs only %",
    "sheet_only_missed_90_with_latency": "missed %",
    "one_constant": "one constant %",
}
_PUBLISHED_COLUMNS = {
    "published_mape_with_latency": "MAPE with %",
    "published_missed_90_with_latency": "missed %",
    "published_median_interval_pct_with_latency": "half-width %",
}
_ANCHOR_COLUMNS = {
    "mape_with_latency": "MAPE with %",
    "mape_without_latency": "without %",
    "mape_law_alone_with_latency": "model only %",
    "bias_with_latency": "bias %",
    "missed_90_with_latency": "missed %",
    "median_interval_pct_with_latency": "half-width %",
}
_TABLE_COLUMNS = {
    "mape": "MAPE %",
    "bias": "bias %",
    "worst": "worst %",
    "missed_90": "missed %",
    "median_interval_pct": "half-width %",
}
_SELF_CHECK_COLUMNS = {
    "own_point": "own point %",
    "point_sd": "its noise %",
    "falls_batch": "falls by batch %",
    "falls_pixels": "by pixels %",
    "below_unsaid": "below %",
}
_DERIVED_COLUMNS = {
    "mape_with_latency": "MAPE with %",
    "mape_without_latency": "without %",
    "missed_90_with_latency": "missed %",
    "median_interval_pct_with_latency": "half-width %",
    "claims_pct_with_latency": "claims %",
    "claims_right_pct_with_latency": "right %",
}


def run(options: argparse.Namespace) -> None:
    """Make every section, print it, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.reports import write_transfer_report
        from profet_lab.validation.transfer import TransferData, transfer_report
    folder = models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    written_for = (load_transfer(folder), load_memory(folder)) if options.card else None
    measurements, data_folder = open_measurements(options)
    with validation_progress() as progress:
        report = transfer_report(TransferData(measurements, data_folder, seed=options.seed, progress=progress))
    if written_for:
        report = write_transfer_report(report, *written_for, folder)
    if options.format == "json":
        print_json(report)
        return
    for name, print_section in PRINTERS.items():
        if name in report:
            print_section(report[name])


def print_left_out_gpus(report: Section) -> None:
    """One row a direction, then each GPU's mean and misses, then the GPUs of the other source."""
    print("Leave-one-GPU-out: the GPU's specs and ResNet-50's latency at 224 pixels, batch 64, are known.\n")
    _print_directions(report)
    print()
    print_table(
        ("architecture", "MAPE with %"), [(model, f"{value:.1f}") for model, value in report["by_model"].items()]
    )
    print("\nA10G and P100 held out, judged by the third-party corrected steps.\n")
    _print_other_gpus(report["other_gpus"], _LEFT_OUT_COLUMNS)
    print("\nThe same from the published benchmark, as for most unprofiled GPUs.\n")
    published = [row for row in report["other_gpus"] if "published_mape_with_latency" in row]
    _print_other_gpus(published, _PUBLISHED_COLUMNS)


def _print_directions(report: Section) -> None:
    columns = _LEFT_OUT_COLUMNS
    by_gpu = [("all", name, "", *_cells(row, columns)) for name, row in report["by_gpu"].items()]
    print_table(("anchor", "held out", "n", *columns.values()), [*_direction_rows(report, columns), *by_gpu])


def _direction_rows(report: Section, columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    """One row a direction, then their mean and the worst of them."""
    return [
        *_rows(report["directions"], columns),
        ("mean", "", "", *_cells(report["mean"], columns)),
        ("worst", "", "", *_cells(report["worst"], columns)),
    ]


def _rows(directions: Iterable[Section], columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    return [(row["anchor"], row["target"], str(row["n"]), *_cells(row, columns)) for row in directions]


def _print_other_gpus(rows: Sequence[Section], columns: Mapping[str, str]) -> None:
    print_table(("anchor", "held out", "n", *columns.values()), _rows(rows, columns))


def print_left_out_anchors(report: Section) -> None:
    """One row a direction, then each anchor's mean."""
    columns = _ANCHOR_COLUMNS
    print("\nOne GPU held out as anchor: its profiles predict the others.\n")
    by_anchor = [(name, "all", "", *_cells(row, columns)) for name, row in report["by_anchor"].items()]
    print_table(("held out", "target", "n", *columns.values()), [*_direction_rows(report, columns), *by_anchor])


def print_published(report: Section) -> None:
    """One row a GPU and table, then one a GPU of what must hold without any truth."""
    print("\nRatios to V100 in published tables; held out: the whole table; else its ResNet-50 is known.\n")
    print_table(
        ("GPU", "table", "held out", "n", *_TABLE_COLUMNS.values()),
        [
            (
                row["gpu"],
                row["table"].partition(",")[0],
                "yes" if row["held_back"] else "no",
                str(row["n"]),
                *_cells(row, _TABLE_COLUMNS),
            )
            for row in report["tables"]
        ],
    )
    print(
        "\nSelf-checks: own published point; larger steps more than 5% faster; undisclosed steps below V100's "
        "fastest.\n"
    )
    print_table(
        ("GPU", *_SELF_CHECK_COLUMNS.values()),
        [(row["gpu"], *_cells(row, _SELF_CHECK_COLUMNS)) for row in report["self_checks"]],
    )


def print_derived(report: Section) -> None:
    """The routes between the GPUs both sources have, then each derived GPU."""
    print("\nThrough the other source's ratios, against PROFET's own measurement; networks held out.\n")
    print_table(
        ("steps", "n", "T4 -> V100 %", "V100 -> T4 %", "median ratio"),
        [_route_row(name, row) for name, row in report["routes"].items() if name != "by_model"],
    )
    print("\nDerived GPUs, each network held out; truth is the corrected step.\n")
    print_table(
        ("GPU", "anchor", "n", *_DERIVED_COLUMNS.values()),
        [row for gpu, derived in report["gpus"].items() for row in _derived_rows(gpu, derived)],
    )
    print("\nclaims: g5.xlarge costs more or less per step than g4dn.xlarge, where the interval excludes break-even")


def _route_row(name: str, row: Section) -> tuple[str, ...]:
    return (
        name.replace("_", " "),
        str(row["n"]),
        f"{row['T4 -> V100']:.1f}",
        f"{row['V100 -> T4']:.1f}",
        f"{row['median_ratio_t4_to_v100']:.3f}",
    )


def _derived_rows(gpu: str, derived: Section) -> list[tuple[str, ...]]:
    law = (
        gpu,
        "T4 and V100 known",
        str(derived["n"]),
        *_cells({"mape_with_latency": derived["law"]}, _DERIVED_COLUMNS),
    )
    served = [(gpu, row["anchor"], str(row["n"]), *_cells(row, _DERIVED_COLUMNS)) for row in derived["served"]]
    return [law, *served]


#: Section of the report -> how it is printed, in this order.
PRINTERS: dict[str, Callable[[Section], None]] = {
    "left_out_gpus": print_left_out_gpus,
    "left_out_anchors": print_left_out_anchors,
    "published": print_published,
    "derived": print_derived,
    "memory": print_memory,
}


def _cells(row: Section, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple("" if row.get(key) is None else f"{row[key]:.1f}" for key in keys)
