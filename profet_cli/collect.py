"""`profet collect` and `data`: measure a grid of workloads on the GPU at hand; import, check and merge measurements."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from msgspec.structs import asdict

from profet_cli.commands import OneLineParser, add_commands
from profet_cli.options import add_format, known_gpus, training_set
from profet_cli.output import Column, print_json, print_rows, print_table
from profet_collect.cell import CellTask
from profet_collect.networks import missing
from profet_collect.run import (
    BATCH_SIZES,
    PIXELS,
    ExpectedTimes,
    Grid,
    MeasuringMachine,
    collect,
    expected_at_hand,
    grid_cells,
    installed_frameworks,
    known_error,
    machine_at_hand,
    measurable,
    measure_loading,
    parse_models,
    quick_cells,
)
from profet_collect.store import (
    FRAMEWORKS,
    PRECISIONS,
    STATUSES,
    Cell,
    Framework,
    Precision,
    locked_store,
    only_collector,
)
from profet_core.errors import InputError
from profet_profiles.limits import is_short_text
from profet_profiles.units import format_duration, format_significant, whole_number

_Word = TypeVar("_Word", bound=str)
#: So few are measured without timing two others first.
_UNTIMED_CELLS = 10
_STAND_IN = "CPU operations count as GPU operations: for tests only, not a GPU measurement"


def add_collect(parser: argparse.ArgumentParser) -> None:
    """Declare the instance, the grid, and how it is measured."""
    add_format(parser)
    parser.add_argument("--instance", metavar="NAME", help="name of this machine")
    parser.add_argument("--out", metavar="DIR", help="folder to write or resume (default: collected/NAME)")
    parser.add_argument(
        "--quick", action="store_true", help="20 minutes: only the most informative cells for a new GPU"
    )
    parser.add_argument(
        "--loading",
        metavar="FOLDER",
        help="instead time how many images of this folder each vCPU prepares, in PyTorch's or TensorFlow's loader",
    )
    parser.add_argument("--plan", action="store_true", help="list the cells and their time, without measuring")
    parser.add_argument("--frameworks", metavar="A,B", help="pytorch, tensorflow (default: all that are installed)")
    parser.add_argument(
        "--models-list",
        default="measured,newer",
        metavar="A,B",
        help="network names; measured: the 15 published ones; newer: one of each newer family; all",
    )
    parser.add_argument("--pixels", default=_joined(PIXELS), metavar="A,B", help=f"default: {_joined(PIXELS)}")
    parser.add_argument("--batch", default=_joined(BATCH_SIZES), metavar="A,B", help=f"default: {_joined(BATCH_SIZES)}")
    parser.add_argument("--precision", default="fp32", metavar="A,B", help="fp32, tf32, amp (default: fp32)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="repeats per cell (default: 1)")
    parser.add_argument("--warm-up", type=int, default=5, metavar="N", help="warm-up steps (default: 5)")
    parser.add_argument(
        "--timed", type=int, default=10, metavar="N", help="timed steps; their median is the latency (default: 10)"
    )
    parser.add_argument(
        "--timeout", type=int, default=600, metavar="S", help="time limit per cell in seconds (default: 600)"
    )
    parser.add_argument("--retry", action="store_true", help="repeat cells that failed or ran out of memory")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help=f"cpu: {_STAND_IN}")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads")
    parser.add_argument("--seed", type=int, default=0)


def run_collect(options: argparse.Namespace) -> None:
    """Plan, or measure what the folder lacks, or the loading of images."""
    if options.loading is not None:
        _show_loading(options)
        return
    grid, how, folder = _grid(options), _task(options), _folder(options)
    cells = grid_cells(grid)
    if options.plan:
        _show_plan(options, *_chosen(options, grid, cells, how))
        return
    # Nothing is started beside a collection that runs: it would be measured with it.
    with only_collector(folder):
        chosen, machine, expected = _chosen(options, grid, cells, how)
        parts = {name: list(part) if isinstance(part, tuple) else part for name, part in asdict(grid).items()}
        manifest = {"instance": options.instance, **machine.manifest(), "seed": options.seed, "grid": parts}
        with locked_store(folder, manifest) as store:
            if options.retry:
                store.retry()
            left, began = [cell for cell in chosen if cell not in store.finished], perf_counter()
            planned_s = sum(map(expected.seconds, left))
            print(
                f"{len(left)} cells on {machine.gpu}, {len(chosen) - len(left)} more are in {folder} already, "
                f"about {format_duration(planned_s)}",
                file=sys.stderr,
            )
            if options.quick:
                print(f"{_error_line(chosen)}; --plan lists them", file=sys.stderr)
            try:
                collect(chosen, machine, store, expected, how)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"finished cells are in {folder}; run the same command to resume") from None
            statuses = [store.finished[cell].status for cell in left]
    document: dict[str, object] = {
        "out": str(folder),
        "instance": options.instance,
        "cells": len(chosen),
        "measured": len(left),
        **{status.replace("-", "_"): statuses.count(status) for status in STATUSES},
        "minutes": round((perf_counter() - began) / 60, 1),
        "planned_minutes": round(planned_s / 60, 1),
    }
    if options.format == "json":
        print_json(document)
    elif not left:
        print(f"{folder}: all {len(chosen)} cells are already measured")
    else:
        ends = ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)
        took = f"{format_duration(perf_counter() - began)} ({format_duration(planned_s)} planned)"
        earlier = f"; {len(chosen) - len(left)} more were already measured" if len(chosen) > len(left) else ""
        print(f"{folder}: {len(left)} cells measured ({ends}) in {took}{earlier}")


def _chosen(
    options: argparse.Namespace, grid: Grid, cells: Sequence[Cell], how: CellTask
) -> tuple[list[Cell], MeasuringMachine, ExpectedTimes]:
    """Return the cells that this machine can measure, and what is expected of them."""
    for framework in grid.frameworks:
        for name, reason in missing(framework).items():
            if name in grid.models:
                print(f"warning: {name} is skipped in {framework}: {reason}", file=sys.stderr)
    machine = machine_at_hand(grid.frameworks, options.device, options.threads)
    if options.device == "cpu":
        print(f"warning: {_STAND_IN}", file=sys.stderr)
    is_timed = options.plan or options.quick or len(cells) > _UNTIMED_CELLS
    expected = expected_at_hand(machine, how, is_timed=is_timed)
    wanted = quick_cells(grid, expected.seconds) if options.quick else cells
    if not wanted:
        raise InputError("This grid has no --quick cell that takes less than two minutes: remove --quick.")
    chosen = measurable(wanted, machine.capability)
    if not chosen:
        raise InputError("No cells remain: TF32 needs an NVIDIA GPU with compute capability 8 or higher.")
    if skipped := len(wanted) - len(chosen):
        print(f"warning: {skipped} TF32 cells are skipped: {machine.gpu} has no TF32", file=sys.stderr)
    return chosen, machine, expected


def _show_loading(options: argparse.Namespace) -> None:
    """Time the loader on the images of a folder, at the first of `--pixels` if that is given."""
    names = options.frameworks.split(",") if options.frameworks else []
    pixels = 224 if options.pixels == _joined(PIXELS) else _numbers("--pixels", options.pixels, 4096)[0]
    loading = measure_loading(Path(options.loading), names, pixels=pixels, seed=options.seed)
    if options.format == "json":
        print_json(loading)
        return
    per_vcpu = loading["images_per_s_per_vcpu"]
    rates = f"{format_significant(loading['images_per_s'])} images/s: {format_significant(per_vcpu)} per vCPU"
    how = f"{loading['framework']}, {loading['pixels']} pixels, {loading['images']:,} images"
    print(f"{loading['vcpus']} vCPUs prepare {rates} ({how}).")
    print(f"Count it with `profet advise ... --images-per-s-per-vcpu {per_vcpu:.0f}`.")


def _error_line(cells: Sequence[Cell]) -> str:
    """Say what is known of the error with so many cells."""
    judged = known_error(cells)
    if judged is None:
        return "The error on other networks is unknown: there is no cell"
    count, error = judged
    several = "cell" if count == 1 else "cells"
    return f"With {count} {several}, the mean error on other networks was {error:.1f}% (measured GPUs, each held out)"


def _show_plan(
    options: argparse.Namespace, cells: Sequence[Cell], machine: MeasuringMachine, expected: ExpectedTimes
) -> None:
    """Every cell in JSON, a row for each network, pixel size, precision and framework in text."""
    seconds = [expected.seconds(cell) for cell in cells]
    if options.format == "json":
        count, error = (known_error(cells) if options.quick else None) or (None, None)
        rows = [{**asdict(cell), "seconds": round(cell_s, 1)} for cell, cell_s in zip(cells, seconds, strict=True)]
        document = {"instance": options.instance, "gpu": machine.gpu, "cells": len(cells)}
        document |= {"minutes": round(sum(seconds) / 60, 1), "held_out_error_percent": error}
        print_json({**document, "held_out_error_cells": count, "rows": rows})
        return
    groups: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for cell, cell_s in zip(cells, seconds, strict=True):
        key = cell.model, str(cell.pixels), cell.precision, cell.framework
        groups.setdefault(key, []).append((cell.batch_size, cell_s))
    header = ("network", "pixels", "batch sizes", "precision", "framework", "cells", "minutes")
    table = []
    for (model, pixels, *how), group in groups.items():
        minutes = f"{sum(cell_s for _, cell_s in group) / 60:.1f}"
        table.append((model, pixels, _joined(sorted({batch for batch, _ in group})), *how, str(len(group)), minutes))
    print_table(header, table)
    print(f"{len(cells)} cells on {machine.gpu}, about {format_duration(sum(seconds))}")
    if options.quick:
        print(_error_line(cells))


def _grid(options: argparse.Namespace) -> Grid:
    if options.frameworks is None:
        # The published measurements are TensorFlow's: what is quick is comparable with them.
        frameworks: tuple[Framework, ...] = tuple(sorted(installed_frameworks(), reverse=options.quick))
    else:
        frameworks = _words("--frameworks", options.frameworks, FRAMEWORKS)
    if not frameworks:
        raise InputError("Neither PyTorch nor TensorFlow is installed for this Python: install one first.")
    precisions: tuple[Precision, ...] = _words("--precision", options.precision, PRECISIONS)
    if options.device == "cpu" and precisions != ("fp32",):
        raise InputError("CPUs support FP32 only: remove --precision.")
    if options.threads is not None and options.device != "cpu":
        raise InputError("--threads is for CPUs: use it with --device cpu.")
    return Grid(
        parse_models(options.models_list),
        _numbers("--pixels", options.pixels, 4096),
        _numbers("--batch", options.batch, 65_536),
        precisions,
        frameworks[:1] if options.quick else frameworks,
        whole_number("The number of repeats", options.repeats),
    )


def _task(options: argparse.Namespace) -> CellTask:
    """How each cell is measured."""
    if options.threads is not None:
        whole_number("The number of threads", options.threads)
    return CellTask(
        FRAMEWORKS[0],
        device=options.device,
        threads=options.threads,
        warm_up=whole_number("The number of warm-up steps", options.warm_up),
        timed=whole_number("The number of timed steps", options.timed),
        timeout_s=float(whole_number("The timeout", options.timeout)),
        seed=whole_number("The seed", options.seed, at_least=0),
    )


def _folder(options: argparse.Namespace) -> Path:
    """Where cells go; the instance's name is made a folder's."""
    if options.instance is None:
        raise InputError("Name this machine: --instance NAME.")
    if not (is_short_text(options.instance) and options.instance.strip()):
        raise InputError("--instance must be a short text, such as g5.xlarge or my-rtx-4080.")
    if options.out is not None:
        return Path(options.out).expanduser()
    name = re.sub(r"[^\w.-]+", "-", options.instance).strip(".-")
    if not name:
        raise InputError(f"{options.instance!a} can't be a folder name: name a folder with --out.")
    return Path("collected") / name


def _words(option: str, text: str, choices: Sequence[_Word]) -> tuple[_Word, ...]:
    words = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    if not words or set(words) - set(choices):
        raise InputError(f"{option} {text[:60]!a}: choose from {', '.join(choices)}.")
    return tuple(choice for word in words for choice in choices if choice == word)


def _numbers(option: str, text: str, most: int) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    valid = [word for word in words if word.isascii() and word.isdigit() and len(word) <= 6 and 0 < int(word) <= most]
    if not words or len(valid) != len(words):
        raise InputError(f"{option} {text[:60]!a}: give whole numbers from 1 to {most:,}, such as 32,64.")
    return tuple(dict.fromkeys(map(int, words)))


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


#: So many missing workloads are named in text; JSON names all.
_NAMED = 3
Row = dict[str, Any]
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


def add_data(parser: OneLineParser) -> None:
    """Declare the actions with their arguments; one must be chosen."""
    for name, action in add_commands(parser, ACTIONS, dest="action", required=True).items():
        add_format(action)
        metavar, help_ = _FOLDERS[name]
        nargs = 1 if name == "check" else "+"
        action.add_argument("folders", metavar=metavar, nargs=nargs, type=Path, help=help_)
        if name != "check":
            action.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="new folder to write")


def run_data(options: argparse.Namespace) -> None:
    """Check a folder; or read everything, then write one, and print one line or a document."""
    with training_set():
        from profet_lab.dataset import check_dataset, merged
        from profet_lab.dataset_files import check_new, read_dataset, read_folder, read_sources, write_dataset
    folders = options.folders
    if options.action == "check":
        print_checked(check_dataset(read_folder(folders[0]), known_gpus()), options.format)
        return
    check_new(options.out)
    if options.action == "import":
        dataset = read_sources(folders)
    else:
        dataset = merged([read_dataset(folder) for folder in folders], [str(folder) for folder in folders])
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


#: Title of a column -> the count in it.
_COUNTS = {"Ran": "ok", "No memory": "out_of_memory", "Failed": "failed", "Profiled": "profiled", "Repeats": "repeats"}


def print_checked(checked: dict[str, list[Row]], format_: str) -> None:
    """Print what there is, what is missing, and what looks wrong in it."""
    if format_ == "json":
        print_json(checked)
        return
    columns: list[Column] = [
        ("Instance", itemgetter("instance")),
        ("GPU", lambda row: f"{row['gpu'] or 'unknown'}{'' if row['gpu_known'] else ' (unknown specs)'}"),
        *((title, itemgetter(name)) for title, name in _COUNTS.items()),
        ("Steps", itemgetter("step_ratio"), "{:.2f}".format),
        ("Noise", itemgetter("noise_percent"), "{:.2f}%".format),
    ]
    print_rows(checked["instances"], columns)
    for row in checked["instances"]:
        sizes = [", ".join(map(str, row[name])) for name in ("pixels", "batch_sizes")]
        print(
            f"{row['instance']}: {_several('workload', row['workloads'])}: {', '.join(row['models'])}; "
            f"pixels {sizes[0]}; batch {sizes[1]}; {', '.join(row['frameworks'])}; {', '.join(row['precisions'])}"
        )
    pairs = {f"{pair['anchor']} -> {pair['target']}": pair for pair in checked["pairs"]}
    if pairs:
        print()
        counts = ("common", "missing", "out_of_memory")
        print_table(
            ["Pair", "Common", "Missing", "No memory"],
            [(name, *(str(pair[count]) for count in counts)) for name, pair in pairs.items()],
        )
        for name, pair in pairs.items():
            if pair["missing"]:
                print(f"{name} lacks {_missing(pair['missing_workloads'])}")
    print()
    for finding in checked["findings"]:
        print(f"{finding['kind']}: {finding['instance']}, {_several('cell', finding['cells'])}: {finding['line']}")
    if not checked["findings"]:
        print("No anomalies found.")


def _missing(workloads: Sequence[Row]) -> str:
    named = [
        f"{row['model']} {row['pixels']}x{row['batch_size']} ({row['framework']} {row['precision']})"
        for row in workloads[:_NAMED]
    ]
    more = len(workloads) - len(named)
    return ", ".join(named) + (f" and {more:,} more (all with --format json)" if more > 0 else "")


def _several(what: str, count: int) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
