"""Comparison of two plans as sentences."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.advice.certainty import format_certainty
from profet_core.advice.claims import is_claimed, why_too_close
from profet_core.advice.comparison import Comparison, same_speed
from profet_core.advice.plans import Plan
from profet_core.latency import Basis
from profet_core.units import format_significant, format_usd


def comparison_sentences(found: Comparison) -> tuple[str, ...]:
    """State which of two plans is cheaper and faster, the confidence, and the break-even."""
    a, b = found.a, found.b
    lines = [_verdict(a, b, found.cheaper, "cheaper", b.total_usd / a.total_usd)]
    if found.latency_ratio == 1 and same_speed(a, b):
        return (*lines, f"Both have the same GPU ({a.offer.gpu}) and take the same time.")
    lines.append(_verdict(a, b, found.faster, "faster", 1 / found.latency_ratio))
    ratios, prices = _ends(found)
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
        (Basis.SHARPENED, "Estimated and calibrated with a few steps measured on this GPU"),
        (Basis.CARRIED_BACK, "Predicted from a profile of a GPU that the models have no profiles of"),
    ):
        names = dict.fromkeys(plan.instance for plan in plans if plan.basis == basis)
        if names:
            yield f"{words}: {' and '.join(names)}."


def _ends(found: Comparison) -> tuple[str, str]:
    """' (between 0.48 and 0.61)' for the ratio and for the break-even price; empty without an interval."""
    known = found.uncertainty
    if known is None or known.latency_ratio_low == known.latency_ratio_high:
        return "", ""
    ratios = (format_significant(ratio) for ratio in (known.latency_ratio_low, known.latency_ratio_high))
    prices = (format_usd(price) for price in (known.break_even_low, known.break_even_high))
    return f" (between {' and '.join(ratios)})", f" (between {' and '.join(prices)})"


def _verdict(a: Plan, b: Plan, chance: float | None, word: str, gain: float) -> str:
    """'A is cheaper than B with 87% certainty (1.9 times by the estimate)'; the likelier plan comes first.

    Parameters
    ----------
    chance : probability that A is. gain : how many times cheaper or faster A is by the estimate.
    """
    if gain < 1:
        return _verdict(b, a, None if chance is None else 1 - chance, word, 1 / gain)
    by = f" (about {format_significant(gain)} times)"
    if chance is None:
        return f"{a.label} is {word} than {b.label}{by}; without intervals the confidence is unknown."
    if not is_claimed(chance, a, b):
        sure = f"{format_certainty(chance)} confidence{by}{why_too_close(chance)}"
        return f"Neither is clearly {word}: {a.label} with {sure}."
    return f"{a.label} is {word} than {b.label} with {format_certainty(chance)} confidence{by}."
