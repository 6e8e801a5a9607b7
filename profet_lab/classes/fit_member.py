"""Train one member of the default method for many pairs and folds."""

from __future__ import annotations

from collections.abc import Sequence

from profet_core.ensemble.members import TREES
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.boosted import BoostedTrees, fit_trees
from profet_lab.classes.fit_networks import STEPS, fit_networks
from profet_lab.classes.stacked import StackedNetworks
from profet_lab.progress import Progress


def fit_member(
    bank: ClassBank,
    member: str,
    training_rows: Sequence[TrainingRows],
    latency_known: bool,
    sizes_known: bool,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> StackedNetworks | BoostedTrees:
    """The member's models, one for each of `training_rows`.

    `steps` is the networks' number; progress counts every member as so many.
    """
    if member != TREES:
        return fit_networks(
            bank,
            member,
            training_rows,
            latency_known=latency_known,
            sizes_known=sizes_known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
    trees = fit_trees(bank, training_rows, latency_known=latency_known, sizes_known=sizes_known, seed=seed)
    if progress:
        progress(steps)
    return trees
