"""Counts the training steps that a TensorFlow trace holds, from its marks and from how often operations ran."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.profiles.record import StepsBasis
from profet_core.profiles.tensorflow.operation_names import DATASET

#: The first and the last step.
UNMARKED_ENDS = 2
#: Share of the operations whose count is the number of steps, where not all agree.
_NEARLY_ALL = 0.75


@dataclass(frozen=True, slots=True)
class StepCount:
    """Steps that a trace covers, how that is known, and what makes it less sure."""

    steps: int
    basis: StepsBasis
    warnings: tuple[str, ...] = ()


def is_graph_operation(full_name: str, kind: str) -> bool:
    """True for an operation of a graph, "model/layer/Conv2D:Conv2D": all runs of that name are runs of one operation.

    Eager operations have no path, and the input pipeline reads ahead.
    """
    return kind != DATASET and "/" in full_name.partition(":")[0]


def usual_runs(runs: Iterable[int]) -> int | None:
    """How often a step's operations ran, each of which runs once a step or a multiple of it; None if that is open.

    What divides all counts; where nothing does, one operation that the profiler's start or end cut must not decide:
    then the count of nearly all, or one if that is the most frequent count.

    >>> usual_runs([3, 3, 6]), usual_runs([3, 3, 3, 2]), usual_runs([2, 3])
    (3, 3, None)
    """
    counts = Counter(run for run in runs if run > 0)
    if not counts:
        return None
    if (divisor := math.gcd(*counts)) > 1:
        return divisor
    usual, times = counts.most_common(1)[0]
    return usual if usual == 1 or times >= _NEARLY_ALL * counts.total() else None


def count_steps(marked: int, runs: Iterable[int]) -> StepCount:
    """Number of steps, at least 1, how it is known, and what makes it less sure.

    The first step may have begun before the profiler and the last one ended after it; such a step leaves no mark. Of
    the three that tf_keras' TensorBoard callback records with `profile_batch=(5, 7)` only one is marked, but each ran
    every operation. Where nothing is marked the runs alone tell, as in XProf's statistics, which hold no marks.

    Parameters
    ----------
    marked : steps that the trace marks.
    runs : how often each operation ran for which `is_graph_operation` is true.
    """
    ran = usual_runs(runs)
    if ran is None or (marked > 0 and not marked < ran <= marked + UNMARKED_ENDS):
        return StepCount(max(marked, 1), "marked" if marked else "assumed")
    if ran <= max(marked, 1):
        return StepCount(ran, "counted")
    some = "none" if marked == 0 else str(marked)
    warning = f"The trace marks {some} of its steps, but every operation ran {ran} times: divided by {ran}."
    return StepCount(ran, "counted", (warning,))
