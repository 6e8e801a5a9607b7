"""Advice in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profet_core.catalog.collection import is_guess
from profet_core.catalog.instance import RETIRED, RETIRED_MARK, SPOT, gpu_words
from profet_core.training.advise import Advice, Dominated, Upgrade
from profet_core.training.cost import MEASURED_EPOCH_FACTOR
from profet_core.training.plans import Limits, Plan
from profet_core.training.recommend import (
    Comparison,
    Criterion,
    Goal,
    Pick,
    Recommendation,
    Recommended,
    certainty_of,
    is_claimed,
    same_speed,
    tie_words,
    why_too_close,
)
from profet_profiles.units import (
    S_PER_HOUR,
    format_certainty,
    format_duration,
    format_significant,
    format_usd,
    format_usd_range,
)

SPOT_CAVEAT = (
    "Spot instances can be interrupted at any time: save checkpoints. These numbers don't include the time and money "
    "lost to interruptions, and spot prices change."
)
#: A plan expected to miss a limit is not mentioned below this probability of meeting it.
_WORTH_A_TRY = 0.05


def headline(advice: Recommended) -> str:
    """Return the answer as one line: 'Cheapest: V100 at Verda, $12.76 in 3 d 20 h ($0.138/h). Fastest: B200 at ...'."""
    if advice.none_meets:
        return closest_sentence(advice)
    plan, fastest = advice.answer, advice.fastest.plan
    answer = f"{_named(plan)} ({format_usd(plan.offer.usd_per_hour)}/h)"
    doubt = f" It {_fit_words(plan)}." if plan.fit_chance < advice.limits.certainty else ""
    if advice.within is not None:
        best = "Fastest" if advice.limits.deadline_h is None else "Cheapest"
        sure = "" if advice.within.sure else " expected to be"
        chance = plan.within_limits
        likely = "" if chance is None else f"; {format_certainty(chance)} likely to meet them"
        return f"{best}{sure} within your limits: {answer}{likely}.{doubt}"
    if len(advice.choices) == 1:
        return f"The only option{_other_options(advice)}: {answer}.{doubt}"
    if fastest == plan:
        return f"Cheapest and fastest: {answer}.{doubt}"
    return f"Cheapest: {answer}.{doubt} Fastest: {_named(fastest)}."


def _other_options(advice: Recommended) -> str:
    """Why the other plans are none: ' (the others are retired)'."""
    others = [plan for plan in advice.plans if plan not in advice.choices]
    reasons = {"may not fit in memory" if plan.is_rentable else f"are {RETIRED}" for plan in others}
    return f" (the others {' or '.join(sorted(reasons))})" if others else ""


def closest_sentence(advice: Recommended) -> str:
    """Say that no plan meets the limits, and which comes closest."""
    nearest = advice.within.nearest if advice.within else advice.answer
    totals = f"{format_duration(nearest.total_s)} and {format_usd(nearest.total_usd)}"
    return f"No instance here meets your {_limit_words(advice.limits)}. Closest: {nearest.phrase}, {totals}."


def skipped_sentence(plan: Plan, limits: Limits, totals: str = "") -> str:
    """Say "RTX 5090 at RunPod (33.0 h, $30.11) meets both on paper but is only 50% likely to.".

    Parameters
    ----------
    totals : its time and cost as they are shown beside it.
    """
    named = f"{plan.phrase.removesuffix(RETIRED_MARK)} ({totals or _totals(plan)})"
    if not plan.is_rentable:
        return f"{named} is {RETIRED} and can't be rented."
    if plan.fit_chance < limits.certainty:
        return f"{named} {_fit_words(plan)}."
    both = limits.deadline_h is not None and limits.budget_usd is not None
    what, chance = "both" if both else f"the {_limit_words(limits)}", plan.within_limits
    likely = "has no prediction interval" if chance is None else f"is only {format_certainty(chance)} likely to"
    return f"{named} meets {what} on paper but {likely}."


def _fit_words(plan: Plan) -> str:
    """'is only 40% likely to fit in memory'."""
    unknown = plan.fit is None or plan.fit.probability is None
    chance = "may not" if unknown else f"is only {format_certainty(plan.fit_chance)} likely to"
    return f"{chance} fit in memory"


def _limit_words(limits: Limits) -> str:
    named = (("deadline", limits.deadline_h), ("budget", limits.budget_usd))
    return " and ".join(name for name, limit in named if limit is not None)


def card_title(advice: Recommended, card: Recommendation) -> str:
    """Return a card's title: 'Cheapest', 'Best on all counts', 'Fastest within your limits'."""
    limited = advice.limits.given and not advice.none_meets
    if len(advice.choices) == 1 and not limited:
        return "The only option"
    if len(card.goals) == len(Goal):
        return "Best within your limits" if limited else "Best on all counts"
    first, *others = card.goals
    within = " within your limits" if limited else ""
    return ", ".join([f"{first.capitalize()}{within}", *others])


def alternative_sentence(card: Recommendation, totals: str) -> str:
    """'As fast: H200 SXM · Verda, 15.7 h, $53.28'; empty without a tied plan. `totals`: its time and cost."""
    if card.alternative is None:
        return ""
    criterion = Criterion.CHEAPER if card.goals[0] is Goal.CHEAPEST else Criterion.FASTER
    words = tie_words(card.plan, card.alternative, criterion)
    return f"{words[0].upper()}{words[1:]}: {card.alternative.name}, {totals}"


def error_sentence(advice: Recommended, profiled_percent: float | None, others_percent: float | None) -> str:
    """'On unseen networks, predictions for GPUs like V100 SXM were off by 10%, like B300 by 18%.'."""
    plans = [card.plan for card in advice.cards if not card.plan.basis.is_exact]
    parts = list[str]()
    for percent, rough in ((profiled_percent, False), (others_percent, True)):
        gpus = dict.fromkeys(gpu_words(plan.offer) for plan in plans if plan.basis.is_rough is rough)
        if gpus and percent is not None:
            *others, last = gpus
            were = "" if parts else " were off"
            parts.append(f"{' and '.join(filter(None, [', '.join(others), last]))}{were} by {percent:.0f}%")
    return f"On unseen networks, predictions for GPUs like {', like '.join(parts)}." if parts else ""


def answer_sentences(advice: Advice) -> tuple[str, ...]:
    """Return the recommendation and its confidence; the first sentence is `headline`."""
    recommended = advice.recommended
    lines = [headline(recommended)]
    if recommended.none_meets:
        lines += _may_still_meet(recommended)
    else:
        lines += _confidence(recommended) if recommended.within is None else _within_limits(recommended)
    lines += [skipped_sentence(plan, recommended.limits) for plan in recommended.skipped]
    lines += basis_caveats(named_plans(advice))
    if not recommended.none_meets:
        if recommended.answer.note:
            lines.append(f"{recommended.answer.note[0].upper()}{recommended.answer.note[1:]}.")
        lines += _start_up_caveat(advice)
    work = advice.workload
    if work.runs > 1:
        lines.append(
            f"That is for {work.runs:,} runs, {'each on its own machine' if work.at_once else 'one after another'}."
        )
    if line := breakdown_line(advice.answer):
        lines.append(f"With all costs: {line}.")
    if work.extras.interruptions is None and any(plan.offer.market == SPOT for plan in advice.plans):
        lines.append(SPOT_CAVEAT)
    if any(is_guess(plan.offer) for plan in advice.plans):
        lines.append("Spot prices are your guess, not published prices.")
    return tuple(lines)


#: Component of the cost -> as it is called.
_COMPONENTS = {
    "training": "training",
    "interruptions": "interruptions",
    "start_up": "start-up",
    "storage": "storage",
}


def breakdown_line(plan: Plan) -> str:
    """'training $12.76 + start-up $0.02 + storage $0.30 = $13.08 in 3 d 21 h'; empty if nothing is added."""
    breakdown = plan.breakdown
    if breakdown.total_usd == plan.total_usd:
        return ""
    sums = " + ".join(f"{_COMPONENTS[name]} {format_usd(usd)}" for name, usd in breakdown.parts_usd.items() if usd)
    return f"{sums} = {format_usd(breakdown.total_usd)} in {format_duration(breakdown.total_s)}"


def spot_sentence(
    plan: Plan, interruptions: float, total_s: Sequence[float], total_usd: Sequence[float], on_demand: Plan | None
) -> str:
    """Say the expected time and cost on a spot machine with interruptions, with ranges, beside those on demand."""
    number = "fewer than 0.1 " if interruptions < 0.1 else f"{format_significant(interruptions, 2)} "
    (seconds, low_s, high_s), (usd, low_usd, high_usd) = total_s, total_usd
    times, costs = format_duration(seconds), format_usd(usd)
    if format_duration(low_s) != format_duration(high_s):
        times += f" ({format_duration(low_s)} to {format_duration(high_s)})"
        costs += f" ({format_usd_range(low_usd, high_usd)})"
    against = "" if on_demand is None else f"; on demand {_totals(on_demand)}"
    return f"{plan.phrase} with {number}interruptions expected: {times}, {costs}{against}."


def named_plans(advice: Advice) -> list[Plan]:
    """Return the plans that the answer names."""
    within = advice.within
    pick = advice.cheapest if within is None else within.sure_pick
    close = pick and pick.close_rival
    fastest = [advice.fastest.plan] if within is None else []
    return [advice.answer, *([close] if close else []), *fastest]


def basis_caveats(plans: Iterable[Plan]) -> Iterable[str]:
    """State the basis of times on GPUs without profiles, one sentence per basis."""
    every = list(plans)
    for basis in dict.fromkeys(plan.basis for plan in every if plan.basis.is_rough):
        names = dict.fromkeys(plan.phrase for plan in every if plan.basis is basis)
        yield f"{' and '.join(names)}: {basis.words[0].lower()}{basis.words[1:]}."


def comparison_sentences(comparison: Comparison) -> tuple[str, ...]:
    """State how much faster and cheaper one of two plans is, how sure that is, and its break-even price."""
    a, b = comparison.a, comparison.b
    if comparison.latency_ratio == 1 and same_speed(a, b):
        return _cost_line(comparison), f"Both have the same GPU ({a.offer.gpu}) and take the same time."
    low, high = comparison.latency_ratio_low, comparison.latency_ratio_high
    prices = ""
    if low is not None and high is not None and low != high:
        usd_per_hour = b.offer.usd_per_hour
        prices = f" ({format_usd_range(usd_per_hour / high, usd_per_hour / low)})"
    lines = [_speed_line(comparison), _cost_line(comparison)]
    if comparison.latency_ratio < 1 and a.total_usd > b.total_usd:
        lines.append(
            f"To be cheaper, it would have to be {format_significant(1 / comparison.break_even_ratio)} times as fast."
        )
    lines.append(
        f"Break-even price of {a.phrase}: {format_usd(comparison.break_even_usd_per_hour)}/h{prices}; "
        f"now {format_usd(a.offer.usd_per_hour)}/h."
    )
    return (*lines, *basis_caveats((a, b)))


def _speed_line(comparison: Comparison) -> str:
    """Say "V100 at AWS is 3.0 times as fast as T4 at AWS (2.9 to 3.1; over 99% sure)."."""
    low, high = comparison.latency_ratio_low, comparison.latency_ratio_high
    spread = ""
    if low is not None and high is not None and low != high:
        ends = (1 / high, 1 / low) if comparison.latency_ratio <= 1 else (low, high)
        spread = " to ".join(format_significant(end, 2) for end in ends)
    return _verdict(comparison, comparison.faster, Criterion.FASTER, comparison.latency_ratio, spread)


def _cost_line(comparison: Comparison) -> str:
    return _verdict(
        comparison, comparison.cheaper, Criterion.CHEAPER, comparison.a.total_usd / comparison.b.total_usd, ""
    )


def _verdict(comparison: Comparison, chance: float | None, criterion: Criterion, ratio: float, spread: str) -> str:
    """State the ratio of A to B, `spread` its interval, and how sure it is; `chance` that A is better."""
    a, b, times = comparison.a, comparison.b, format_significant(max(ratio, 1 / ratio))
    if criterion is Criterion.FASTER:
        words = f"is {times} times as fast as" if ratio <= 1 else f"takes {times} times as long as"
    else:
        words = f"is {times} times cheaper than" if ratio <= 1 else f"costs {times} times as much as"
    if chance is None:
        return f"{a.phrase} {words} {b.phrase}; without intervals the confidence is unknown."
    better = chance if ratio <= 1 else 1 - chance
    if not is_claimed(better, a, b):
        first, second = (a, b) if ratio <= 1 else (b, a)
        sure = f"{format_certainty(better)} sure{why_too_close(better)}"
        by = f"{times} times {criterion} than {second.phrase} ({sure})"
        return f"Neither is clearly {criterion}: {first.phrase} is {by}."
    sure = "; ".join(part for part in (spread, f"{format_certainty(better)} sure") if part)
    return f"{a.phrase} {words} {b.phrase} ({sure})."


def pick_line(pick: Pick) -> str:
    """Confidence in a pick: 'cheaper than A10G · AWS (g5.xlarge), 97% sure'."""
    if pick.rival is None or pick.certainty is None:
        return ""
    name, chance = pick.rival.name_and_code, format_certainty(pick.certainty)
    if pick.close_rival:
        return f"{tie_words(pick.plan, pick.rival, pick.criterion)}: {name}{why_too_close(pick.certainty)}"
    return f"{pick.criterion} than {name}, {chance} sure"


def upgrade_line(upgrade: Upgrade) -> str:
    """Time gained for more money: 'A10G · AWS (g5.xlarge) instead of ...: 2.1 h sooner for $0.50 more, ...'."""
    doubt = ""
    if upgrade.certainty is not None and not is_claimed(upgrade.certainty, upgrade.faster, upgrade.cheaper):
        why = why_too_close(upgrade.certainty)
        doubt = f", not certain ({format_certainty(upgrade.certainty)} likely to be sooner{why})"
    sooner, a_dollar = (format_duration(hours * S_PER_HOUR) for hours in (upgrade.saves_h, upgrade.hours_per_usd))
    return (
        f"{upgrade.faster.name_and_code} instead of {upgrade.cheaper.name_and_code}: {sooner} sooner for "
        f"{format_usd(upgrade.extra_usd)} more, {a_dollar} per dollar{doubt}"
    )


def dominated_line(dominated: Dominated) -> str:
    """'K80 · AWS (p2.xlarge): T4 · AWS (g4dn.xlarge) is better (over 99% likely)', for a dominated plan."""
    plan, by = dominated.plan.name_and_code, dominated.by.name_and_code
    if dominated.certainty is None:
        return f"{plan}: {by} is better"
    claimed = is_claimed(dominated.certainty, dominated.plan, dominated.by)
    verb, why = ("is", "") if claimed else ("may be", why_too_close(dominated.certainty))
    return f"{plan}: {by} {verb} better ({format_certainty(dominated.certainty)} likely{why})"


def _totals(plan: Plan) -> str:
    """'$12.76 in 3 d 20 h'."""
    return f"{format_usd(plan.total_usd)} in {format_duration(plan.total_s)}"


def _named(plan: Plan) -> str:
    """'B200 at Verda, $65.77 in 13.5 h'."""
    return f"{plan.phrase}, {_totals(plan)}"


def _confidence(advice: Recommended) -> list[str]:
    """How sure it is which is the cheapest, and which the fastest."""
    lines = []
    for pick in (advice.cheapest, advice.fastest):
        superlative = "cheapest" if pick.criterion is Criterion.CHEAPER else "fastest"
        # Offers of one GPU differ only in price.
        others = any(not same_speed(plan, pick.plan) for plan in advice.choices)
        if (close := pick.close_rival) and pick.certainty is not None:
            lines.append(
                f"{_named(close)}, is {tie_words(pick.plan, close, pick.criterion)}: "
                f"{format_certainty(pick.certainty)} sure that {pick.plan.phrase} is "
                f"{pick.criterion}{why_too_close(pick.certainty)}."
            )
            if pick.criterion is Criterion.CHEAPER:
                lines.append(_other_criterion(pick.plan, close, Criterion.FASTER))
        elif pick.certainty is not None:
            lines.append(f"{pick.plan.phrase} is the {superlative}: {format_certainty(pick.certainty)} sure.")
        elif others:
            lines.append(f"{pick.plan.phrase} is the {superlative} by the estimate; its confidence is unknown.")
    return lines


def _other_criterion(plan: Plan, rival: Plan, other: Criterion) -> str:
    """If two plans are tied by one criterion, name the better one by the other criterion."""
    for better, against in ((plan, rival), (rival, plan)):
        chance = certainty_of(better, against, other)
        if chance is not None and is_claimed(chance, better, against):
            return f"{better.phrase} is {other}: {format_certainty(chance)} sure."
    return f"Neither is clearly {other}."


def _within_limits(advice: Recommended) -> list[str]:
    """Which plans may also meet the limits, and how likely."""
    within, answer = advice.within, advice.answer
    if within is None:
        return []
    pick, least = within.sure_pick, format_certainty(advice.limits.certainty)
    if pick is None:
        surest = ""
        if within.surest is not None and within.surest != answer:
            surest = f"; most likely: {_named(within.surest)}{_likely(within.surest, ' ({})')}"
        return [f"No offer is {least} sure to meet the limits{surest}."]
    lines = []
    if (close := pick.close_rival) and pick.certainty is not None:
        chance = f"{format_certainty(pick.certainty)} sure that {pick.plan.phrase} is {pick.criterion}"
        lines.append(f"{_named(close)}, also meets the limits: {chance}{why_too_close(pick.certainty)}.")
        lines.append(_other_criterion(pick.plan, close, pick.criterion.other))
    return lines


def _likely(plan: Plan, form: str) -> str:
    """Fill the form's braces with '87% likely' to meet the limits; empty if unknown."""
    chance = plan.within_limits
    return "" if chance is None else form.format(f"{format_certainty(chance)} likely")


def _may_still_meet(advice: Recommended) -> list[str]:
    """By how much the closest plan misses the limits, and whether one may meet them with luck."""
    within = advice.within
    if within is None:
        return []
    late = [f"{format_duration(within.over_s)} too late"] if within.over_s else []
    over = [f"{format_usd(within.over_usd)} over budget"] if within.over_usd else []
    lines = [f"It is {' and '.join(late + over)}."]
    if within.surest is not None and (within.surest.within_limits or 0) >= _WORTH_A_TRY:
        lines.append(f"{within.surest.phrase} may still meet them: {_likely(within.surest, '{}')}.")
    return lines


def _start_up_caveat(advice: Advice) -> list[str]:
    """Warn that data loading may exceed a close limit if only steps and validation are counted."""
    limits, plan, (low, high) = advice.limits, advice.answer, MEASURED_EPOCH_FACTOR
    near = [
        limit is not None and value <= limit < value * high
        for value, limit in ((plan.total_s, limits.deadline_s), (plan.total_usd, limits.budget_usd))
    ]
    if advice.workload.factors != (1.0, 1.0) or not any(near):
        return []
    return [
        f"This is close: measured epochs took {100 * low - 100:.0f}% to {100 * high - 100:.0f}% longer than their "
        "steps because of data loading and start-up."
    ]
