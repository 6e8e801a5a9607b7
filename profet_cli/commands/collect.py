"""`profet collect`: measures a grid of workloads on the GPU at hand, or writes what measures it on a fleet."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from profet_cli.arguments import add_format
from profet_cli.cloud import add_cloud, is_cloud, run_cloud
from profet_cli.output import print_json, print_table
from profet_collect.calibrate import expected_at_hand
from profet_collect.expected import Expected
from profet_collect.grid import BATCH_SIZES, PIXELS, Grid, cells_of, measurable, models_of
from profet_collect.machine import Machine, installed_frameworks, machine_at_hand
from profet_collect.quick import error_after, quick_cells
from profet_collect.run import Protocol, collect
from profet_collect.store import locked_store, only_collector
from profet_core.collected.record import FRAMEWORKS, PRECISIONS, STATUSES, Cell, CellResult, Framework, Precision
from profet_core.documents.parts import Document
from profet_core.errors import InputError
from profet_core.profiles.limits import is_short_text
from profet_core.units import format_duration, whole_number

_Word = TypeVar("_Word", bound=str)
_STAND_IN = "the processor's operations count as a device's: a stand-in to try things out with, no measurement of a GPU"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The instance, the grid, and how it is measured."""
    add_format(parser)
    parser.add_argument("--instance", metavar="NAME", help="what this machine is to be called")
    parser.add_argument("--out", metavar="DIR", help="folder to write, or to go on with (default: collected/NAME)")
    parser.add_argument("--quick", action="store_true", help="20 minutes: the cells that tell most of a new GPU")
    parser.add_argument("--plan", action="store_true", help="cells and minutes, without measuring them")
    parser.add_argument("--frameworks", metavar="A,B", help="pytorch, tensorflow (default: what is installed)")
    parser.add_argument(
        "--models-list",
        default="measured,newer",
        metavar="A,B",
        help="networks by name; measured: the 15 published ones, newer: one of each newer family, all",
    )
    parser.add_argument("--pixels", default=_joined(PIXELS), metavar="A,B", help=f"default: {_joined(PIXELS)}")
    parser.add_argument("--batch", default=_joined(BATCH_SIZES), metavar="A,B", help=f"default: {_joined(BATCH_SIZES)}")
    parser.add_argument("--precision", default="fp32", metavar="A,B", help="fp32, tf32, amp (default: fp32)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="of each cell (1)")
    parser.add_argument("--warm-up", type=int, default=5, metavar="N", help="steps before anything is measured (5)")
    parser.add_argument("--timed", type=int, default=10, metavar="N", help="steps whose median is the latency (10)")
    parser.add_argument("--timeout", type=int, default=600, metavar="S", help="seconds a cell may take (600)")
    parser.add_argument("--retry", action="store_true", help="measure again what failed or ran out of memory")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help=f"cpu: {_STAND_IN}")
    parser.add_argument("--threads", type=int, metavar="N", help="of a CPU")
    parser.add_argument("--seed", type=int, default=0)
    add_cloud(parser)


def run(options: argparse.Namespace) -> None:
    """Plan, or measure what the folder lacks."""
    if is_cloud(options):
        run_cloud(options, _grid(options), _protocol(options))
        return
    grid, protocol, folder = _grid(options), _protocol(options), _folder(options)
    cells = cells_of(grid)
    if options.plan:
        _show_plan(options, *_chosen(options, grid, cells, protocol))
        return
    # Nothing is started beside a collection that runs: it would be measured with it.
    with only_collector(folder):
        chosen, machine, expected = _chosen(options, grid, cells, protocol)
        _measure(options, grid, folder, chosen, machine, expected, protocol)


def _chosen(
    options: argparse.Namespace, grid: Grid, cells: Sequence[Cell], protocol: Protocol
) -> tuple[list[Cell], Machine, Expected]:
    """The cells that this machine can measure, and what is expected of them."""
    machine = machine_at_hand(grid.frameworks, options.device, options.threads)
    if options.device == "cpu":
        print(f"warning: {_STAND_IN}", file=sys.stderr)
    expected = expected_at_hand(machine, protocol, is_timed=options.plan or options.quick)
    wanted = _quick(grid, expected) if options.quick else cells
    chosen = measurable(wanted, machine.capability)
    if not chosen:
        raise InputError("No cell is left: TF32 needs an NVIDIA GPU of compute capability 8 or higher.")
    if len(chosen) < len(wanted):
        left_out = len(wanted) - len(chosen)
        print(f"warning: {left_out} cells in TF32 are left out: {machine.gpu} has none", file=sys.stderr)
    return chosen, machine, expected


def _measure(
    options: argparse.Namespace,
    grid: Grid,
    folder: Path,
    cells: Sequence[Cell],
    machine: Machine,
    expected: Expected,
    protocol: Protocol,
) -> None:
    manifest = {"instance": options.instance, **machine.manifest(), "seed": options.seed, "grid": _grid_document(grid)}
    began = perf_counter()
    with locked_store(folder, manifest) as store:
        if options.retry:
            store.retry()
        left = [cell for cell in cells if cell not in store.finished]
        planned_s = sum(map(expected.seconds, left))
        print(
            f"{len(left)} cells on {machine.gpu}, {len(cells) - len(left)} more are in {folder} already, "
            f"about {format_duration(planned_s)}",
            file=sys.stderr,
        )
        if options.quick:
            print(f"{_error_line(cells)}; --plan lists them", file=sys.stderr)
        collect(cells, machine, store, expected, protocol)
        results = [store.finished[cell] for cell in cells]
    _show_end(options, folder, results, planned_s, perf_counter() - began)


def _error_line(cells: Sequence[Cell]) -> str:
    """What the quick cells tell of a GPU."""
    return (
        "On the published GPUs, each left out in turn, these cells told the steps of other networks within "
        f"{error_after(cells):.1f} % at the mean"
    )


def _quick(grid: Grid, expected: Expected) -> list[Cell]:
    found = quick_cells(grid, expected.seconds)
    if not found:
        raise InputError("No cell of --quick is in this grid and takes less than two minutes: leave --quick out.")
    return found


def _show_plan(options: argparse.Namespace, cells: Sequence[Cell], machine: Machine, expected: Expected) -> None:
    seconds = [expected.seconds(cell) for cell in cells]
    if options.format == "json":
        rows = [
            {
                "framework": cell.framework,
                "precision": cell.precision,
                "model": cell.model,
                "pixels": cell.pixels,
                "batch_size": cell.batch_size,
                "repeat": cell.repeat,
                "seconds": round(each, 1),
            }
            for cell, each in zip(cells, seconds, strict=True)
        ]
        print_json(
            {
                "instance": options.instance,
                "gpu": machine.gpu,
                "cells": len(cells),
                "minutes": round(sum(seconds) / 60, 1),
                "left_out_error_percent": error_after(cells) if options.quick else None,
                "rows": rows,
            }
        )
        return
    print_table(
        ("network", "pixels", "batch sizes", "precision", "framework", "cells", "minutes"), _plan_rows(cells, seconds)
    )
    print(f"{len(cells)} cells on {machine.gpu}, about {format_duration(sum(seconds))}")
    if options.quick:
        print(_error_line(cells))


def _plan_rows(cells: Sequence[Cell], seconds: Sequence[float]) -> list[tuple[str, ...]]:
    """A row for each network, pixel size, precision and framework."""
    groups: dict[tuple[str, int, str, str], list[tuple[int, float]]] = {}
    for cell, each in zip(cells, seconds, strict=True):
        key = cell.model, cell.pixels, cell.precision, cell.framework
        groups.setdefault(key, []).append((cell.batch_size, each))
    return [
        (
            model,
            str(pixels),
            _joined(sorted({batch for batch, _ in group})),
            precision,
            framework,
            str(len(group)),
            f"{sum(each for _, each in group) / 60:.1f}",
        )
        for (model, pixels, precision, framework), group in groups.items()
    ]


def _show_end(
    options: argparse.Namespace, folder: Path, results: Sequence[CellResult], planned_s: float, took_s: float
) -> None:
    numbers = {status: sum(result.status == status for result in results) for status in STATUSES}
    if options.format == "json":
        document: Document = {
            "out": str(folder),
            "instance": options.instance,
            "cells": len(results),
            "ok": numbers["ok"],
            "out_of_memory": numbers["out-of-memory"],
            "failed": numbers["failed"],
            "minutes": round(took_s / 60, 1),
            "planned_minutes": round(planned_s / 60, 1),
        }
        print_json(document)
        return
    ends = ", ".join(f"{number} {status}" for status, number in numbers.items() if number)
    took = f"{format_duration(took_s)}, planned were {format_duration(planned_s)}"
    print(f"{folder}: {len(results)} cells ({ends}) in {took}")


def _grid(options: argparse.Namespace) -> Grid:
    # A fleet's machines get what is asked for; the published measurements are TensorFlow's.
    installed: tuple[Framework, ...] = ("tensorflow",) if options.cloud is not None else installed_frameworks()
    if options.frameworks is None:
        # The published measurements are TensorFlow's: what is quick is comparable with them.
        frameworks: tuple[Framework, ...] = tuple(sorted(installed, reverse=options.quick))
    else:
        frameworks = _words("--frameworks", options.frameworks, FRAMEWORKS)
    if not frameworks:
        raise InputError("Neither PyTorch nor TensorFlow is installed for this Python: install one first.")
    precisions: tuple[Precision, ...] = _words("--precision", options.precision, PRECISIONS)
    if options.device == "cpu" and precisions != ("fp32",):
        raise InputError("A processor is measured in FP32 alone: leave --precision out.")
    if options.threads is not None and options.device != "cpu":
        raise InputError("--threads is of a processor: use it with --device cpu.")
    return Grid(
        models_of(options.models_list),
        _numbers("--pixels", options.pixels, 4096),
        _numbers("--batch", options.batch, 65_536),
        precisions,
        frameworks[:1] if options.quick else frameworks,
        whole_number("The number of repeats", options.repeats),
    )


def _protocol(options: argparse.Namespace) -> Protocol:
    if options.threads is not None:
        whole_number("The number of threads", options.threads)
    return Protocol(
        whole_number("The number of warm-up steps", options.warm_up),
        whole_number("The number of timed steps", options.timed),
        float(whole_number("The timeout", options.timeout)),
        whole_number("The seed", options.seed, at_least=0),
    )


def _folder(options: argparse.Namespace) -> Path:
    """Where cells go; the instance's name is made a folder's."""
    if options.instance is None:
        raise InputError("Say what this machine is to be called: --instance NAME.")
    if not (is_short_text(options.instance) and options.instance.strip()):
        raise InputError("--instance must be a short text, such as g5.xlarge or my-rtx-4080.")
    if options.out is not None:
        return Path(options.out).expanduser()
    name = re.sub(r"[^\w.-]+", "-", options.instance).strip(".-")
    if not name:
        raise InputError(f"{options.instance!a} makes no name of a folder: name one with --out.")
    return Path("collected") / name


def _grid_document(grid: Grid) -> Document:
    return {
        "models": list(grid.models),
        "pixels": list(grid.pixels),
        "batch_sizes": list(grid.batch_sizes),
        "precisions": list(grid.precisions),
        "frameworks": list(grid.frameworks),
        "repeats": grid.repeats,
    }


def _words(option: str, text: str, known: Sequence[_Word]) -> tuple[_Word, ...]:
    words = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    if not words or set(words) - set(known):
        raise InputError(f"{option} {text[:60]!a}: {', '.join(known)} are known.")
    return tuple(one for word in words for one in known if one == word)


def _numbers(option: str, text: str, most: int) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    valid = [word for word in words if word.isascii() and word.isdigit() and len(word) <= 6 and 0 < int(word) <= most]
    if not words or len(valid) != len(words):
        raise InputError(f"{option} {text[:60]!a}: whole numbers from 1 to {most:,} are needed, as 32,64.")
    return tuple(dict.fromkeys(map(int, words)))


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
