"""Which cells are measured, those of them that tell most of a new GPU, and how long each is expected to take."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import NamedTuple

from profet_collect.networks import MEASURED, MEASURED_PIXELS, NEWER, counts_of, known_name
from profet_collect.store import Cell, Framework, Precision
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.units import MS_PER_S

#: Of the published measurements.
PIXELS = MEASURED_PIXELS
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
    lists = {"measured": [*MEASURED], "newer": [*NEWER], "all": [*MEASURED, *NEWER]}
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise InputError("Name at least one network, or use measured, newer or all.")
    found = [name for word in words for name in lists.get(word.lower()) or [known_name(word)]]
    return tuple(dict.fromkeys(found))


def cells_of(grid: Grid) -> list[Cell]:
    """Every cell that can be built, by framework, then from small networks' cells to large ones'.

    An image that a network is too small for (Inception under 75 pixels) is skipped.

    Raises
    ------
    InputError : none can be built, or there are more than `MAX_CELLS`.
    """
    sides = [(model, pixels) for model in grid.models for pixels in grid.pixels if _is_buildable(model, pixels)]
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


def _is_buildable(model: str, pixels: int) -> bool:
    try:
        counts_of(model, pixels)
    except InputError:
        return False
    return True


def measurable(cells: Sequence[Cell], capability: float | None) -> list[Cell]:
    """Without the cells in TF32 where the GPU has none (before Ampere), which would be FP32 under another name."""
    has_tf32 = capability is not None and capability >= 8
    return [cell for cell in cells if cell.precision != "tf32" or has_tf32]


QUICK_S = 20 * 60.0
_LARGEST_SHARE = 0.1


@cache
def quick_workloads() -> dict[tuple[str, int, int], float]:
    """(model, pixels, batch size) -> error in per cent on a held-out GPU with this cell and all before it known.

    Each cell lowered the error of a Gaussian process over log ratios most, on each of the four GPUs as the new one and
    networks held out. The same GPUs chose and judged: on another one the error is larger.
    """
    text = resources.files(__package__).joinpath("quick_cells.csv").read_text(encoding="utf-8")
    return {
        (row["model"], int(row["pixels"]), int(row["batch_size"])): float(row["error_percent"])
        for row in csv.DictReader(text.splitlines())
    }


def quick_cells(grid: Grid, seconds_of: Callable[[Cell], float], within_s: float = QUICK_S) -> list[Cell]:
    """As many of the grid's cells as fit into the time, those that tell most first; at least one if the table has any.

    A cell that takes more than a tenth of the time is skipped: it is not worth ten others. All are in the first
    framework and precision of the grid: what another one changes takes cells of its own.
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


# --- what they take ---------------------------------------------------------------------------------------------------

#: A step in milliseconds by specs, of the published FP32 latencies on M60, K80, T4 and V100 (least squares in the
#: logarithm with `scipy.optimize.least_squares`, soft L1 loss: 32% off at the mean).
_START_MS, _LAYER_MS = 1.415, 0.1257
_FLOPS_FACTOR, _DEPTHWISE_PASSES, _ACTIVATION_PASSES, _PARAMETER_PASSES = 0.6619, 1.234, 18.15, 26.33
_COPY_MS_PER_MB = 0.3633
#: Building and tracing a layer and reading its part of the trace, seconds, until it is measured.
_LAYER_S: Mapping[Framework, float] = {"pytorch": 0.005, "tensorflow": 0.06}
#: Steps that are profiled, and what the first takes longer than any other.
_MORE_STEPS = 2
#: Multiply-adds of forward and backward together, over those of forward.
_FORWARD_AND_BACKWARD = 3
_FP32_BYTES = 4


class Timed(NamedTuple):
    """A cell that was run: the seconds its process took, and its step's milliseconds."""

    cell: Cell
    took_s: float
    latency_ms: float


@dataclass
class Expected:
    """Seconds of cells; `calibrate` corrects them by what two cells really took.

    Attributes
    ----------
    start_s : by framework, what a cell takes whatever its network. layer_s : and for each of its layers.
    steps : warm-up and timed ones. timeout_s : no cell takes longer.
    sheet : of the GPU.
    pace : by framework, what steps took over what was expected.
    """

    start_s: dict[Framework, float]
    steps: int
    timeout_s: float
    sheet: Gpu
    layer_s: dict[Framework, float] = field(default_factory=lambda: dict(_LAYER_S))
    pace: dict[Framework, float] = field(default_factory=dict)

    def seconds(self, cell: Cell) -> float:
        """Of one cell, its process's start and end among them."""
        steps_s = self._all_steps_s(self.step_ms(cell) * self.pace.get(cell.framework, 1.0))
        layers_s = self.layer_s[cell.framework] * _layers(cell)
        return min(self.start_s[cell.framework] + layers_s + steps_s, self.timeout_s)

    def calibrate(self, shallow: Timed, deep: Timed) -> None:
        """Take start and time of a layer from a framework's cells of few and many layers, the pace from the latter."""
        framework = shallow.cell.framework
        rest_s = [one.took_s - self._all_steps_s(one.latency_ms) for one in (shallow, deep)]
        layers = [_layers(one.cell) for one in (shallow, deep)]
        self.layer_s[framework] = max(rest_s[1] - rest_s[0], 0.0) / (layers[1] - layers[0])
        self.start_s[framework] = max(rest_s[0] - self.layer_s[framework] * layers[0], 0.1)
        self.pace[framework] = deep.latency_ms / self.step_ms(deep.cell)

    def step_ms(self, cell: Cell) -> float:
        """Expected step latency before measuring."""
        counts, batch = counts_of(cell.model, cell.pixels), cell.batch_size
        depthwise = _FORWARD_AND_BACKWARD * batch * counts.flops.depthwise
        others = _FORWARD_AND_BACKWARD * batch * counts.flops.all - depthwise
        peak, bandwidth = self.sheet.fp32_tflops, self.sheet.bandwidth_gb_per_s
        if cell.precision != "fp32" and self.sheet.tf32_tensor_dense_tflops:
            # Speed grows with about the square root of the peak.
            peak = (peak * self.sheet.tf32_tensor_dense_tflops) ** 0.5
        return (
            _START_MS
            + _LAYER_MS * counts.layers.all
            + _FLOPS_FACTOR * others / peak / 1e9
            + _DEPTHWISE_PASSES * depthwise / bandwidth / 1e6
            + _ACTIVATION_PASSES * _FP32_BYTES * counts.elements.all * batch / bandwidth / 1e6
            + _PARAMETER_PASSES * _FP32_BYTES * counts.parameters / bandwidth / 1e6
            + _COPY_MS_PER_MB * cell.pixels**2 * 12 * batch / 1e6
        )

    def _all_steps_s(self, step_ms: float) -> float:
        return (self.steps + _MORE_STEPS) * step_ms / MS_PER_S


def _layers(cell: Cell) -> int:
    return counts_of(cell.model, cell.pixels).layers.all
