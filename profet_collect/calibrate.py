"""What is expected of cells on the GPU at hand: by its data sheet, or by one cell that is timed first."""

from __future__ import annotations

from time import perf_counter

from profet_collect.cells.process import measure
from profet_collect.cells.task import Task
from profet_collect.expected import Expected
from profet_collect.machine import Machine
from profet_collect.run import Protocol
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell
from profet_core.errors import InputError
from profet_core.layers.networks import counts_of

#: What is timed where no data sheet tells: seconds of work on one core.
_TIMED = ("ResNet18", 32, 16)
#: Of a processor, before anything was timed.
_FLOPS_PER_MS = 1e7


def expected_at_hand(machine: Machine, protocol: Protocol, *, is_timed: bool) -> Expected:
    """Expectations by the GPU's data sheet; else, where `is_timed`, by one cell of each framework that is run for it.

    Raises
    ------
    InputError : that cell doesn't run.
    """
    expected = Expected(machine, protocol.warm_up + protocol.timed, _sheet(machine), _FLOPS_PER_MS)
    if expected.sheet is None and is_timed:
        for framework in machine.seen:
            cell = Cell(framework, "fp32", *_TIMED)
            task = Task(framework, cell, machine.device, machine.threads, protocol.warm_up, protocol.timed)
            began = perf_counter()
            found = measure(task, protocol.timeout_s)
            took_s = perf_counter() - began
            if found.status != "ok":
                raise InputError(f"A first cell ({cell}) doesn't run: {found.why}.")
            latency_ms = sorted(found.latencies_ms)[len(found.latencies_ms) // 2]
            rate = 3 * cell.batch_size * counts_of(cell.model, cell.pixels).flops / latency_ms
            # Small steps hide the rate behind what each layer costs; the faster framework shows it best.
            expected.flops_per_ms = max(rate, expected.flops_per_ms if expected.factor else 0.0)
            expected.learn(cell, took_s, weight=1.0)
    return expected


def _sheet(machine: Machine) -> Gpu | None:
    if machine.device == "cpu":
        return None
    try:
        return load_gpus().find(machine.gpu)
    except InputError:
        return None
