"""Shortlist of plans: the cheapest per GPU, nearest to the frontier."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from profet_core.advice.frontier import frontier
from profet_core.advice.plans import Plan
from profet_core.catalog.nodes import is_ones_own

#: Number of plans a reader can take in at a glance.
MOST_SHORTLISTED = 6


def same_gpus(plan: Plan) -> tuple[str, int]:
    """GPU model and number of GPUs, the key that offers of different providers share."""
    return plan.offer.gpu_model, plan.offer.gpu_count


def plan_a_gpu(plans: Iterable[Plan], keep: Collection[Plan] = ()) -> list[Plan]:
    """Cheapest plan per GPU model and number of GPUs, plus plans that must be shown; cheapest first.

    These are plans that no other GPU's cheapest plan beats, custom offers, and `keep`.
    """
    every = _cheapest_first(plans)
    return _of(every, (*_cheapest_a_gpu(every), *_in_sight(every, keep)))


def shortlist(plans: Iterable[Plan], keep: Collection[Plan] = (), most: int = MOST_SHORTLISTED) -> list[Plan]:
    """Plans of `plan_a_gpu` nearest to the frontier, cheapest first.

    All plans if there are few.

    Parameters
    ----------
    keep : plans that must be shown, such as those that a sentence names.
    most : maximum number of plans, exceeded only if more must be shown.
    """
    every = _cheapest_first(plans)
    if len(every) <= most:
        return every
    in_sight = _in_sight(every, keep)
    best = frontier(every)
    shown = _stood_for(in_sight, best)
    others = [plan for plan in _cheapest_a_gpu(every) if plan not in in_sight and same_gpus(plan) not in shown]
    nearest = sorted(others, key=lambda plan: _times_beaten(plan, best))
    return _of(every, (*in_sight, *nearest[: max(0, most - len(in_sight))]))


def others_of_gpus(plans: Iterable[Plan], plan: Plan) -> list[Plan]:
    """Plans on the same number of the same GPU model, cheapest first."""
    return [other for other in _cheapest_first(plans) if other != plan and same_gpus(other) == same_gpus(plan)]


def _cheapest_a_gpu(cheapest_first: Iterable[Plan]) -> list[Plan]:
    found: dict[tuple[str, int], Plan] = {}
    for plan in cheapest_first:
        found.setdefault(same_gpus(plan), plan)
    return list(found.values())


def _in_sight(cheapest_first: Sequence[Plan], keep: Iterable[Plan]) -> set[Plan]:
    """Plans that no other GPU's cheapest plan beats; other hosts of a GPU can be slightly faster and cost more."""
    must = {*keep, *(plan for plan in cheapest_first if is_ones_own(plan.offer))}
    shown = _stood_for(must, frontier(cheapest_first))
    return must | {plan for plan in frontier(_cheapest_a_gpu(cheapest_first)) if same_gpus(plan) not in shown}


def _stood_for(plans: Iterable[Plan], best: Sequence[Plan]) -> set[tuple[str, int]]:
    """GPUs that these plans represent; a dominated plan does not represent its GPU's best offer."""
    return {same_gpus(plan) for plan in plans if plan in best}


def _times_beaten(plan: Plan, best: Sequence[Plan]) -> float:
    """Factor by which a plan's time and cost must both shrink before no other plan beats it."""
    return max(min(plan.total_s / other.total_s, plan.total_usd / other.total_usd) for other in best)


def _of(plans: Sequence[Plan], wanted: Iterable[Plan]) -> list[Plan]:
    wanted = set(wanted)
    return [plan for plan in plans if plan in wanted]


def _cheapest_first(plans: Iterable[Plan]) -> list[Plan]:
    return sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s))
