"""Trains one member of the default method, a network or trees, for many pairs and folds."""

from __future__ import annotations

from collections.abc import Sequence

from profet_core.networks.members import TREES
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees, fit_trees
from profet_lab.classes.fit_networks import STEPS, fit_networks
from profet_lab.classes.stacked import StackedNetworks
from profet_lab.classes.training_set import TrainingSet
from profet_lab.progress import Progress


def fit_member(
    bank: ClassBank,
    member: str,
    training_sets: Sequence[TrainingSet],
    *,
    latency_known: bool,
    sizes_known: bool = False,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> StackedNetworks | BoostedTrees:
    """The member's models, one a training set. `steps`: of the networks; progress counts every member as so many."""
    if member != TREES:
        return fit_networks(
            bank,
            member,
            training_sets,
            latency_known=latency_known,
            sizes_known=sizes_known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
    trees = fit_trees(bank, training_sets, latency_known=latency_known, sizes_known=sizes_known, seed=seed)
    if progress:
        progress(steps)
    return trees
