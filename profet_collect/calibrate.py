"""Expected cell times on this machine, from its specs and two timed cells."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from profet_collect.cells.process import measure
from profet_collect.cells.task import Task
from profet_collect.expected import Expected, Timed
from profet_collect.machine import Machine
from profet_collect.run import Protocol
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell, Framework
from profet_core.errors import InputError

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
