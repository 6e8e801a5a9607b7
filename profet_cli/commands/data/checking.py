"""`profet data check`: what a folder of measurements holds, lacks, and what looks wrong in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.arguments import add_format
from profet_cli.inputs import known_gpus
from profet_cli.lab import training_set
from profet_cli.output import cell, print_json, print_table
from profet_core.documents.records import Document

if TYPE_CHECKING:
    from profet_lab.datasets.check import Check, InstanceCheck, PairCheck

#: So many missing workloads are named in text; JSON names all.
_NAMED = 3
_WORKLOAD = ("framework", "precision", "model", "pixels", "batch_size")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    add_format(parser)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder that `profet data` wrote or can import")


def run(options: argparse.Namespace) -> None:
    """Look it through and print what there is, what is missing, and what looks wrong."""
    with training_set():
        from profet_lab.datasets.check import check_dataset
        from profet_lab.datasets.read import is_dataset, read_dataset
        from profet_lab.datasets.sources.choose import read_sources
    folder = options.folder
    dataset = read_dataset(folder) if is_dataset(folder) else read_sources([folder])
    found = check_dataset(dataset, known_gpus())
    if options.format == "json":
        print_json(_document(found))
    else:
        _print(found)


def _document(found: Check) -> Document:
    return {
        "instances": [asdict(one) for one in found.instances],
        "pairs": [_pair(pair) for pair in found.pairs],
        "findings": [asdict(finding) for finding in found.findings],
    }


def _pair(pair: PairCheck) -> Document:
    missing = [dict(zip(_WORKLOAD, workload, strict=True)) for workload in pair.missing_workloads]
    return {**asdict(pair), "missing": pair.missing, "missing_workloads": missing}


def _print(found: Check) -> None:
    header = ["Instance", "GPU", "Ran", "No memory", "Failed", "Profiled", "Repeats", "Steps", "Noise"]
    print_table(header, [_row(one) for one in found.instances])
    for one in found.instances:
        print(
            f"{one.instance}: {_several('workload', one.workloads)}: {', '.join(one.models)}; "
            f"pixels {_numbers(one.pixels)}; batch {_numbers(one.batch_sizes)}; "
            f"{', '.join(one.frameworks)}; {', '.join(one.precisions)}"
        )
    if found.pairs:
        print()
        rows = [(f"{pair.anchor} -> {pair.target}", *map(str, (pair.common, pair.missing, pair.out_of_memory)))
                for pair in found.pairs]  # fmt: skip
        print_table(["Pair", "Common", "Missing", "No memory"], rows)
        for pair in found.pairs:
            if pair.missing:
                print(f"{pair.anchor} -> {pair.target} lacks {_missing(pair)}")
    print()
    for finding in found.findings:
        print(f"{finding.kind}: {finding.instance}, {_several('cell', finding.cells)}: {finding.line}")
    if not found.findings:
        print("No anomalies found.")


def _row(one: InstanceCheck) -> Sequence[str]:
    return (
        one.instance,
        f"{one.gpu or 'unknown'}{'' if one.gpu_known else ' (unknown specs)'}",
        *map(str, (one.ok, one.out_of_memory, one.failed, one.profiled, one.repeats)),
        cell(one.step_ratio, lambda ratio: f"{ratio:.2f}"),
        cell(one.noise_percent, lambda percent: f"{percent:.2f}%"),
    )


def _missing(pair: PairCheck) -> str:
    named = [f"{model} {pixels}x{batch} ({framework} {precision})"
             for framework, precision, model, pixels, batch in pair.missing_workloads[:_NAMED]]  # fmt: skip
    more = pair.missing - len(named)
    return ", ".join(named) + (f" and {more:,} more (all with --format json)" if more > 0 else "")


def _several(what: str, count: int) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
