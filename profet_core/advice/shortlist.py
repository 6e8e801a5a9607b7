"""The few of many plans that are worth a row: a GPU's cheapest, and of the GPUs those that come nearest to the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profet_core.advice.advise import Advice
from profet_core.advice.plans import Plan
from profet_core.advice.words import named_plans
from profet_core.catalog.nodes import is_ones_own

#: As many as are taken in at a glance.
MOST_SHORTLISTED = 8


def same_gpus(plan: Plan) -> tuple[str, int]:
    """What plans have in common that differ in who rents the GPUs out: their model and number."""
    return plan.offer.gpu_model, plan.offer.gpu_count


def plan_a_gpu(advice: Advice) -> list[Plan]:
    """Of each GPU model and number of GPUs the cheapest plan, and what else must be in sight; the cheapest first.

    In sight stays what no other plan beats, what the answer names, and what is one's own.
    """
    cheapest: dict[tuple[str, int], Plan] = {}
    for plan in advice.plans:
        cheapest.setdefault(same_gpus(plan), plan)
    return _in_order(advice, (*cheapest.values(), *_in_sight(advice)))


def shortlist(advice: Advice, most: int = MOST_SHORTLISTED, *, instances: Iterable[str] = ()) -> list[Plan]:
    """Of `plan_a_gpu` the plans that are nearest to the frontier, the cheapest first; all plans where they are few.

    Parameters
    ----------
    most : so many, or more where more must be in sight.
    instances : whose plans are in sight too, such as the one that the profile is from.
    """
    if len(advice.plans) <= most:
        return list(advice.plans)
    names = set(instances)
    found = dict.fromkeys((*_in_sight(advice), *(plan for plan in advice.plans if plan.instance in names)))
    behind = {plan: _times_beaten(plan, advice.frontier) for plan in plan_a_gpu(advice) if plan not in found}
    nearest = sorted(behind, key=behind.__getitem__)
    return _in_order(advice, (*found, *nearest[: max(0, most - len(found))]))


def others_of_gpus(advice: Advice, plan: Plan) -> list[Plan]:
    """Plans on as many GPUs of the same model, the cheapest first."""
    return [other for other in advice.plans if other != plan and same_gpus(other) == same_gpus(plan)]


def _in_sight(advice: Advice) -> list[Plan]:
    return [*advice.frontier, *named_plans(advice), *(plan for plan in advice.plans if is_ones_own(plan.offer))]


def _times_beaten(plan: Plan, frontier: Sequence[Plan]) -> float:
    """How many times a plan's time and money would both have to shrink for no other plan to beat it."""
    return max(min(plan.total_s / best.total_s, plan.total_usd / best.total_usd) for best in frontier)


def _in_order(advice: Advice, plans: Iterable[Plan]) -> list[Plan]:
    wanted = set(plans)
    return [plan for plan in advice.plans if plan in wanted]
