"""Plan a fleet: what each machine measures, its time and its cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_collect.cloud.choice import Rented
from profet_collect.expected import Expected
from profet_collect.grid import Grid, cells_of, measurable
from profet_collect.machine import Machine
from profet_collect.quick import quick_cells
from profet_collect.run import Protocol
from profet_core.collected.record import Cell, Framework
from profet_core.errors import InputError

#: Assumed for an unknown machine: boot with drivers and installation, and a framework's start.
SETUP_S = 600.0
_START_S: Mapping[Framework, float] = {"pytorch": 8.0, "tensorflow": 14.0}


@dataclass(frozen=True, slots=True)
class CloudTask:
    """One machine's.

    Attributes
    ----------
    name : of its file and job, and of the collection's folder.
    seconds : its start, installing and all cells.
    """

    name: str
    rented: Rented
    cells: tuple[Cell, ...]
    seconds: float

    @property
    def instance(self) -> str:
        """What the collection is of."""
        return self.rented.offer.name

    def usd(self, market: str) -> float | None:
        """Cost in a market; None without a price."""
        price = self.rented.usd_per_hour.get(market)
        return None if price is None else price * self.seconds / 3600


def cloud_tasks(fleet: Sequence[Rented], grid: Grid, protocol: Protocol, *, is_quick: bool) -> list[CloudTask]:
    """A task a machine.

    Raises
    ------
    InputError : no cell of the grid can be measured on one of them.
    """
    tasks = []
    for rented in fleet:
        expected = _expected(rented, grid, protocol)
        found = quick_cells(grid, expected.seconds) if is_quick else cells_of(grid)
        cells = tuple(measurable(found, rented.gpu.compute_capability))
        if not cells:
            why = "TF32 needs compute capability 8" if found else "no cell of --quick takes less than two minutes"
            raise InputError(f"No cells remain for {rented.offer.name}: {why}.")
        seconds = SETUP_S + sum(map(expected.seconds, cells))
        tasks.append(CloudTask(task_name(rented.offer.name), rented, cells, seconds))
    return tasks


def task_name(instance: str) -> str:
    """An instance's name as clouds allow a job to be called.

    >>> task_name("gcp/n1-standard-4+1xT4")
    'profet-gcp-n1-standard-4-1xt4'
    """
    return "profet-" + re.sub(r"[^a-z0-9]+", "-", instance.lower()).strip("-")


def _expected(rented: Rented, grid: Grid, protocol: Protocol) -> Expected:
    start_s = {name: _START_S[name] for name in grid.frameworks}
    machine = Machine("gpu", rented.gpu.name, rented.gpu.compute_capability, "", None, {}, start_s)
    return Expected(machine, protocol.warm_up + protocol.timed, protocol.timeout_s, rented.gpu)
