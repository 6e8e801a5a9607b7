"""Advice as sentences, the same in the app and on the command line."""

from __future__ import annotations

from profet_core.advice.advise import Advice, Beaten, Upgrade
from profet_core.advice.certainty import format_certainty
from profet_core.advice.comparison import basis_caveats
from profet_core.advice.picks import Pick, claim_from, why_too_close
from profet_core.advice.plans import Limits, Plan, compare
from profet_core.advice.within import Within, chance_within
from profet_core.catalog.offers import SPOT, is_guess
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.units import S_PER_HOUR, format_duration, format_price, format_usd

SPOT_CAVEAT = (
    "A spot instance can be taken back at any time: save checkpoints. Time and money lost to interruptions are not in "
    "these numbers, and spot prices change."
)


def answer_sentences(advice: Advice) -> tuple[str, ...]:
    """What to rent and how sure that is; the first sentence is the answer."""
    within = advice.within
    if within is None:
        return (*_cheapest(advice), *_fastest(advice), *_caveats(advice, advice.answer))
    if within.expected is None and within.sure is None:
        return (*_nobody(within), *_caveats(advice, None))
    return (*_kept(advice, within), *_caveats(advice, advice.answer))


def plan_phrase(plan: Plan) -> str:
    """'g4dn.xlarge at $0.526 an hour (5 h 3 min, $2.66)'."""
    return f"{plan.label} at {format_price(plan.offer.usd_per_hour)} an hour ({_figures(plan)})"


def limits_phrase(limits: Limits) -> str:
    """'done within 10 h 0 min for at most $5.00'."""
    parts = ["done"]
    if limits.deadline_s is not None:
        parts.append(f"within {format_duration(limits.deadline_s)}")
    if limits.budget_usd is not None:
        parts.append(f"for at most {format_usd(limits.budget_usd)}")
    return " ".join(parts)


def pick_line(pick: Pick) -> str:
    """How sure a pick is: 'cheaper than g5.xlarge with 97 % certainty'."""
    if pick.rival is None or pick.certainty is None:
        return ""
    if pick.too_close:
        chance = f"{format_certainty(pick.certainty)}{why_too_close(pick.certainty)}"
        return f"too close to call against {pick.rival.label} ({chance})"
    return f"{pick.respect} than {pick.rival.label} with {format_certainty(pick.certainty)} certainty"


def upgrade_line(step: Upgrade) -> str:
    """What more money buys: 'g5.xlarge instead of g4dn.xlarge: 2.1 h sooner for $0.50 more, 4.2 h a dollar'."""
    doubt = ""
    if step.certainty is not None and step.certainty < claim_from(step.faster, step.cheaper):
        doubt = f", too close to call (sooner with {format_certainty(step.certainty)})"
    return (
        f"{step.faster.label} instead of {step.cheaper.label}: {format_duration(step.saves_h * S_PER_HOUR)} sooner for "
        f"{format_usd(step.extra_usd)} more, {format_duration(step.hours_per_usd * S_PER_HOUR)} a dollar{doubt}"
    )


def beaten_lines(advice: Advice) -> list[str]:
    """What another instance beats in time and money; that spot is cheaper than on-demand goes without saying."""
    return [beaten_line(one) for one in advice.beaten if one.by.instance != one.plan.instance]


def beaten_line(one: Beaten) -> str:
    """'p2.xlarge by g4dn.xlarge (over 99 % sure)', of what is beaten in time and money."""
    if one.certainty is None:
        return f"{one.plan.label} by {one.by.label}"
    perhaps = "perhaps " if one.certainty < claim_from(one.plan, one.by) else ""
    return f"{one.plan.label} {perhaps}by {one.by.label} ({format_certainty(one.certainty)} sure)"


def _cheapest(advice: Advice) -> tuple[str, ...]:
    pick = advice.cheapest
    if pick.too_close:
        return (
            f"Rent {plan_phrase(pick.plan)} or {plan_phrase(pick.rival)}: too close to call which is cheaper "
            f"({format_certainty(pick.certainty)} for {pick.plan.label}{why_too_close(pick.certainty)}).",
            *_other_respect(pick),
        )
    if len(advice.plans) == 1:
        return (f"There is only {plan_phrase(pick.plan)}.",)
    if pick.certainty is not None:
        return (f"Rent {plan_phrase(pick.plan)}: the cheapest with {format_certainty(pick.certainty)} certainty.",)
    doubt = " by the estimate; without intervals nobody can say how sure that is" if _other_gpus(advice, pick) else ""
    return (f"Rent {plan_phrase(pick.plan)}: the cheapest{doubt}.",)


def _other_gpus(advice: Advice, pick: Pick) -> bool:
    """Whether there was anything to compare with: offers of one GPU differ in nothing but their price."""
    return any(plan.offer.gpu != pick.plan.offer.gpu for plan in advice.plans)


def _other_respect(pick: Pick) -> tuple[str, ...]:
    """Of two that are too close in one respect, the one that is better in the other."""
    other = "faster" if pick.respect == "cheaper" else "cheaper"
    for one, against in ((pick.plan, pick.rival), (pick.rival, pick.plan)):
        chance = getattr(compare(one, against), other)
        if chance is not None and chance >= claim_from(one, against):
            return (f"Of the two, {one.label} is {other} with {format_certainty(chance)} certainty.",)
    return (f"Which of the two is {other} is too close to call as well.",)


def _fastest(advice: Advice) -> tuple[str, ...]:
    pick = advice.fastest
    if len(advice.plans) == 1:
        return ()
    line = pick_line(pick)
    doubt = f": {line}" if line else " by the estimate" if _other_gpus(advice, pick) else ""
    if pick.plan == advice.cheapest.plan:
        return (f"It is the fastest too{doubt}.",)
    return (f"The fastest is {plan_phrase(pick.plan)}{doubt}.",)


def _kept(advice: Advice, within: Within) -> tuple[str, ...]:
    plan, goal = advice.answer, limits_phrase(within.limits)
    best = "fastest" if within.limits.deadline_h is None else "cheapest"
    asked = format_certainty(within.certainty)
    if within.sure is None:
        chance = chance_within(plan)
        doubt = "no interval is known" if chance is None else f"{format_certainty(chance)} sure"
        lines = [f"Rent {plan_phrase(plan)}: the {best} that is expected to be {goal} ({doubt})."]
        if chance is not None:
            lines.append(f"Nothing keeps to that with {asked} certainty{_surest(within, plan)}.")
        return tuple(lines)
    lines = [f"Rent {plan_phrase(plan)}: the {best} {goal} with at least {asked} certainty ({_sure(plan)})."]
    if within.closest is not None and within.closest.too_close:
        close = within.closest
        lines.append(
            f"{plan_phrase(close.rival)} keeps to it too; too close to call which is {close.respect} "
            f"({format_certainty(close.certainty)} for {plan.label}{why_too_close(close.certainty)})."
        )
        lines += _other_respect(close)
    bolder = within.expected
    if bolder is not None and bolder != plan and _better(bolder, plan, best):
        chance = chance_within(bolder)
        doubt = (
            "without an interval nobody can say how sure that is"
            if chance is None
            else f"that is only {format_certainty(chance)} sure"
        )
        lines.append(f"{plan_phrase(bolder)} is expected to keep to it too, but {doubt}.")
    return tuple(lines)


def _surest(within: Within, plan: Plan) -> str:
    if within.surest is None or within.surest == plan:
        return ""
    return f"; the surest is {plan_phrase(within.surest)}, {_sure(within.surest)}"


def _sure(plan: Plan) -> str:
    return f"{format_certainty(chance_within(plan))} sure"


def _better(one: Plan, other: Plan, best: str) -> bool:
    return one.total_s < other.total_s if best == "fastest" else one.total_usd < other.total_usd


def _nobody(within: Within) -> tuple[str, ...]:
    misses = []
    if within.over_s:
        misses.append(f"{format_duration(within.over_s)} too late")
    if within.over_usd:
        misses.append(f"{format_usd(within.over_usd)} over the budget")
    lines = [
        f"Nothing is expected to be {limits_phrase(within.limits)}: {plan_phrase(within.nearest)} comes nearest, "
        f"{' and '.join(misses)}."
    ]
    if within.surest is not None and chance_within(within.surest) >= 0.05:
        lines.append(f"It may still work on {within.surest.label}: {_sure(within.surest)}.")
    return tuple(lines)


def _caveats(advice: Advice, plan: Plan | None) -> tuple[str, ...]:
    found = list(basis_caveats(_named(advice)))
    if plan is not None:
        found.append(f"Keep in mind: {plan.note}." if plan.note else "")
        found.append(_start_up_caveat(advice.limits, plan))
    if any(one.offer.market == SPOT for one in advice.plans):
        found.append(SPOT_CAVEAT)
    if any(is_guess(one.offer) for one in advice.plans):
        found.append("What spot costs is your guess, not a price that anybody offers.")
    return tuple(line for line in found if line)


def _named(advice: Advice) -> list[Plan]:
    """The plans that the answer names."""
    within = advice.within
    if within is None:
        close = advice.cheapest.rival if advice.cheapest.too_close else None
        return [plan for plan in (advice.cheapest.plan, close, advice.fastest.plan) if plan]
    close = within.closest.rival if within.closest is not None and within.closest.too_close else None
    return [plan for plan in (advice.answer, close) if plan]


def _start_up_caveat(limits: Limits, plan: Plan) -> str:
    """Steps and validation are all that is counted; where a limit is that near, loading the data may break it."""
    low, high = MEASURED_EPOCH_FACTOR
    near = [
        limit is not None and value <= limit < value * high
        for value, limit in ((plan.total_s, limits.deadline_s), (plan.total_usd, limits.budget_usd))
    ]
    if not any(near):
        return ""
    return (
        f"It is a near thing: measured epochs took {100 * low - 100:.0f} % to {100 * high - 100:.0f} % longer than "
        "their steps, for loading data and start-up."
    )


def _figures(plan: Plan) -> str:
    return f"{format_duration(plan.total_s)}, {format_usd(plan.total_usd)}"
