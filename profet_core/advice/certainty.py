"""Confidence that a plan meets limits, or is faster or cheaper than another."""

from __future__ import annotations

import math
from dataclasses import dataclass

from profet_core.advice.plans import SUREST, Plan, bounded_chance, surest_certainty
from profet_core.latency import LEVEL, Basis, combined_sd, quantile, sd_of_ratio

#: Correlation between the errors of two measured targets predicted from one anchor: a network that takes longer than
#: predicted on one target also takes longer on the other. Mean over 12 pairs of targets of the shipped models' held-out
#: predictions, as `tests/lab/test_validation.py` measures it (lowest pair 0.16, highest 0.68).
ERROR_CORRELATION = 0.42
#: Share of statements with 80% to 90% confidence that were right on held-out architectures; from the same test.
CAME_TRUE_80_TO_90 = 0.90
#: Below this confidence two offers are statistically tied.
CLOSE_CALL = 0.80
#: The threshold for unprofiled GPUs: the interval must exclude a tie, and the 90% interval leaves 5% on that side.
#: `profet validate --transfer` shows how often such statements about the A10G were right.
CLOSE_CALL_OF_ESTIMATES = (1 + LEVEL) / 2


def chance_less(ratio: float, deviation: float, surest: float = SUREST) -> float:
    """Probability that A is less than B where A is predicted to be `ratio` times B; 0.5 for equals.

    >>> chance_less(1.0, 0.1), round(chance_less(0.9, 0.1), 3), chance_less(0.1, 0.1)
    (0.5, 0.854, 0.999)
    """
    if deviation == 0:
        return 0.5 if ratio == 1 else float(ratio < 1)
    return bounded_chance(-math.log(ratio) / deviation, surest)


def whole_percent(chance: float) -> int:
    """A confidence in whole percent, rounded down, as shown and compared."""
    # Add a small tolerance: 0.29 is 28.999999999999996%.
    return math.floor(100 * chance + 1e-9)


def format_certainty(chance: float) -> str:
    """Whole percent, rounded down, and never 0 or 100 by rounding.

    >>> format_certainty(0.879), format_certainty(0.9999), format_certainty(0.001), format_certainty(1.0)
    ('87%', 'over 99%', 'under 1%', '100%')
    """
    if 0 < chance < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < chance < 1 else f"{whole_percent(chance)}%"


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
    """A compared with B; probabilities and endpoints are None where an interval is missing.

    Attributes
    ----------
    latency_ratio : A's step latency over B's if both train on one GPU; otherwise A's training time over B's. A is
        cheaper below `break_even_ratio`.
    break_even_usd_per_hour : A is cheaper than B below this price.
    faster, cheaper, dominates : probability that A is; 0.5 for equals.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    break_even_ratio: float
    break_even_usd_per_hour: float
    faster: float | None
    cheaper: float | None
    dominates: float | None
    latency_ratio_low: float | None
    latency_ratio_high: float | None
    break_even_low: float | None
    break_even_high: float | None


def compare(a: Plan, b: Plan, level: float = LEVEL) -> Comparison:
    """Confidence that A is faster or cheaper than B, with intervals at `level`.

    All offers with one GPU share that GPU's latency error. Scaling out to all GPUs of a node adds an error, which plans
    with the same GPU and number of GPUs share. For a derived latency, the interval of its ratio to the source instance
    is known. Between two GPUs with PROFET training data, errors correlate by `ERROR_CORRELATION`. Between other GPUs
    the correlation is not measured and assumed to be zero, which lowers confidence if the errors are in fact
    correlated.
    """
    ratio, deviation, usd_per_hour = _time_ratio(a, b), _deviation_of_ratio(a, b), b.offer.usd_per_hour
    factor = None if deviation is None else math.exp(quantile(level) * deviation)
    low, high = (None, None) if factor is None else (ratio / factor, ratio * factor)
    return Comparison(
        a=a,
        b=b,
        latency_ratio=ratio,
        break_even_ratio=usd_per_hour / a.offer.usd_per_hour,
        break_even_usd_per_hour=usd_per_hour / ratio,
        faster=chance_to_be_faster(a, b),
        cheaper=chance_to_be_cheaper(a, b),
        dominates=chance_to_dominate(a, b),
        latency_ratio_low=low,
        latency_ratio_high=high,
        break_even_low=high and usd_per_hour / high,
        break_even_high=low and usd_per_hour / low,
    )


def chance_to_be_faster(a: Plan, b: Plan) -> float | None:
    """Probability that A is faster than B, as in `compare`; None where an interval is missing."""
    return _chance(a, b, _time_ratio(a, b))


def chance_to_be_cheaper(a: Plan, b: Plan) -> float | None:
    """Probability that A is cheaper than B, as in `compare`; None where an interval is missing."""
    return _chance(a, b, a.total_usd / b.total_usd)


def chance_to_dominate(a: Plan, b: Plan) -> float | None:
    """Probability that A is both faster and cheaper than B, or equal in one; None where an interval is missing."""
    times, costs = _time_ratio(a, b), a.total_usd / b.total_usd
    if _deviation_of_ratio(a, b) == 0:
        return float(max(times, costs) <= 1 and min(times, costs) < 1)
    # Both ratios share one error, so the worse ratio decides.
    return _chance(a, b, max(times, costs))


def _chance(a: Plan, b: Plan, ratio: float) -> float | None:
    deviation = _deviation_of_ratio(a, b)
    return None if deviation is None else chance_less(ratio, deviation, surest_certainty(a.basis, b.basis))


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
    if (a.scaling_deviation or b.scaling_deviation) and not same_speed(a, b):
        of_one_gpu = combined_sd(of_one_gpu, combined_sd(a.scaling_deviation, b.scaling_deviation))
    return of_one_gpu


def same_speed(a: Plan, b: Plan) -> bool:
    """Whether both plans train on the same number of the same GPU, and so share one error."""
    return a.offer.gpu == b.offer.gpu and a.gpus == b.gpus
