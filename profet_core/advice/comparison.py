"""Compare two plans: which is faster or cheaper, with what confidence, and the break-even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from profet_core.advice.certainty import (
    ERROR_CORRELATION,
    chance_less,
    interval_ends,
    surest_certainty,
)
from profet_core.advice.plans import Plan
from profet_core.latency import LEVEL, Basis, combined_sd, sd_of_ratio


@final
@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What the errors of both latencies leave open.

    Attributes
    ----------
    faster, cheaper : chance that A is, 0 to 1; a half for equals.
    dominates : chance that A is faster and cheaper, or equal in one of them.
    latency_ratio_low, latency_ratio_high : ends of the interval of A's step latency over B's.
    break_even_low, break_even_high : of the price below which A is cheaper, US dollars an hour.
    """

    faster: float
    cheaper: float
    dominates: float
    latency_ratio_low: float
    latency_ratio_high: float
    break_even_low: float
    break_even_high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A against B.

    Attributes
    ----------
    latency_ratio : A's step latency over B's, of trainings on one GPU each; else the time that A's training takes over
        B's. A is cheaper below `break_even_ratio`.
    break_even_usd_per_hour : A is cheaper than B below this price.
    uncertainty : None where an interval is missing.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    break_even_ratio: float
    break_even_usd_per_hour: float
    uncertainty: Uncertainty | None

    @property
    def faster(self) -> float | None:
        """Chance that A is faster; None where an interval is missing."""
        return self.uncertainty and self.uncertainty.faster

    @property
    def cheaper(self) -> float | None:
        """Chance that A is cheaper; None where an interval is missing."""
        return self.uncertainty and self.uncertainty.cheaper

    @property
    def dominates(self) -> float | None:
        """Chance that A dominates B; None where an interval is missing."""
        return self.uncertainty and self.uncertainty.dominates


def compare(a: Plan, b: Plan, level: float = LEVEL) -> Comparison:
    """Confidence that A is faster or cheaper than B.

    Errors of one GPU's latency are one and the same on every offer of it; those of scaling out to all GPUs of a node
    come on top, and are the same for as many GPUs of that kind. A derived latency knows the interval of its
    ratio to the instance it was derived from. Between two GPUs whose training data is PROFET's own errors correlate by
    `ERROR_CORRELATION`. Between others the correlation is not measured and taken for none, which makes claims less sure
    than a common error would allow.

    Parameters
    ----------
    level : of the intervals in the answer.
    """
    ratio = _time_ratio(a, b)
    deviation = _deviation_of_ratio(a, b)
    return Comparison(
        a=a,
        b=b,
        latency_ratio=ratio,
        break_even_ratio=b.offer.usd_per_hour / a.offer.usd_per_hour,
        break_even_usd_per_hour=b.offer.usd_per_hour / ratio,
        uncertainty=None if deviation is None else _uncertainty(a, b, deviation, level),
    )


def chance_to_dominate(a: Plan, b: Plan) -> float | None:
    """Chance that A is both faster and cheaper than B, as `compare` has it; None where an interval is missing."""
    deviation = _deviation_of_ratio(a, b)
    if deviation is None:
        return None
    return _chance_to_dominate(
        _time_ratio(a, b), a.total_usd / b.total_usd, deviation, surest_certainty(a.basis, b.basis)
    )


def _time_ratio(a: Plan, b: Plan) -> float:
    """Steps of as many images: their latencies; else all steps of the training."""
    return a.latency_ms / b.latency_ms if a.gpus == b.gpus else a.total_s / b.total_s


def _uncertainty(a: Plan, b: Plan, deviation: float, level: float) -> Uncertainty:
    ratio, costs = _time_ratio(a, b), a.total_usd / b.total_usd
    surest = surest_certainty(a.basis, b.basis)
    low, high = interval_ends(ratio, deviation, level)
    return Uncertainty(
        faster=chance_less(ratio, deviation, surest),
        cheaper=chance_less(costs, deviation, surest),
        dominates=_chance_to_dominate(ratio, costs, deviation, surest),
        latency_ratio_low=low,
        latency_ratio_high=high,
        break_even_low=b.offer.usd_per_hour / high,
        break_even_high=b.offer.usd_per_hour / low,
    )


def _chance_to_dominate(ratio: float, costs: float, deviation: float, surest: float) -> float:
    """Both ratios move with the one error, so the worse of them decides."""
    if deviation == 0:
        return float(max(ratio, costs) <= 1 and min(ratio, costs) < 1)
    return chance_less(max(ratio, costs), deviation, surest)


def _deviation_of_ratio(a: Plan, b: Plan) -> float | None:
    if a.deviation is None or b.deviation is None:
        # The same row on another market: whatever its error, it is the same.
        return 0.0 if same_speed(a, b) and a.latency_ms == b.latency_ms else None
    of_one_gpu = _deviation_of_one_gpu(a, b)
    scaling = 0.0 if same_speed(a, b) else combined_sd(a.scaling_deviation, b.scaling_deviation)
    return None if of_one_gpu is None else combined_sd(of_one_gpu, scaling) if scaling else of_one_gpu


def same_speed(a: Plan, b: Plan) -> bool:
    """Whether as many GPUs of one kind train: whatever their error is, it is the same."""
    return a.offer.gpu == b.offer.gpu and a.gpus == b.gpus


def _deviation_of_one_gpu(a: Plan, b: Plan) -> float | None:
    """Of the ratio of both steps on one GPU each."""
    for one, other in ((a, b), (b, a)):
        if one.relative is not None and one.relative.instance == other.instance:
            return one.relative.log_sd
    of_a, of_b = a.one_gpu_deviation, b.one_gpu_deviation
    return None if of_a is None or of_b is None else sd_of_ratio(of_a, of_b, _correlation(a, b))


def _correlation(a: Plan, b: Plan) -> float:
    if a.offer.gpu == b.offer.gpu:
        return 1.0
    return ERROR_CORRELATION if a.basis is b.basis is Basis.MEASURED else 0.0
