"""Tells how many training steps a TensorFlow trace holds, from its marks and from how often operations ran."""

from __future__ import annotations

import math
from collections.abc import Iterable

from profet_core.profiles.tensorflow_names import DATASET

#: The first and the last step.
UNMARKED_ENDS = 2


def tells_steps(full_name: str, kind: str) -> bool:
    """True for an operation of a graph, "model/layer/Conv2D:Conv2D": all runs of that name are runs of one operation.

    Eager operations have no path, and the input pipeline reads ahead.
    """
    return kind != DATASET and "/" in full_name.partition(":")[0]


def count_steps(marked: int, runs: Iterable[int]) -> tuple[int, list[str]]:
    """Number of steps, at least 1, and what is to be said of it.

    The first step may have begun before the profiler and the last one ended after it; such a step leaves no mark. Of
    the three that tf_keras' TensorBoard callback records with `profile_batch=(5, 7)` only one is marked, but each ran
    every operation. Where nothing is marked the runs alone tell, as in XProf's statistics, which hold no marks.

    Parameters
    ----------
    marked : steps that the trace marks.
    runs : how often each operation ran for which `tells_steps` is true.
    """
    ran = math.gcd(*runs)
    if ran > max(marked, 1) and (marked == 0 or ran <= marked + UNMARKED_ENDS):
        some = "none" if marked == 0 else str(marked)
        return ran, [f"The trace marks {some} of its steps, but every operation ran {ran} times: divided by {ran}."]
    return max(marked, 1), [] if marked else ["The trace marks no step: it is read as one."]
