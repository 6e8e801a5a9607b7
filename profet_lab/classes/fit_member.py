"""Trains one member of the default method, a network or trees, for many pairs and folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from profet_core.networks.members import TREES
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees, fit_trees
from profet_lab.classes.jobs import MemberJob
from profet_lab.classes.stacked import STEPS, StackedNetworks, fit_networks


def fit_member(
    bank: ClassBank,
    member: str,
    jobs: Sequence[MemberJob],
    *,
    latency_known: bool,
    sizes_known: bool = False,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int], object] | None = None,
) -> StackedNetworks | BoostedTrees:
    """The member's models, one a job. `steps` is for the networks; progress counts each member as `steps`."""
    known = {"latency_known": latency_known, "sizes_known": sizes_known, "seed": seed}
    if member != TREES:
        return fit_networks(bank, member, jobs, steps=steps, progress=progress, **known)
    trees = fit_trees(bank, jobs, **known)
    if progress:
        progress(steps)
    return trees
