"""Collect one cell after another, each on the disk before the next, and expect their time from two."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from time import perf_counter

from profet_collect.cells.process import measure
from profet_collect.cells.task import Task
from profet_collect.expected import Expected, Timed
from profet_collect.machine import Machine
from profet_collect.store import Store
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell, CellResult, Framework
from profet_core.errors import InputError
from profet_core.units import format_duration, format_ms

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
        failures = [*failures, result] if _is_surprise(result, expected) else []
        _check_failures(failures)


def print_result(place: str, result: CellResult, left_s: float) -> None:
    """A line on stderr that a cell has ended, and what the others are expected to take."""
    latency_ms = result.batch_latency_ms
    outcome = result.status if latency_ms is None else format_ms(latency_ms)
    why = f" ({result.why})" if result.why else ""
    # A closed stream doesn't stop the collection.
    with suppress(OSError):
        print(f"{place}, {format_duration(left_s)} left: {result.cell}: {outcome}{why}", file=sys.stderr, flush=True)


def _is_surprise(result: CellResult, expected: Expected) -> bool:
    """Whether a cell failed that was not just too long for its time."""
    return result.status == "failed" and expected.seconds(result.cell) < expected.timeout_s


def _check_failures(failures: Sequence[CellResult]) -> None:
    if len(failures) >= _FAILURES_IN_A_ROW and len({result.cell.model for result in failures}) > 1:
        raise InputError(
            f"{len(failures)} cells in a row failed, the last one: {failures[-1].why}. Fix that, and run the same "
            "command with --retry to repeat them."
        )


def _result(cell: Cell, machine: Machine, protocol: Protocol) -> CellResult:
    task = Task(
        cell.framework,
        cell,
        machine.device,
        machine.threads,
        protocol.warm_up,
        protocol.timed,
        protocol.seed + cell.repeat,
    )
    found = measure(task, protocol.timeout_s)
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
#: Stands for a GPU without specs, at another pace.
_UNKNOWN = "Tesla T4"


def expected_at_hand(machine: Machine, protocol: Protocol, *, is_timed: bool) -> Expected:
    """Expectations; where `is_timed`, two cells of each framework are run for them.

    Raises
    ------
    InputError : such a cell doesn't run.
    """
    gpu = None if machine.device == "cpu" else _sheet(machine) or load_gpus().find(_UNKNOWN)
    expected = Expected(machine, protocol.warm_up + protocol.timed, protocol.timeout_s, gpu)
    for framework in machine.seen if is_timed else ():
        shallow, deep = (_timed(framework, one, machine, protocol) for one in (_SHALLOW, _DEEP[machine.device]))
        expected.calibrate(shallow, deep)
    return expected


def _timed(framework: Framework, workload: tuple[str, int, int], machine: Machine, protocol: Protocol) -> Timed:
    """Run one cell that counts for nothing else."""
    cell = Cell(framework, "fp32", *workload)
    task = Task(framework, cell, machine.device, machine.threads, protocol.warm_up, protocol.timed)
    began = perf_counter()
    found = measure(task, protocol.timeout_s)
    took_s = perf_counter() - began
    if found.status != "ok":
        raise InputError(f"The first cell ({cell}) failed: {found.why}.")
    return Timed(cell, took_s, median(found.latencies_ms))


def _sheet(machine: Machine) -> Gpu | None:
    try:
        return load_gpus().find(machine.gpu)
    except InputError:
        return None
