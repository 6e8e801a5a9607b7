"""Measure a grid of cells on the machine at hand, each on the disk before the next; and how fast it loads images."""

from __future__ import annotations

import csv
import json
import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from profet_collect.cell import CellTask, Device, Seen, look, measure
from profet_collect.networks import MEASURED, MEASURED_PIXELS, NEWER, counts_of, known_name, missing
from profet_collect.store import FRAMEWORKS, Cell, CellResult, Framework, Precision, Store
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.files import shipped_folder
from profet_profiles.units import MS_PER_S, format_duration, format_ms
from profet_profiles.whole_files import read_signed

#: Of the published measurements.
PIXELS = MEASURED_PIXELS
BATCH_SIZES = (16, 32, 64, 128, 256)
#: More than a grid of everything has.
MAX_CELLS = 100_000


class Grid(Struct, frozen=True):
    """Fields that cells are made of, each in the order in which it is measured."""

    models: tuple[str, ...]
    pixels: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    precisions: tuple[Precision, ...]
    frameworks: tuple[Framework, ...]
    repeats: int = 1


def parse_models(text: str) -> tuple[str, ...]:
    """Networks by name; `measured`, `newer` and `all` are lists of them.

    >>> parse_models("newer")[0], parse_models("resnet50,VGG16")
    ('ConvNeXt-Tiny', ('ResNet50', 'VGG16'))
    """
    lists = {"measured": [*MEASURED], "newer": [*NEWER], "all": [*MEASURED, *NEWER]}
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise InputError("Name at least one network, or use measured, newer or all.")
    names = [name for word in words for name in lists.get(word.lower()) or [known_name(word)]]
    return tuple(dict.fromkeys(names))


def grid_cells(grid: Grid) -> list[Cell]:
    """Every cell that can be built, by framework, then from small networks' cells to large ones'.

    Skipped are images that are too small for a network (Inception under 75 pixels), and networks a framework lacks.

    Raises
    ------
    InputError : none can be built, or there are more than `MAX_CELLS`.
    """
    sides = []
    for model, pixels in product(grid.models, grid.pixels):
        with suppress(InputError):
            counts_of(model, pixels)
            sides.append((model, pixels))
    lacking = {framework: missing(framework) for framework in grid.frameworks}
    built = {name: [side for side in sides if side[0] not in lacking[name]] for name in grid.frameworks}
    number = sum(map(len, built.values())) * len(grid.batch_sizes) * len(grid.precisions) * grid.repeats
    if not number:
        raise InputError("None of these networks can be built: use larger --pixels or another framework.")
    if number > MAX_CELLS:
        raise InputError(f"The grid has {number:,} cells; the maximum is {MAX_CELLS:,}.")
    return [
        Cell(framework, precision, model, pixels, batch_size, repeat)
        for framework in grid.frameworks
        for precision in grid.precisions
        for repeat in range(grid.repeats)
        for model, pixels in built[framework]
        for batch_size in grid.batch_sizes
    ]


def measurable(cells: Sequence[Cell], capability: float | None) -> list[Cell]:
    """Without the cells in TF32 where the GPU has none (before Ampere), which would be FP32 under another name."""
    has_tf32 = capability is not None and capability >= 8
    return [cell for cell in cells if cell.precision != "tf32" or has_tf32]


QUICK_S = 20 * 60.0
_MAX_SHARE = 0.1
#: Of `quick_cells.csv`; a change of it is signed here.
_TABLE_SHA256 = "81f5c8d09a4a29731c84f813cba2bc1e446c8e647a826d7449ee20f660c3fe1f"


@cache
def quick_workloads() -> tuple[tuple[str, int, int], ...]:
    """List (model, pixels, batch size) of cells, those that tell most of a new GPU first.

    Each lowered the error of a Gaussian process over log ratios most, on each of the four GPUs as the new one and
    networks held out.
    """
    text = read_signed(Path(__file__).with_name("quick_cells.csv"), _TABLE_SHA256)
    rows = csv.DictReader(text.splitlines())
    return tuple((row["model"], int(row["pixels"]), int(row["batch_size"])) for row in rows)


def quick_cells(grid: Grid, seconds_of: Callable[[Cell], float], within_s: float = QUICK_S) -> list[Cell]:
    """As many of the grid's cells as fit into the time, those that tell most first; at least one if the table has any.

    A cell that takes more than a tenth of the time is skipped: it is not worth ten others. All are in the first
    framework and precision of the grid: what another one changes takes cells of its own.
    """
    cells: list[Cell] = []
    left_s = within_s
    for model, pixels, batch_size in quick_workloads():
        if model in grid.models and pixels in grid.pixels and batch_size in grid.batch_sizes:
            cell = Cell(grid.frameworks[0], grid.precisions[0], model, pixels, batch_size)
            seconds = seconds_of(cell)
            if seconds <= within_s * _MAX_SHARE:
                left_s -= seconds
                if cells and left_s < 0:
                    break
                cells.append(cell)
    return cells


def known_error(cells: Sequence[Cell]) -> tuple[int, float] | None:
    """Look up the mean error on held-out GPUs with as many workloads as these cells have, or fewer, and that number.

    Percent, on other networks (`profet validate --cells`); None: less than one.
    """
    workloads = len({(cell.model, cell.pixels, cell.batch_size) for cell in cells})
    rows = json.loads((shipped_folder("models") / "cells_validation.json").read_bytes())["rows"]
    judged = [(int(row["cells"]), float(row["mean"])) for row in rows if row["cells"] <= workloads]
    return max(judged, default=None)


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


class ExpectedTimes(Struct):
    """Seconds of cells; `calibrate` corrects them by what two cells really took.

    Attributes
    ----------
    start_s : by framework, what a cell takes whatever its network.
    layer_s : and for each of its layers.
    steps : warm-up and timed ones.
    timeout_s : no cell takes longer.
    gpu : its specs.
    pace : by framework, what steps took over what was expected.
    """

    start_s: dict[Framework, float]
    steps: int
    timeout_s: float
    gpu: Gpu
    layer_s: dict[Framework, float] = field(default_factory=lambda: dict(_LAYER_S))
    pace: dict[Framework, float] = field(default_factory=dict)

    def seconds(self, cell: Cell) -> float:
        """Seconds of one cell, its process's start and end included."""
        steps_s = self._all_steps_s(self.step_ms(cell) * self.pace.get(cell.framework, 1.0))
        layers_s = self.layer_s[cell.framework] * _layers(cell)
        return min(self.start_s[cell.framework] + layers_s + steps_s, self.timeout_s)

    def calibrate(self, shallow: Timed, deep: Timed) -> None:
        """Take start and time of a layer from a framework's cells of few and many layers, the pace from the latter."""
        framework = shallow.cell.framework
        rest_s = [timed.took_s - self._all_steps_s(timed.latency_ms) for timed in (shallow, deep)]
        layers = [_layers(timed.cell) for timed in (shallow, deep)]
        self.layer_s[framework] = max(rest_s[1] - rest_s[0], 0.0) / (layers[1] - layers[0])
        self.start_s[framework] = max(rest_s[0] - self.layer_s[framework] * layers[0], 0.1)
        self.pace[framework] = deep.latency_ms / self.step_ms(deep.cell)

    def step_ms(self, cell: Cell) -> float:
        """Estimate the step latency before measuring."""
        counts, batch = counts_of(cell.model, cell.pixels), cell.batch_size
        depthwise = _FORWARD_AND_BACKWARD * batch * counts.flops.depthwise
        others = _FORWARD_AND_BACKWARD * batch * counts.flops.all - depthwise
        peak, bandwidth = self.gpu.fp32_tflops, self.gpu.bandwidth_gb_per_s
        if cell.precision != "fp32" and self.gpu.tf32_tensor_dense_tflops:
            # Speed grows with about the square root of the peak.
            peak = (peak * self.gpu.tf32_tensor_dense_tflops) ** 0.5
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


_MODULES: Mapping[Framework, str] = {"pytorch": "torch", "tensorflow": "tensorflow"}
#: A framework starts within it, on a slow disk too.
_START_TIMEOUT_S = 300.0


class MeasuringMachine(Struct, frozen=True):
    """The machine, and each framework on it.

    Attributes
    ----------
    gpu : name of the GPU, or of the processor that stands in for one.
    driver : NVIDIA's, "" without one.
    seen, start_s : by framework: what it sees, and how long its process took for that.
    """

    device: Device
    gpu: str
    capability: float | None
    driver: str
    threads: int | None
    seen: Mapping[Framework, Seen]
    start_s: Mapping[Framework, float]

    def manifest(self) -> dict[str, Any]:
        """Its part of a collection's manifest, without the host's name."""
        return {
            "device": self.device,
            "gpu": self.gpu,
            "driver": self.driver,
            "threads": self.threads,
            "frameworks": {
                name: " ".join(filter(None, (seen.version, seen.keras))) for name, seen in self.seen.items()
            },
            "host": {
                "processor": _processor_name(),
                "cores": os.cpu_count(),
                "memory_bytes": _memory_bytes(),
                "system": f"{platform.system()} {platform.release()}",
                "python": platform.python_version(),
            },
        }


def installed_frameworks() -> tuple[Framework, ...]:
    """Frameworks that Python finds."""
    return tuple(name for name in FRAMEWORKS if find_spec(_MODULES[name]))


def machine_at_hand(frameworks: Sequence[Framework], device: Device, threads: int | None) -> MeasuringMachine:
    """Start each framework once and ask it.

    Raises
    ------
    InputError : none is installed, one can't be started, sees no GPU, or sees another one than the first does.
    """
    missing = [name for name in frameworks if name not in installed_frameworks()]
    if missing or not frameworks:
        raise InputError(f"Install {' and '.join(missing) or 'PyTorch or TensorFlow'} for this Python first.")
    seen: dict[Framework, Seen] = {}
    start_s: dict[Framework, float] = {}
    for name in frameworks:
        began = perf_counter()
        seen[name] = look(CellTask(name, None, device, threads, timeout_s=_START_TIMEOUT_S))
        start_s[name] = perf_counter() - began
        if device == "gpu" and seen[name].gpu is None:
            raise InputError(
                f"{name} {seen[name].version} sees no GPU: install its GPU build and the driver, exclude it with "
                "--frameworks, or use --device cpu for a test run."
            )
    first = next(iter(seen.values()))
    if other := next((name for name, other_seen in seen.items() if other_seen.gpu != first.gpu), None):
        raise InputError(
            f"{frameworks[0]} sees {first.gpu!r}, {other} {seen[other].gpu!r}: choose one with CUDA_VISIBLE_DEVICES."
        )
    gpu = str(first.gpu)
    if device == "cpu":
        # What stands in for a GPU; with other threads it is another one.
        gpu = _processor_name() + ("" if threads is None else f" on {threads} thread{'s' if threads > 1 else ''}")
    return MeasuringMachine(device, gpu, first.capability, _driver(device), threads, seen, start_s)


def _processor_name() -> str:
    """As Linux has it, else as Python does."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _driver(device: Device) -> str:
    tool = shutil.which("nvidia-smi")
    if device == "cpu" or tool is None:
        return ""
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip().partition("\n")[0]
    return ""


# --- one cell after another ------------------------------------------------------------------------------------------

#: So many cells in a row, of more than one network, fail where something is wrong with the machine.
_FAILURES_IN_A_ROW = 5


def collect(
    cells: Sequence[Cell], machine: MeasuringMachine, store: Store, expected: ExpectedTimes, how: CellTask
) -> None:
    """Measure the cells that `store` lacks, each as `how` says.

    Raises
    ------
    InputError : the disk is full or can't be written, or cell after cell fails.
    """
    left = [cell for cell in cells if cell not in store.finished]
    failures: list[CellResult] = []
    for number, cell in enumerate(left, 1):
        measured = measure(replace(how, framework=cell.framework, cell=cell, seed=how.seed + cell.repeat))
        result = replace(measured, framework_version=machine.seen[cell.framework].version)
        store.append(result)
        print_result(f"{number}/{len(left)}", result, sum(map(expected.seconds, left[number:])))
        # One that is just too long for its time is no surprise.
        is_surprise = result.status == "failed" and expected.seconds(result.cell) < expected.timeout_s
        failures = [*failures, result] if is_surprise else []
        if len(failures) >= _FAILURES_IN_A_ROW and len({failure.cell.model for failure in failures}) > 1:
            raise InputError(
                f"{len(failures)} cells in a row failed, the last one: {failures[-1].why}. Fix that, and run the same "
                "command with --retry to repeat them."
            )


def print_result(place: str, result: CellResult, left_s: float) -> None:
    """Print a line on stderr that a cell has ended, and what the others are expected to take."""
    latency_ms = result.batch_latency_ms
    outcome = result.status if latency_ms is None else format_ms(latency_ms)
    why = f" ({result.why})" if result.why else ""
    # A closed stream doesn't stop the collection.
    with suppress(OSError):
        print(f"{place}, {format_duration(left_s)} left: {result.cell}: {outcome}{why}", file=sys.stderr, flush=True)


#: Hardly any layers and work: what it takes is what every cell takes.
_SHALLOW = ("LeNet5", 32, 16)
#: Gives the time to build and trace a layer, and the pace of steps.
_DEEP = {"cpu": ("ResNet18", 32, 16), "gpu": ("ResNet18", 128, 32)}
#: Stands for a GPU without specs, and for a processor, at another pace.
_UNKNOWN = "Tesla T4"


def expected_at_hand(machine: MeasuringMachine, how: CellTask, *, is_timed: bool) -> ExpectedTimes:
    """Form expectations; where `is_timed`, two cells of each framework are run for them.

    Raises
    ------
    InputError : such a cell doesn't run.
    """
    try:
        gpu = load_gpus().find(machine.gpu)
    except InputError:
        gpu = load_gpus().find(_UNKNOWN)
    expected = ExpectedTimes(dict(machine.start_s), how.warm_up + how.timed, how.timeout_s, gpu)
    for framework in machine.seen if is_timed else ():
        timed = []
        for workload in (_SHALLOW, _DEEP[machine.device]):
            cell, began = Cell(framework, "fp32", *workload), perf_counter()
            measured = measure(replace(how, framework=framework, cell=cell, seed=0))
            if measured.batch_latency_ms is None:
                raise InputError(f"The first cell ({cell}) failed: {measured.why}.")
            timed.append(Timed(cell, perf_counter() - began, measured.batch_latency_ms))
        expected.calibrate(*timed)
    return expected


#: Names of images that both loaders read.
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp")
#: Images that are taken of a larger folder.
_MAX_IMAGES = 10_000
_BATCH_SIZE = 32
#: A random crop has this share of the image's area, and is as high as wide.
_MIN_CROP = 0.08


def measure_loading(
    folder: Path, frameworks: Sequence[Framework] = (), *, pixels: int = 224, seconds: float = 20.0, seed: int = 0
) -> dict[str, Any]:
    """Decode, crop, flip and batch the folder's images on all vCPUs of this process for some seconds.

    Returns
    -------
    `framework`, `images_per_s`, `vcpus` that prepared them, `images` that were taken of the folder, `pixels` that they
    were cropped to, and `images_per_s_per_vcpu`.

    Raises
    ------
    InputError : no framework is installed, or the folder has no images that can be read.
    """
    installed = [name for name in frameworks or installed_frameworks() if name in installed_frameworks()]
    if not installed:
        raise InputError("Install PyTorch with Pillow, or TensorFlow, for this Python first.")
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of images.")
    every = (path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_ENDINGS and path.is_file())
    files = sorted(map(str, islice(every, _MAX_IMAGES)))
    if not files:
        raise InputError(f"{folder} has no {', '.join(IMAGE_ENDINGS)} files.")
    random.Random(seed).shuffle(files)
    vcpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    batches = {"pytorch": _torch_batches, "tensorflow": _tf_batches}[installed[0]]
    try:
        rate = _rate(batches(files, pixels, vcpus), warm_up=2 * vcpus, seconds=seconds)
    except Exception as error:
        # Each framework has errors of its own.
        (line, *_) = [*str(error).strip().splitlines(), type(error).__name__]
        raise InputError(f"The images of {folder} can't be loaded: {line[:200]}") from None
    return {
        "framework": installed[0],
        "images_per_s": rate,
        "vcpus": vcpus,
        "images": len(files),
        "pixels": pixels,
        "images_per_s_per_vcpu": rate / vcpus,
    }


def _rate(sizes: Iterator[int], warm_up: int, seconds: float) -> float:
    """Images per second after some batches, which fill the loader's queue."""
    for _ in islice(sizes, warm_up):
        pass
    images, start = 0, perf_counter()
    for size in sizes:
        images += size
        if (took_s := perf_counter() - start) >= seconds:
            break
    return images / took_s


class _Images:
    """The files over and over, as PyTorch's loader takes them: cropped at random, flipped, as tensors."""

    def __init__(self, files: Sequence[str], pixels: int) -> None:
        self.files, self.pixels = files, pixels

    def __len__(self) -> int:
        return 2**31

    def __getitem__(self, number: int) -> Any:
        import torch
        from PIL import Image

        with Image.open(self.files[number % len(self.files)]) as file:
            image = file.convert("RGB")
        side = (image.width * image.height * random.uniform(_MIN_CROP, 1)) ** 0.5
        width, height = min(side, image.width), min(side, image.height)
        left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
        size = self.pixels, self.pixels
        image = image.resize(size, Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        return values.reshape(*size, 3).permute(2, 0, 1).float().div(255).sub(0.5).div(0.25)


def _torch_batches(files: Sequence[str], pixels: int, vcpus: int) -> Iterator[int]:
    from torch.utils.data import DataLoader

    images: Any = _Images(files, pixels)
    for batch in DataLoader(images, batch_size=_BATCH_SIZE, num_workers=vcpus):
        yield len(batch)


def _tf_batches(files: Sequence[str], pixels: int, vcpus: int) -> Iterator[int]:
    import tensorflow as tf

    def prepared(path: Any) -> Any:
        image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
        area = tf.cast(tf.reduce_prod(tf.shape(image)[:2]), tf.float32) * tf.random.uniform([], _MIN_CROP, 1)
        sides = tf.minimum(tf.cast(tf.sqrt(area), tf.int32), tf.shape(image)[:2])
        image = tf.image.random_crop(image, tf.concat([sides, [3]], 0))
        image = tf.image.random_flip_left_right(tf.image.resize(image, [pixels, pixels]))
        return image / 127.5 - 1

    data = tf.data.Dataset.from_tensor_slices(list(files)).repeat()
    for batch in data.map(prepared, num_parallel_calls=vcpus).batch(_BATCH_SIZE).prefetch(tf.data.AUTOTUNE):
        yield len(batch)
