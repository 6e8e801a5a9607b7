"""Recommendation in one sentence: offer, time, cost, and runner-up."""

from __future__ import annotations

from profet_core.advice.advise import Advice
from profet_core.advice.certainty import format_certainty
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Plan
from profet_core.advice.within import Within
from profet_core.advice.words import limits_phrase, out_of_reach_sentences
from profet_core.units import format_duration, format_significant, format_usd

#: A faster plan is mentioned if it is faster by this factor.
_WORTH_NAMING = 1.05


def headline(advice: Advice) -> str:
    """'Rent g5.xlarge (A10G, AWS): about 10 min, $0.17 ($0.13–0.22); g6e.xlarge is 1.6 times as fast for $0.19.'"""
    within, plan = advice.within, advice.answer
    if within is not None and within.is_out_of_reach:
        return out_of_reach_sentences(within)[0]
    pick = advice.cheapest if within is None else within.sure_pick
    kept = "" if within is None else f", {_kept(within, plan)}"
    return f"{plan.verb} {plan_summary(plan)}{kept}{_beside(advice, plan, pick)}."


def plan_summary(plan: Plan) -> str:
    """'g5.xlarge (A10G, AWS): about 10 min 3 s, $0.17 ($0.13–0.22)'."""
    return f"{plan.title} ({plan.gpu_words}): about {format_duration(plan.total_s)}, {_cost_phrase(plan)}"


def _cost_phrase(plan: Plan) -> str:
    """'$0.17 ($0.13–0.22)', with the range if there is one."""
    if plan.interval is None:
        return format_usd(plan.total_usd)
    low, high = (format_usd(usd) for usd in (plan.interval.low_usd, plan.interval.high_usd))
    return f"{format_usd(plan.total_usd)} ({low}\N{EN DASH}{high.removeprefix('$')})"


def _kept(within: Within, plan: Plan) -> str:
    """State that the limits are met, with the confidence."""
    chance = plan.within_limits
    if chance is None:
        return f"expected to be {limits_phrase(within.limits)}"
    expected = "" if within.sure is not None else "expected to be "
    return f"{expected}{limits_phrase(within.limits)} ({format_certainty(chance)} likely)"


def _beside(advice: Advice, plan: Plan, pick: Pick | None) -> str:
    """Mention a plan that is statistically tied with the recommendation, or one that is faster."""
    if pick is not None and (close := pick.close_rival) is not None:
        rival = close.plan
        totals = f"{format_duration(rival.total_s)}, {format_usd(rival.total_usd)}"
        return f". Statistically tied: {rival.title} ({rival.gpu_words}; {totals})"
    fastest = advice.fastest.plan
    faster = plan.total_s / fastest.total_s
    if faster < _WORTH_NAMING or (advice.within is not None and not _keeps(advice.within, fastest)):
        return ""
    times = format_significant(faster, 2)
    name = f"{fastest.title} ({fastest.gpu_words})"
    return f"; {name} is {times} times as fast for {format_usd(fastest.total_usd)}"


def _keeps(within: Within, plan: Plan) -> bool:
    limits = within.limits
    return (limits.deadline_s is None or plan.total_s <= limits.deadline_s) and (
        limits.budget_usd is None or plan.total_usd <= limits.budget_usd
    )
