"""Which cells are measured: the grid of workloads, and those of it that tell most of a new GPU."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import takewhile

from profet_core.collected.record import Cell, Framework, Precision
from profet_core.errors import InputError
from profet_core.layers.networks import counts_of, measured_networks, named_networks, network_name

#: One of each newer family, beside the 15 networks of the published measurements.
NEWER = (
    "ConvNeXt-Tiny",
    "EfficientNet-B0",
    "RegNetY-800MF",
    "DenseNet-121",
    "MobileNetV3-Large",
    "ResNeXt-50 32x4d",
)
#: Of the published measurements.
PIXELS = (32, 64, 128, 224, 256)
BATCH_SIZES = (16, 32, 64, 128, 256)
#: More than a grid of everything has.
MAX_CELLS = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """What cells are made of; each field in the order in which it is measured."""

    models: tuple[str, ...]
    pixels: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    precisions: tuple[Precision, ...]
    frameworks: tuple[Framework, ...]
    repeats: int = 1


def models_of(text: str) -> tuple[str, ...]:
    """Networks by name; `measured`, `newer` and `all` are lists of them.

    >>> models_of("newer")[0], models_of("resnet50,VGG16")
    ('ConvNeXt-Tiny', ('ResNet50', 'VGG16'))
    """
    lists = {"measured": measured_networks(), "newer": list(NEWER), "all": named_networks()}
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise InputError("Name at least one network, or use measured, newer or all.")
    found = [name for word in words for name in lists.get(word.lower()) or [network_name(word)]]
    return tuple(dict.fromkeys(found))


def cells_of(grid: Grid) -> list[Cell]:
    """Every cell that can be built, by framework, then from small networks' cells to large ones'.

    An image that a network is too small for (Inception under 75 pixels) is skipped.

    Raises
    ------
    InputError : none can be built, or there are more than `MAX_CELLS`.
    """
    sides = [(model, pixels) for model in grid.models for pixels in grid.pixels if is_buildable(model, pixels)]
    number = len(sides) * len(grid.batch_sizes) * len(grid.precisions) * len(grid.frameworks) * grid.repeats
    if not number:
        raise InputError("None of these networks can be built for these image sizes: use larger --pixels.")
    if number > MAX_CELLS:
        raise InputError(f"The grid has {number:,} cells; the maximum is {MAX_CELLS:,}.")
    return [
        Cell(framework, precision, model, pixels, batch_size, repeat)
        for framework in grid.frameworks
        for precision in grid.precisions
        for repeat in range(grid.repeats)
        for model, pixels in sides
        for batch_size in grid.batch_sizes
    ]


def is_buildable(model: str, pixels: int) -> bool:
    """Whether images of this size are large enough."""
    try:
        counts_of(model, pixels)
    except InputError:
        return False
    return True


def measurable(cells: Sequence[Cell], capability: float | None) -> list[Cell]:
    """Without the cells in TF32 where the GPU has none (before Ampere), which would be FP32 under another name."""
    has_tf32 = capability is not None and capability >= 8
    return [cell for cell in cells if cell.precision != "tf32" or has_tf32]


#: Each cell lowered the error of a Gaussian process over log ratios most, on each of the four GPUs as the new one and
#: networks held out. The same GPUs chose and judged: on another one the error is larger.
TABLE_NAME = "quick_cells.csv"
QUICK_S = 20 * 60.0
_LARGEST_SHARE = 0.1

Workload = tuple[str, int, int]


@cache
def quick_workloads() -> dict[Workload, float]:
    """(model, pixels, batch size) -> error in per cent on a held-out GPU with this cell and all before it known."""
    text = resources.files(__package__).joinpath(TABLE_NAME).read_text(encoding="utf-8")
    return {
        (row["model"], int(row["pixels"]), int(row["batch_size"])): float(row["error_percent"])
        for row in csv.DictReader(text.splitlines())
    }


def quick_cells(grid: Grid, seconds_of: Callable[[Cell], float], within_s: float = QUICK_S) -> list[Cell]:
    """As many of the grid's cells as fit into the time, those that tell most first; at least one if the table has any.

    A cell that takes more than a tenth of the time is skipped: it is not worth ten others.

    In the first framework and precision of the grid: what another one changes takes cells of its own.
    """
    found: list[Cell] = []
    left_s = within_s
    for model, pixels, batch_size in quick_workloads():
        if model in grid.models and pixels in grid.pixels and batch_size in grid.batch_sizes:
            cell = Cell(grid.frameworks[0], grid.precisions[0], model, pixels, batch_size)
            seconds = seconds_of(cell)
            if seconds <= within_s * _LARGEST_SHARE:
                left_s -= seconds
                if found and left_s < 0:
                    break
                found.append(cell)
    return found


def known_error(cells: Sequence[Cell]) -> tuple[int, float] | None:
    """How many of the table's workloads, from its top without a gap, are among these cells, and its error after them.

    None: not even the first is. The table knows no error of workloads with a gap between them.
    """
    there = {(cell.model, cell.pixels, cell.batch_size) for cell in cells}
    errors = [error for _, error in takewhile(lambda row: row[0] in there, quick_workloads().items())]
    return (len(errors), errors[-1]) if errors else None
