"""The machine at hand, and its collection: one cell after another, each on the disk before the next."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from profet_collect.cell import Device, Seen, Task, look, measure
from profet_collect.grid import Expected, Timed
from profet_collect.store import FRAMEWORKS, Cell, CellResult, Framework, Store
from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_core.units import format_duration, format_ms

_MODULES: Mapping[Framework, str] = {"pytorch": "torch", "tensorflow": "tensorflow"}
#: A framework starts within it, on a slow disk too.
_START_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Machine:
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
            "frameworks": {name: " ".join(filter(None, (one.version, one.keras))) for name, one in self.seen.items()},
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


def machine_at_hand(frameworks: Sequence[Framework], device: Device, threads: int | None) -> Machine:
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
        seen[name] = look(Task(name, None, device, threads), _START_TIMEOUT_S)
        start_s[name] = perf_counter() - began
        if device == "gpu" and seen[name].gpu is None:
            raise InputError(
                f"{name} {seen[name].version} sees no GPU: install its GPU build and the driver, exclude it with "
                "--frameworks, or use --device cpu for a test run."
            )
    first = next(iter(seen.values()))
    if other := next((name for name, one in seen.items() if one.gpu != first.gpu), None):
        raise InputError(
            f"{frameworks[0]} sees {first.gpu!r}, {other} {seen[other].gpu!r}: choose one with CUDA_VISIBLE_DEVICES."
        )
    gpu = str(first.gpu)
    if device == "cpu":
        # What stands in for a GPU; with other threads it is another one.
        gpu = _processor_name() + ("" if threads is None else f" on {threads} thread{'s' * (threads > 1)}")
    return Machine(device, gpu, first.capability, _driver(device), threads, seen, start_s)


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


@dataclass(frozen=True, slots=True)
class Protocol:
    """How every cell is measured.

    Attributes
    ----------
    warm_up, timed : steps before, and while the latency is taken.
    timeout_s : of a cell, with its process's start.
    """

    warm_up: int = 5
    timed: int = 10
    timeout_s: float = 600.0
    seed: int = 0


def collect(cells: Sequence[Cell], machine: Machine, store: Store, expected: Expected, protocol: Protocol) -> None:
    """Measure the cells that `store` lacks.

    Raises
    ------
    InputError : the disk is full or can't be written, or cell after cell fails.
    """
    left = [cell for cell in cells if cell not in store.finished]
    failures: list[CellResult] = []
    for number, cell in enumerate(left, 1):
        result = _result(cell, machine, protocol)
        store.append(result)
        print_result(f"{number}/{len(left)}", result, sum(map(expected.seconds, left[number:])))
        # One that is just too long for its time is no surprise.
        is_surprise = result.status == "failed" and expected.seconds(result.cell) < expected.timeout_s
        failures = [*failures, result] if is_surprise else []
        if len(failures) >= _FAILURES_IN_A_ROW and len({one.cell.model for one in failures}) > 1:
            raise InputError(
                f"{len(failures)} cells in a row failed, the last one: {failures[-1].why}. Fix that, and run the same "
                "command with --retry to repeat them."
            )


def print_result(place: str, result: CellResult, left_s: float) -> None:
    """A line on stderr that a cell has ended, and what the others are expected to take."""
    latency_ms = result.batch_latency_ms
    outcome = result.status if latency_ms is None else format_ms(latency_ms)
    why = f" ({result.why})" if result.why else ""
    # A closed stream doesn't stop the collection.
    with suppress(OSError):
        print(f"{place}, {format_duration(left_s)} left: {result.cell}: {outcome}{why}", file=sys.stderr, flush=True)


def _task(cell: Cell, machine: Machine, protocol: Protocol, seed: int = 0) -> Task:
    return Task(cell.framework, cell, machine.device, machine.threads, protocol.warm_up, protocol.timed, seed)


def _result(cell: Cell, machine: Machine, protocol: Protocol) -> CellResult:
    found = measure(_task(cell, machine, protocol, protocol.seed + cell.repeat), protocol.timeout_s)
    times = found.latencies_ms
    return CellResult(
        cell,
        machine.seen[cell.framework].version,
        found.status,
        datetime.now(UTC).isoformat(timespec="seconds"),
        why=found.why,
        batch_latency_ms=round(median(times), 4) if times else None,
        latency_repeats_ms=times,
        peak_memory_bytes=found.peak_memory_bytes,
        operations_us=found.operations_us,
    )


#: Hardly any layers and work: what it takes is what every cell takes.
_SHALLOW = ("LeNet5", 32, 16)
#: Gives the time to build and trace a layer, and the pace of steps.
_DEEP = {"cpu": ("ResNet18", 32, 16), "gpu": ("ResNet18", 128, 32)}
#: Stands for a GPU without specs, and for a processor, at another pace.
_UNKNOWN = "Tesla T4"


def expected_at_hand(machine: Machine, protocol: Protocol, *, is_timed: bool) -> Expected:
    """Expectations; where `is_timed`, two cells of each framework are run for them.

    Raises
    ------
    InputError : such a cell doesn't run.
    """
    try:
        gpu = load_gpus().find(machine.gpu)
    except InputError:
        gpu = load_gpus().find(_UNKNOWN)
    expected = Expected(dict(machine.start_s), protocol.warm_up + protocol.timed, protocol.timeout_s, gpu)
    for framework in machine.seen if is_timed else ():
        shallow, deep = (_timed(framework, one, machine, protocol) for one in (_SHALLOW, _DEEP[machine.device]))
        expected.calibrate(shallow, deep)
    return expected


def _timed(framework: Framework, workload: tuple[str, int, int], machine: Machine, protocol: Protocol) -> Timed:
    """Run one cell that counts for nothing else."""
    cell = Cell(framework, "fp32", *workload)
    began = perf_counter()
    found = measure(_task(cell, machine, protocol), protocol.timeout_s)
    took_s = perf_counter() - began
    if found.status != "ok":
        raise InputError(f"The first cell ({cell}) failed: {found.why}.")
    return Timed(cell, took_s, median(found.latencies_ms))
