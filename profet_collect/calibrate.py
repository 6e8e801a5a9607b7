"""What is expected of cells on the machine at hand: by its data sheet, and by a cell or two that are timed first."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from profet_collect.cells.process import measure
from profet_collect.cells.task import Task
from profet_collect.expected import Expected
from profet_collect.machine import Machine
from profet_collect.run import Protocol
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell, Framework
from profet_core.errors import InputError

#: Hardly any work: what it takes is what every cell takes.
_START = ("LeNet5", 32, 16)
#: Tells the pace of what has no data sheet: a processor, and a GPU, which is then taken for a slow or fast T4.
_PACE = {"cpu": ("ResNet18", 32, 16), "gpu": ("ResNet18", 128, 32)}
_UNKNOWN = "Tesla T4"


def expected_at_hand(machine: Machine, protocol: Protocol, *, is_timed: bool) -> Expected:
    """Expectations; where `is_timed`, cells of each framework are run for them.

    Raises
    ------
    InputError : such a cell doesn't run.
    """
    sheet = None if machine.device == "cpu" else _sheet(machine)
    gpu = None if machine.device == "cpu" else sheet or load_gpus().find(_UNKNOWN)
    expected = Expected(machine, protocol.warm_up + protocol.timed, protocol.timeout_s, gpu)
    for framework in machine.seen if is_timed else ():
        cell, took_s, latency_ms = _timed(framework, _START, machine, protocol)
        expected.learn_start(cell, took_s, latency_ms, weight=1.0)
        if sheet is None:
            expected.learn(*_timed(framework, _PACE[machine.device], machine, protocol), weight=1.0)
    return expected


def _timed(
    framework: Framework, workload: tuple[str, int, int], machine: Machine, protocol: Protocol
) -> tuple[Cell, float, float]:
    """The cell, the seconds it took, and its step's milliseconds."""
    cell = Cell(framework, "fp32", *workload)
    task = Task(framework, cell, machine.device, machine.threads, protocol.warm_up, protocol.timed)
    began = perf_counter()
    found = measure(task, protocol.timeout_s)
    took_s = perf_counter() - began
    if found.status != "ok":
        raise InputError(f"A first cell ({cell}) doesn't run: {found.why}.")
    return cell, took_s, median(found.latencies_ms)


def _sheet(machine: Machine) -> Gpu | None:
    try:
        return load_gpus().find(machine.gpu)
    except InputError:
        return None
