"""Time and speed-up over threads, both models side by side, and checks of both against what was published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.manycore.models import (
    MOST_MEASURED_THREADS,
    PUBLISHED_THREADS,
    XEON_PHI_7120P,
    Machine,
    Network,
    Training,
    TrainingTime,
    contention_at,
    time_by_images,
    time_by_operations,
)
from profet_core.manycore.published import (
    LARGE,
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_SPEEDUP_THREADS,
    PUBLISHED_TRAINING,
    is_beyond_published,
    nearest_published,
)


@dataclass(frozen=True, slots=True)
class ThreadsRow:
    """A training on so many threads: cycles an instruction, contention an image, times by both models and speed-ups."""

    threads: int
    cpi: float
    contention_s: float
    a: TrainingTime
    b: TrainingTime
    speedup_a: float
    speedup_b: float

    @property
    def extrapolated(self) -> bool:
        """Whether contention was measured at no such number of threads."""
        return self.threads > MOST_MEASURED_THREADS


@dataclass(frozen=True, slots=True)
class ManycoreAnswer:
    """One row a number of threads, the fewest first."""

    network: Network
    training: Training
    machine: Machine
    rows: tuple[ThreadsRow, ...]
    notes: tuple[str, ...]


def manycore(
    network: Network, training: Training, threads: Iterable[int], *, machine: Machine = XEON_PHI_7120P
) -> ManycoreAnswer:
    """Time and speed-up of a training on each number of threads.

    Raises
    ------
    InputError : there is none, or one is out of bounds.
    """
    wanted = sorted(set(threads))
    if not wanted:
        raise InputError("Give at least one number of threads, such as 1,60,240.")
    a_alone, b_alone = time_by_operations(network, machine, training, 1), time_by_images(network, machine, training, 1)
    rows = []
    for count in wanted:
        a = time_by_operations(network, machine, training, count)
        b = time_by_images(network, machine, training, count)
        cpi, contention_s = machine.cycles_per_instruction(count), contention_at(network.contention_s, count)
        speedups = a_alone.total_s / a.total_s, b_alone.total_s / b.total_s
        rows.append(ThreadsRow(count, cpi, contention_s, a, b, *speedups))
    return ManycoreAnswer(network, training, machine, tuple(rows), tuple(_notes(network, rows)))


def _notes(network: Network, rows: Iterable[ThreadsRow]) -> Iterable[str]:
    """What to keep in mind, one line each."""
    if is_beyond_published(network.forward_flops):
        end = nearest_published(network.forward_flops)
        times = network.forward_flops / end.forward_flops
        apart = f"{times:,.0f} times" if times >= 10 else f"{times:.2g} times"
        yield (
            f"An image takes {apart} the FLOPs of the {end.name} network, the closest published one: its values "
            "were scaled in proportion."
        )
    if any(row.extrapolated for row in rows):
        yield (
            f"Above {MOST_MEASURED_THREADS} threads, memory contention is extrapolated and the processor would "
            "need more cores."
        )


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A published network on so many threads: minutes by both models, and model (a)'s as published where it was."""

    network: str
    threads: int
    a_min: float
    b_min: float
    speedup_a: float
    speedup_b: float
    published_min: float | None

    @property
    def apart_percent(self) -> float:
        """By how much (a) is longer than (b)."""
        return 100 * (self.a_min / self.b_min - 1)

    @property
    def same_digits(self) -> bool:
        """Whether model (a) gives the published prediction as it was printed."""
        return self.published_min is not None and f"{self.a_min:.1f}" == f"{self.published_min:.1f}"


def check_rows() -> list[CheckRow]:
    """Every published network at every published number of threads."""
    return [row for name in PUBLISHED for row in _rows(name, PUBLISHED_THREADS)]


def speedup_row() -> CheckRow:
    """The large network at the threads whose speed-up was measured and published."""
    return _rows(LARGE.name, [PUBLISHED_SPEEDUP_THREADS])[0]


def mean_apart_percent(rows: Iterable[CheckRow], network: str, *, extrapolated: bool) -> float:
    """Mean distance of (a) from (b) where contention was measured, or above."""
    of_network = [row for row in rows if row.network == network]
    found = [abs(row.apart_percent) for row in of_network if (row.threads > MOST_MEASURED_THREADS) is extrapolated]
    return sum(found) / len(found)


def _rows(name: str, threads: Iterable[int]) -> list[CheckRow]:
    predictions_min = PUBLISHED_PREDICTIONS_MIN[name]
    return [
        CheckRow(
            name,
            row.threads,
            row.a.total_s / 60,
            row.b.total_s / 60,
            row.speedup_a,
            row.speedup_b,
            predictions_min.get(row.threads),
        )
        for row in manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], threads).rows
    ]
