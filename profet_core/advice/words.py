"""Advice in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.advice.advise import Advice, Dominated, Upgrade
from profet_core.advice.plans import Limits, Plan
from profet_core.advice.recommend import (
    Comparison,
    Pick,
    Rival,
    Within,
    certainty_of,
    format_certainty,
    is_claimed,
    same_speed,
    why_too_close,
)
from profet_core.catalog.collection import is_guess
from profet_core.catalog.instance import OWN_HARDWARE, SPOT
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.latency import Basis
from profet_core.units import S_PER_HOUR, format_duration, format_significant, format_usd


def comparison_sentences(found: Comparison) -> tuple[str, ...]:
    """State which of two plans is cheaper and faster, the confidence, and the break-even."""
    a, b = found.a, found.b
    lines = [_verdict(a, b, found.cheaper, "cheaper", b.total_usd / a.total_usd)]
    if found.latency_ratio == 1 and same_speed(a, b):
        return (*lines, f"Both have the same GPU ({a.offer.gpu}) and take the same time.")
    lines.append(_verdict(a, b, found.faster, "faster", 1 / found.latency_ratio))
    ratios = prices = ""
    low, high = found.latency_ratio_low, found.latency_ratio_high
    if low is not None and high is not None and low != high:
        least, most = (format_usd(b.offer.usd_per_hour / ratio) for ratio in (high, low))
        ratios = f" (between {format_significant(low)} and {format_significant(high)})"
        prices = f" (between {least} and {most})"
    what = "A step" if a.gpus == b.gpus else "It"
    lines.append(
        f"{what} takes {format_significant(found.latency_ratio)} times as long on {a.label} as on "
        f"{b.label}{ratios}; at these prices {a.label} is cheaper below "
        f"{format_significant(found.break_even_ratio)} times."
    )
    lines.append(
        f"{a.label} is cheaper below {format_usd(found.break_even_usd_per_hour)}/h{prices}; it costs "
        f"{format_usd(a.offer.usd_per_hour)}/h."
    )
    return (*lines, *basis_caveats((a, b)))


def basis_caveats(plans: Iterable[Plan]) -> Iterable[str]:
    """State the basis of each unmeasured time, one sentence per kind."""
    for basis, words in (
        (Basis.DERIVED, "Derived from third-party timings, which are biased, not from a profile of this GPU"),
        (Basis.TRANSFERRED, "Rough estimate for an unprofiled GPU"),
        (Basis.CALIBRATED, "Estimated and calibrated with a few steps measured on this GPU"),
        (Basis.CARRIED_BACK, "Predicted from a profile of a GPU that the models have no profiles of"),
    ):
        names = dict.fromkeys(plan.instance for plan in plans if plan.basis == basis)
        if names:
            yield f"{words}: {' and '.join(names)}."


def _verdict(a: Plan, b: Plan, chance: float | None, word: str, gain: float) -> str:
    """'A is cheaper than B with 87% confidence (about 1.9 times)': `chance` that A is, `gain` by the estimate."""
    if gain < 1:
        return _verdict(b, a, None if chance is None else 1 - chance, word, 1 / gain)
    by = f" (about {format_significant(gain)} times)"
    if chance is None:
        return f"{a.label} is {word} than {b.label}{by}; without intervals the confidence is unknown."
    if not is_claimed(chance, a, b):
        sure = f"{format_certainty(chance)} confidence{by}{why_too_close(chance)}"
        return f"Neither is clearly {word}: {a.label} with {sure}."
    return f"{a.label} is {word} than {b.label} with {format_certainty(chance)} confidence{by}."


SPOT_CAVEAT = (
    "Spot instances can be interrupted at any time: save checkpoints. These numbers don't include time and money "
    "lost to interruptions, and spot prices change."
)
#: A plan expected to miss a limit is not mentioned below this probability of meeting it.
_WORTH_A_TRY = 0.05


def answer_sentences(advice: Advice) -> tuple[str, ...]:
    """The recommendation and its confidence; the first sentence is the answer."""
    within = advice.within
    out_of_reach = within is not None and within.expected is None and within.sure is None
    if within is None:
        lines = _cheapest_and_fastest(advice)
    else:
        lines = _out_of_reach(within) if out_of_reach else _within_limits(within, advice.answer)
    lines += basis_caveats(named_plans(advice))
    if not out_of_reach:
        if advice.answer.note:
            lines.append(f"Note: {advice.answer.note}.")
        lines += _start_up_caveat(advice)
    if any(one.offer.market == SPOT for one in advice.plans):
        lines.append(SPOT_CAVEAT)
    if any(is_guess(one.offer) for one in advice.plans):
        lines.append("Spot prices are your guess, not published prices.")
    return tuple(lines)


def named_plans(advice: Advice) -> list[Plan]:
    """The plans that the answer names."""
    within = advice.within
    pick = advice.cheapest if within is None else within.sure_pick
    close = pick and pick.close_rival
    fastest = [advice.fastest.plan] if within is None else []
    return [advice.answer, *([close.plan] if close else []), *fastest]


def pick_line(pick: Pick) -> str:
    """Confidence in a pick: 'cheaper than g5.xlarge with 97% confidence'."""
    if pick.rival is None:
        return ""
    name, chance = pick.rival.plan.label, format_certainty(pick.rival.certainty)
    if pick.close_rival:
        return f"statistically tied with {name} ({chance}{why_too_close(pick.rival.certainty)})"
    return f"{pick.criterion} than {name} with {chance} confidence"


def upgrade_line(upgrade: Upgrade) -> str:
    """Time gained for more money: 'g5.xlarge instead of g4dn.xlarge: 2.1 h sooner for $0.50 more, 4.2 h a dollar'."""
    doubt = ""
    if upgrade.certainty is not None and not is_claimed(upgrade.certainty, upgrade.faster, upgrade.cheaper):
        why = why_too_close(upgrade.certainty)
        doubt = f", not certain ({format_certainty(upgrade.certainty)} likely to be sooner{why})"
    sooner, a_dollar = (format_duration(hours * S_PER_HOUR) for hours in (upgrade.saves_h, upgrade.hours_per_usd))
    return (
        f"{upgrade.faster.label} instead of {upgrade.cheaper.label}: {sooner} sooner for "
        f"{format_usd(upgrade.extra_usd)} more, {a_dollar} per dollar{doubt}"
    )


def dominated_line(one: Dominated) -> str:
    """'p2.xlarge: g4dn.xlarge is better (over 99% likely)', for a dominated plan."""
    if one.certainty is None:
        return f"{one.plan.label}: {one.by.label} is better"
    claimed = is_claimed(one.certainty, one.plan, one.by)
    verb, why = ("is", "") if claimed else ("may be", why_too_close(one.certainty))
    return f"{one.plan.label}: {one.by.label} {verb} better ({format_certainty(one.certainty)} likely{why})"


def _phrase(plan: Plan) -> str:
    """'g4dn.xlarge at $0.526/h (5 h 3 min, $2.66)'."""
    totals = f"{format_duration(plan.total_s)}, {format_usd(plan.total_usd)}"
    return f"{plan.label} at {format_usd(plan.offer.usd_per_hour)}/h ({totals})"


def _rent(plan: Plan) -> str:
    """The same after a verb: custom hardware is not rented."""
    return f"{'Use' if plan.offer.market == OWN_HARDWARE else 'Rent'} {_phrase(plan)}"


def _goal(limits: Limits) -> str:
    """'done within 10 h 0 min for at most $5.00'."""
    within = "" if limits.deadline_s is None else f" within {format_duration(limits.deadline_s)}"
    return f"done{within}" + ("" if limits.budget_usd is None else f" for at most {format_usd(limits.budget_usd)}")


def _likely(plan: Plan, form: str) -> str:
    """Fill the form's braces with '87% likely' to keep to the limits; empty if unknown."""
    chance = plan.within_limits
    return "" if chance is None else form.format(f"{format_certainty(chance)} likely")


def _cheapest_and_fastest(advice: Advice) -> list[str]:
    pick, fastest = advice.cheapest, advice.fastest
    if len(advice.plans) == 1:
        return [f"The only option is {_phrase(pick.plan)}."]
    # Offers of one GPU differ only in price.
    others = any(plan.offer.gpu != pick.plan.offer.gpu for plan in advice.plans)
    if close := pick.close_rival:
        lines = [f"{_rent(pick.plan)} or {_phrase(close.plan)}: they may cost about the same {_close(pick, close)}."]
        lines.append(_other_criterion(pick, close))
    elif pick.rival is not None:
        lines = [f"{_rent(pick.plan)}: the cheapest with {format_certainty(pick.rival.certainty)} confidence."]
    else:
        doubt = " by the estimate; without intervals the confidence is unknown" if others else ""
        lines = [f"{_rent(pick.plan)}: the cheapest{doubt}."]
    line = pick_line(fastest)
    doubt = f": {line}" if line else " by the estimate" if others else ""
    also = fastest.plan == pick.plan
    return [*lines, f"It is also the fastest{doubt}." if also else f"The fastest is {_phrase(fastest.plan)}{doubt}."]


def _close(pick: Pick, rival: Rival) -> str:
    chance = format_certainty(rival.certainty)
    return f"({chance} that {pick.plan.label} is {pick.criterion}{why_too_close(rival.certainty)})"


def _other_criterion(pick: Pick, rival: Rival) -> str:
    """If two plans are tied by one criterion, name the better one by the other criterion."""
    other = pick.criterion.other
    for one, against in ((pick.plan, rival.plan), (rival.plan, pick.plan)):
        chance = certainty_of(one, against, other)
        if chance is not None and is_claimed(chance, one, against):
            return f"{one.label} is {other} with {format_certainty(chance)} confidence."
    return f"Neither is clearly {other}."


def _within_limits(within: Within, answer: Plan) -> list[str]:
    best, goal = "fastest" if within.limits.deadline_h is None else "cheapest", _goal(within.limits)
    least, pick = format_certainty(within.limits.certainty), within.sure_pick
    if pick is None:
        doubt = _likely(answer, "{}") or "no interval is known"
        lines = [f"{_rent(answer)}: the {best} that is expected to be {goal} ({doubt})."]
        if answer.within_limits is not None:
            surest = ""
            if within.surest is not None and within.surest != answer:
                surest = f"; the most likely to do so is {_phrase(within.surest)}{_likely(within.surest, ', {}')}"
            lines.append(f"No offer meets the limits with {least} confidence{surest}.")
        return lines
    lines = [f"{_rent(answer)}: the {best} {goal} with at least {least} confidence{_likely(answer, ' ({})')}."]
    if close := pick.close_rival:
        tied = f"neither is clearly {pick.criterion} {_close(pick, close)}"
        lines += [f"{_phrase(close.plan)} also meets the limits; {tied}.", _other_criterion(pick, close)]
    bolder = within.expected
    if bolder is not None and bolder != answer and pick.criterion.total(bolder) < pick.criterion.total(answer):
        doubt = _likely(bolder, "that is only {}") or "without an interval the confidence is unknown"
        lines.append(f"{_phrase(bolder)} is also expected to meet the limits, but {doubt}.")
    return lines


def _out_of_reach(within: Within) -> list[str]:
    """Say that no offer is expected to meet the limits, and which comes nearest."""
    late = [f"{format_duration(within.over_s)} too late"] if within.over_s else []
    over = [f"{format_usd(within.over_usd)} over budget"] if within.over_usd else []
    nearest = f"{_phrase(within.nearest)} comes closest, {' and '.join(late + over)}"
    lines = [f"No offer is expected to be {_goal(within.limits)}: {nearest}."]
    surest = within.surest
    if surest is not None and (surest.within_limits or 0) >= _WORTH_A_TRY:
        lines.append(f"{surest.label} may still work: {_likely(surest, '{}')}.")
    return lines


def _start_up_caveat(advice: Advice) -> list[str]:
    """Warn that data loading may exceed a close limit if only steps and validation are counted."""
    limits, plan, (low, high) = advice.request.limits, advice.answer, MEASURED_EPOCH_FACTOR
    near = [
        limit is not None and value <= limit < value * high
        for value, limit in ((plan.total_s, limits.deadline_s), (plan.total_usd, limits.budget_usd))
    ]
    if advice.request.workload.with_loading or not any(near):
        return []
    return [
        f"This is close: measured epochs took {100 * low - 100:.0f}% to {100 * high - 100:.0f}% longer than their "
        "steps because of data loading and start-up."
    ]
