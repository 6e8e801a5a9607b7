"""Choose which workloads of a GPU to measure first, without looking at results."""

from __future__ import annotations

import numpy as np

from profet_lab.transfer.steps import BENCHMARK, Steps


def choose_cells(medians: Steps, allowed: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """The benchmark first if it is allowed, then one size of each network in turn; networks and sizes by chance.

    Parameters
    ----------
    allowed : boolean mask of the workloads to choose among. count : at most this many.

    Returns
    -------
    rows : (count,), each once, in the order of choice.

    Raises
    ------
    ValueError : fewer are allowed.
    """
    if allowed.sum() < count:
        raise ValueError(f"{count} cells of {allowed.sum()}")
    left = {
        str(name): list(random.permutation(np.flatnonzero(allowed & (medians.architectures == name))))
        for name in np.unique(medians.architectures[allowed])
    }
    chosen = list(np.flatnonzero(medians.benchmark & allowed))
    for row in chosen:
        left[BENCHMARK[0]].remove(row)
    # The benchmark was its network's turn.
    turn = [name for name in left if not chosen or name != BENCHMARK[0]]
    while len(chosen) < count:
        for name in random.permutation(turn):
            if left[name]:
                chosen.append(left[name].pop())
        turn = list(left)
    return np.array(chosen[:count])
