"""What is asked of the models and answered: time and speed-up over threads, both models side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.manycore.models import (
    MOST_MEASURED_THREADS,
    XEON_PHI_7120P,
    Machine,
    Network,
    Training,
    TrainingTime,
    contention_at,
    time_by_images,
    time_by_operations,
)
from profet_core.manycore.published import is_beyond_published, nearest_published


@dataclass(frozen=True, slots=True)
class ThreadsRow:
    """A training on so many threads.

    Attributes
    ----------
    cpi : cycles an instruction. contention_s : memory contention an image, seconds.
    a, b : its time by models (a) and (b). speedup_a, speedup_b : the same model's time on one thread over it.
    """

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
    a_alone, b_alone = (time(network, machine, training, 1) for time in (time_by_operations, time_by_images))
    rows = []
    for count in wanted:
        a, b = (time(network, machine, training, count) for time in (time_by_operations, time_by_images))
        rows.append(
            ThreadsRow(
                threads=count,
                cpi=machine.cycles_per_instruction(count),
                contention_s=contention_at(network.contention_s, count),
                a=a,
                b=b,
                speedup_a=a_alone.total_s / a.total_s,
                speedup_b=b_alone.total_s / b.total_s,
            )
        )
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
