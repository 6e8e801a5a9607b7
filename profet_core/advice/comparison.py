"""Compares two plans: which is faster or cheaper, with what confidence, and the break-even."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.advice.certainty import (
    ERROR_CORRELATION,
    chance_less,
    format_certainty,
    interval_ends,
    surest_certainty,
    whole_percent,
)
from profet_core.advice.plans import Plan
from profet_core.latency import LEVEL, Basis, combined_sd, sd_of_ratio

#: Below this confidence two offers are statistically tied.
CLOSE_CALL = 0.80
#: The threshold for unprofiled GPUs: the interval must exclude a tie, and the 90% interval leaves 5% on that side.
#: `profet validate --transfer` shows how often such statements about the A10G were right.
CLOSE_CALL_OF_ESTIMATES = (1 + LEVEL) / 2


def is_claimed(chance: float, a: Plan, b: Plan) -> bool:
    """Whether that probability, in whole percent as shown, is enough to state that one plan beats the other."""
    least = CLOSE_CALL if a.basis.is_profiled and b.basis.is_profiled else CLOSE_CALL_OF_ESTIMATES
    return whole_percent(chance) >= whole_percent(least)


def why_too_close(certainty: float) -> str:
    """Suffix for a probability that is too low only because a GPU is unprofiled; else empty."""
    if whole_percent(certainty) < whole_percent(CLOSE_CALL):
        return ""
    return f"; unprofiled GPUs need {format_certainty(CLOSE_CALL_OF_ESTIMATES)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A compared with B.

    Attributes
    ----------
    latency_ratio : A's step latency over B's if both train on one GPU; otherwise A's training time over B's. A is
        cheaper below `break_even_ratio`.
    break_even_usd_per_hour : A is cheaper than B below this price.
    faster, cheaper : probability that A is; 0.5 for equals. These and all below are None where an interval is missing.
    dominates : probability that A is faster and cheaper, or equal in one of them.
    latency_ratio_low, latency_ratio_high : interval endpoints of A's step latency over B's.
    break_even_low, break_even_high : interval endpoints of the price below which A is cheaper, US dollars per hour.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    break_even_ratio: float
    break_even_usd_per_hour: float
    faster: float | None = None
    cheaper: float | None = None
    dominates: float | None = None
    latency_ratio_low: float | None = None
    latency_ratio_high: float | None = None
    break_even_low: float | None = None
    break_even_high: float | None = None


def compare(a: Plan, b: Plan, level: float = LEVEL) -> Comparison:
    """Confidence that A is faster or cheaper than B.

    All offers with one GPU share that GPU's latency error. Scaling out to all GPUs of a node adds an error, which plans
    with the same GPU and number of GPUs share. For a derived latency, the interval of its ratio to the source instance
    is known. Between two GPUs with PROFET training data, errors correlate by `ERROR_CORRELATION`. Between other GPUs
    the correlation is not measured and assumed to be zero, which lowers confidence if the errors are in fact
    correlated.

    Parameters
    ----------
    level : level of the intervals in the answer.
    """
    ratio = _time_ratio(a, b)
    deviation = _deviation_of_ratio(a, b)
    low, high = (None, None) if deviation is None else interval_ends(ratio, deviation, level)
    return Comparison(
        a=a,
        b=b,
        latency_ratio=ratio,
        break_even_ratio=b.offer.usd_per_hour / a.offer.usd_per_hour,
        break_even_usd_per_hour=b.offer.usd_per_hour / ratio,
        faster=chance_to_be_faster(a, b),
        cheaper=chance_to_be_cheaper(a, b),
        dominates=chance_to_dominate(a, b),
        latency_ratio_low=low,
        latency_ratio_high=high,
        break_even_low=high and b.offer.usd_per_hour / high,
        break_even_high=low and b.offer.usd_per_hour / low,
    )


def chance_to_be_faster(a: Plan, b: Plan) -> float | None:
    """Probability that A is faster than B, as in `compare`; None where an interval is missing."""
    deviation = _deviation_of_ratio(a, b)
    return None if deviation is None else chance_less(_time_ratio(a, b), deviation, surest_certainty(a.basis, b.basis))


def chance_to_be_cheaper(a: Plan, b: Plan) -> float | None:
    """Probability that A is cheaper than B, as in `compare`; None where an interval is missing."""
    deviation, costs = _deviation_of_ratio(a, b), a.total_usd / b.total_usd
    return None if deviation is None else chance_less(costs, deviation, surest_certainty(a.basis, b.basis))


def chance_to_dominate(a: Plan, b: Plan) -> float | None:
    """Probability that A is both faster and cheaper than B, as in `compare`; None where an interval is missing."""
    deviation, ratio, costs = _deviation_of_ratio(a, b), _time_ratio(a, b), a.total_usd / b.total_usd
    if deviation is None:
        return None
    if deviation == 0:
        return float(max(ratio, costs) <= 1 and min(ratio, costs) < 1)
    # Both ratios share one error, so the worse ratio decides.
    return chance_less(max(ratio, costs), deviation, surest_certainty(a.basis, b.basis))


def _time_ratio(a: Plan, b: Plan) -> float:
    """Ratio of step latencies if the steps have equal numbers of images; else of whole trainings."""
    return a.latency_ms / b.latency_ms if a.gpus == b.gpus else a.total_s / b.total_s


def _deviation_of_ratio(a: Plan, b: Plan) -> float | None:
    """Standard deviation of the log ratio of both steps."""
    of_a, of_b = a.one_gpu_deviation, b.one_gpu_deviation
    same_gpu = a.offer.gpu == b.offer.gpu
    if of_a is None or of_b is None:
        # The same row in another market has the same error.
        return 0.0 if same_gpu and a.gpus == b.gpus and a.latency_ms == b.latency_ms else None
    if a.relative is not None and a.relative.instance == b.offer.name:
        of_one_gpu = float(a.relative.log_sd)
    elif b.relative is not None and b.relative.instance == a.offer.name:
        of_one_gpu = float(b.relative.log_sd)
    else:
        measured = ERROR_CORRELATION if a.basis is b.basis is Basis.MEASURED else 0.0
        of_one_gpu = sd_of_ratio(of_a, of_b, 1.0 if same_gpu else measured)
    if (a.scaling_deviation or b.scaling_deviation) and not (same_gpu and a.gpus == b.gpus):
        of_one_gpu = combined_sd(of_one_gpu, combined_sd(a.scaling_deviation, b.scaling_deviation))
    return of_one_gpu


def same_speed(a: Plan, b: Plan) -> bool:
    """Whether both plans train on the same number of the same GPU, and so share one error."""
    return a.offer.gpu == b.offer.gpu and a.gpus == b.gpus
