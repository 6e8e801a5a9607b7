"""`profet collect`: measures a grid of workloads on the GPU at hand."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from profet_cli.arguments import add_format
from profet_cli.output import print_json, print_table
from profet_collect.run import (
    BATCH_SIZES,
    PIXELS,
    Expected,
    Grid,
    Machine,
    Protocol,
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
    CellResult,
    Framework,
    Precision,
    Store,
    locked_store,
    only_collector,
)
from profet_core.answers.schema import Document
from profet_core.errors import InputError
from profet_core.units import format_duration, format_significant, whole_number
from profet_recorder.profiles.limits import is_short_text

_Word = TypeVar("_Word", bound=str)
#: So few are measured without timing two others first.
_UNTIMED_CELLS = 10
_STAND_IN = "CPU operations count as GPU operations: for tests only, not a GPU measurement"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The instance, the grid, and how it is measured."""
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


def run(options: argparse.Namespace) -> None:
    """Plan, or measure what the folder lacks, or the loading of images."""
    if options.loading is not None:
        _show_loading(options)
        return
    grid, protocol, folder = _grid(options), _protocol(options), _folder(options)
    cells = grid_cells(grid)
    if options.plan:
        _show_plan(options, *_chosen(options, grid, cells, protocol))
        return
    # Nothing is started beside a collection that runs: it would be measured with it.
    with only_collector(folder):
        chosen, machine, expected = _chosen(options, grid, cells, protocol)
        parts = {name: list(part) if isinstance(part, tuple) else part for name, part in asdict(grid).items()}
        manifest = {"instance": options.instance, **machine.manifest(), "seed": options.seed, "grid": parts}
        with locked_store(folder, manifest) as store:
            _measure(options, store, chosen, machine, expected, protocol)


def _chosen(
    options: argparse.Namespace, grid: Grid, cells: Sequence[Cell], protocol: Protocol
) -> tuple[list[Cell], Machine, Expected]:
    """The cells that this machine can measure, and what is expected of them."""
    machine = machine_at_hand(grid.frameworks, options.device, options.threads)
    if options.device == "cpu":
        print(f"warning: {_STAND_IN}", file=sys.stderr)
    is_timed = options.plan or options.quick or len(cells) > _UNTIMED_CELLS
    expected = expected_at_hand(machine, protocol, is_timed=is_timed)
    wanted = _quick(grid, expected) if options.quick else cells
    chosen = measurable(wanted, machine.capability)
    if not chosen:
        raise InputError("No cells remain: TF32 needs an NVIDIA GPU with compute capability 8 or higher.")
    if len(chosen) < len(wanted):
        left_out = len(wanted) - len(chosen)
        print(f"warning: {left_out} TF32 cells are skipped: {machine.gpu} has no TF32", file=sys.stderr)
    return chosen, machine, expected


def _measure(
    options: argparse.Namespace,
    store: Store,
    cells: Sequence[Cell],
    machine: Machine,
    expected: Expected,
    protocol: Protocol,
) -> None:
    folder, began = _folder(options), perf_counter()
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
    try:
        collect(cells, machine, store, expected, protocol)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"finished cells are in {folder}; run the same command to resume") from None
    results = [store.finished[cell] for cell in left]
    _show_end(options, folder, len(cells), results, planned_s, perf_counter() - began)


def _show_loading(options: argparse.Namespace) -> None:
    """Time the loader on the images of a folder, at the first of `--pixels` if that is given."""
    names = options.frameworks.split(",") if options.frameworks else []
    pixels = 224 if options.pixels == _joined(PIXELS) else _numbers("--pixels", options.pixels, 4096)[0]
    found = measure_loading(Path(options.loading), names, pixels=pixels, seed=options.seed)
    if options.format == "json":
        print_json(found)
        return
    each = found["images_per_s_per_vcpu"]
    rates = f"{format_significant(found['images_per_s'])} images/s: {format_significant(each)} per vCPU"
    how = f"{found['framework']}, {found['pixels']} pixels, {found['images']:,} images"
    print(f"{found['vcpus']} vCPUs prepare {rates} ({how}).")
    print(f"Count it with `profet advise ... --images-per-s-per-vcpu {each:.0f}`.")


def _error_line(cells: Sequence[Cell]) -> str:
    """What is known of the error with the quick cells."""
    found = known_error(cells)
    if found is None:
        return "The error on other networks is unknown: these cells don't include the first one of --quick"
    first, error = found
    which = "these cells" if first == len(cells) else f"the first {first} of these cells"
    return f"With {which}, the mean error on other networks was {error:.1f}% (published GPUs, each held out)"


def _quick(grid: Grid, expected: Expected) -> list[Cell]:
    found = quick_cells(grid, expected.seconds)
    if not found:
        raise InputError("This grid has no --quick cell that takes less than two minutes: remove --quick.")
    return found


def _show_plan(options: argparse.Namespace, cells: Sequence[Cell], machine: Machine, expected: Expected) -> None:
    seconds = [expected.seconds(cell) for cell in cells]
    if options.format == "json":
        found = known_error(cells) if options.quick else None
        rows = [{**asdict(cell), "seconds": round(each, 1)} for cell, each in zip(cells, seconds, strict=True)]
        print_json(
            {
                "instance": options.instance,
                "gpu": machine.gpu,
                "cells": len(cells),
                "minutes": round(sum(seconds) / 60, 1),
                "left_out_error_percent": found[1] if found else None,
                "left_out_error_cells": found[0] if found else None,
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
    options: argparse.Namespace,
    folder: Path,
    cells: int,
    results: Sequence[CellResult],
    planned_s: float,
    took_s: float,
) -> None:
    """What this run measured; `cells` counts those of earlier ones too."""
    numbers = {status: sum(result.status == status for result in results) for status in STATUSES}
    if options.format == "json":
        document: Document = {
            "out": str(folder),
            "instance": options.instance,
            "cells": cells,
            "measured": len(results),
            "ok": numbers["ok"],
            "out_of_memory": numbers["out-of-memory"],
            "failed": numbers["failed"],
            "minutes": round(took_s / 60, 1),
            "planned_minutes": round(planned_s / 60, 1),
        }
        print_json(document)
        return
    if not results:
        print(f"{folder}: all {cells} cells are already measured")
        return
    ends = ", ".join(f"{number} {status}" for status, number in numbers.items() if number)
    took = f"{format_duration(took_s)} ({format_duration(planned_s)} planned)"
    earlier = f"; {cells - len(results)} more were already measured" if cells > len(results) else ""
    print(f"{folder}: {len(results)} cells measured ({ends}) in {took}{earlier}")


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
        raise InputError("Name this machine: --instance NAME.")
    if not (is_short_text(options.instance) and options.instance.strip()):
        raise InputError("--instance must be a short text, such as g5.xlarge or my-rtx-4080.")
    if options.out is not None:
        return Path(options.out).expanduser()
    name = re.sub(r"[^\w.-]+", "-", options.instance).strip(".-")
    if not name:
        raise InputError(f"{options.instance!a} can't be a folder name: name a folder with --out.")
    return Path("collected") / name


def _words(option: str, text: str, known: Sequence[_Word]) -> tuple[_Word, ...]:
    words = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    if not words or set(words) - set(known):
        raise InputError(f"{option} {text[:60]!a}: choose from {', '.join(known)}.")
    return tuple(one for word in words for one in known if one == word)


def _numbers(option: str, text: str, most: int) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    valid = [word for word in words if word.isascii() and word.isdigit() and len(word) <= 6 and 0 < int(word) <= most]
    if not words or len(valid) != len(words):
        raise InputError(f"{option} {text[:60]!a}: give whole numbers from 1 to {most:,}, such as 32,64.")
    return tuple(dict.fromkeys(map(int, words)))


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
