"""`profet data`: measurements in one layout: imported, checked, merged."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profet_cli.arguments import add_format
from profet_cli.inputs import known_gpus
from profet_cli.lab import training_set
from profet_cli.output import cell, print_json, print_table
from profet_cli.parsing import OneLineParser, add_commands

if TYPE_CHECKING:
    from profet_lab.dataset import Dataset

#: So many missing workloads are named in text; JSON names all.
_NAMED = 3

Row = dict[str, Any]


def print_checked(found: dict[str, list[Row]], format_: str) -> None:
    """What there is, what is missing, and what looks wrong in it."""
    if format_ == "json":
        print_json(found)
        return
    header = ["Instance", "GPU", "Ran", "No memory", "Failed", "Profiled", "Repeats", "Steps", "Noise"]
    print_table(header, [_row(one) for one in found["instances"]])
    for one in found["instances"]:
        sizes = [", ".join(map(str, one[name])) for name in ("pixels", "batch_sizes")]
        print(
            f"{one['instance']}: {_several('workload', one['workloads'])}: {', '.join(one['models'])}; "
            f"pixels {sizes[0]}; batch {sizes[1]}; {', '.join(one['frameworks'])}; {', '.join(one['precisions'])}"
        )
    pairs = {f"{pair['anchor']} -> {pair['target']}": pair for pair in found["pairs"]}
    if pairs:
        print()
        counts = ("common", "missing", "out_of_memory")
        rows = [(name, *(str(pair[count]) for count in counts)) for name, pair in pairs.items()]
        print_table(["Pair", "Common", "Missing", "No memory"], rows)
        for name, pair in pairs.items():
            if pair["missing"]:
                print(f"{name} lacks {_missing(pair['missing_workloads'])}")
    print()
    for finding in found["findings"]:
        print(f"{finding['kind']}: {finding['instance']}, {_several('cell', finding['cells'])}: {finding['line']}")
    if not found["findings"]:
        print("No anomalies found.")


def _row(one: Row) -> Sequence[str]:
    return (
        one["instance"],
        f"{one['gpu'] or 'unknown'}{'' if one['gpu_known'] else ' (unknown specs)'}",
        *(str(one[name]) for name in ("ok", "out_of_memory", "failed", "profiled", "repeats")),
        cell(one["step_ratio"], lambda ratio: f"{ratio:.2f}"),
        cell(one["noise_percent"], lambda percent: f"{percent:.2f}%"),
    )


def _missing(workloads: Sequence[Row]) -> str:
    named = [
        f"{one['model']} {one['pixels']}x{one['batch_size']} ({one['framework']} {one['precision']})"
        for one in workloads[:_NAMED]
    ]
    more = len(workloads) - len(named)
    return ", ".join(named) + (f" and {more:,} more (all with --format json)" if more > 0 else "")


def _several(what: str, count: int) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


#: Action -> its line in `profet data --help`.
ACTIONS = {
    "import": "convert collections or PROFET's tables to a folder in the data layout",
    "check": "show a folder's contents, missing cells per pair of instances, and anomalies",
    "merge": "merge folders in the data layout into a new one",
}
#: Action -> its folders, and what they are.
_FOLDERS = {
    "import": ("SOURCE", "folder of `profet collect`, or of PROFET's tables"),
    "check": ("FOLDER", "folder that `profet data` wrote or can import"),
    "merge": ("FOLDER", "folders that `profet data` wrote"),
}


def add_arguments(parser: OneLineParser) -> None:
    """The actions with their arguments; one must be chosen."""
    for name, action in add_commands(parser, ACTIONS, dest="action", required=True).items():
        add_format(action)
        shown, said = _FOLDERS[name]
        nargs = 1 if name == "check" else "+"
        action.add_argument("folders", metavar=shown, nargs=nargs, type=Path, help=said)
        if name != "check":
            action.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="new folder to write")


def run(options: argparse.Namespace) -> None:
    """Run the chosen action."""
    with training_set():
        from profet_lab.dataset import check_dataset, merged
        from profet_lab.dataset_files import read_dataset, read_folder, read_sources
    folders = options.folders
    if options.action == "check":
        print_checked(check_dataset(read_folder(folders[0]), known_gpus()), options.format)
    elif options.action == "import":
        _write(options, lambda: read_sources(folders))
    else:
        _write(options, lambda: merged([read_dataset(folder) for folder in folders], [str(one) for one in folders]))


def _write(options: argparse.Namespace, read: Callable[[], Dataset]) -> None:
    """Read everything, then write the folder, and print one line or a document."""
    with training_set():
        from profet_lab.dataset_files import check_new, write_dataset
    check_new(options.out)
    dataset = read()
    write_dataset(dataset, options.out)
    counts = {"cells": len(dataset.cells), "profiled": len(dataset.profiled), "operations": len(dataset.operations)}
    if options.format == "json":
        sources = [asdict(source) for source in dataset.sources]
        print_json({"out": str(options.out), **counts, "instances": sorted(dataset.instances), "sources": sources})
    else:
        print(
            f"{options.out}: {counts['cells']:,} cells of {', '.join(sorted(dataset.instances))}; "
            f"{counts['profiled']:,} with a profile, {counts['operations']:,} times of operations"
        )
