"""What a training takes and costs on each offer, and the chance that it keeps to a deadline and a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from profet_core.advice.certainty import (
    ERROR_CORRELATION,
    INTERVAL_LEVEL,
    SUREST,
    SUREST_ESTIMATE,
    chance_at_most,
    chance_less,
    deviation_of_half_width,
    deviation_of_ratio,
    interval_ends,
)
from profet_core.catalog import Instance
from profet_core.cost import cost_usd, epoch_steps
from profet_core.latency import Basis, Interval, StepTime
from profet_core.units import MS_PER_S, S_PER_HOUR, positive_number, whole_number


@dataclass(frozen=True, slots=True)
class Workload:
    """A training: images an epoch (the last, smaller batch is a step), validation images an epoch, epochs."""

    images: int
    batch_size: int
    epochs: int = 1
    validation_images: int = 0

    @property
    def steps(self) -> float:
        """Training steps that it takes as long as. Raises InputError for a count that is not a positive number."""
        epochs = whole_number("The number of epochs", self.epochs)
        return epochs * epoch_steps(self.images, self.batch_size, self.validation_images)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the user has: hours until the deadline, dollars of budget; None where there is no such limit."""

    deadline_h: float | None = None
    budget_usd: float | None = None

    def __post_init__(self) -> None:
        if self.deadline_h is not None:
            positive_number("The deadline in hours", self.deadline_h)
        if self.budget_usd is not None:
            positive_number("The budget in US dollars", self.budget_usd)

    @property
    def deadline_s(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline_h is None else self.deadline_h * S_PER_HOUR


@final
@dataclass(frozen=True, slots=True)
class TotalInterval:
    """Time and cost of a training at both ends of its step latency's interval."""

    low_s: float
    high_s: float
    low_usd: float
    high_usd: float


@dataclass(frozen=True, slots=True)
class Plan:
    """One training on one offer.

    Attributes
    ----------
    offer : instance, market, region and price. Of a node of several GPUs the whole node is paid for, and the speed is
        that of one GPU.
    basis : what stands behind the latency.
    deviation : standard deviation of the latency's logarithm; 0 for a given latency, None where nothing is known.
    interval : None where the latency has none.
    in_time, in_budget : chance that the limit is kept to, 0 to 1; None without a limit or a deviation.
    rests_on : what a latency that was not measured rests on; empty if nothing is to say.
    fit_note : what to keep in mind about memory; empty if nothing.
    relative_to, relative_deviation : an instance and the standard deviation of log(latency / latency there), where it
        is known better than from both deviations; empty and None elsewhere.
    """

    offer: Instance
    basis: Basis
    latency_ms: float
    deviation: float | None
    total_s: float
    total_usd: float
    interval: TotalInterval | None
    in_time: float | None
    in_budget: float | None
    rests_on: str
    fit_note: str
    relative_to: str
    relative_deviation: float | None

    @property
    def note(self) -> str:
        """What to keep in mind: several GPUs paid for, memory; empty if nothing."""
        node = f"price of the whole node of {self.offer.gpu_count} GPUs, speed of one" if self.whole_node else ""
        return "; ".join(part for part in (node, self.fit_note) if part)

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.offer.name

    @property
    def label(self) -> str:
        """'g5.xlarge' on demand, 'g5.xlarge spot' or 'g5.xlarge own price' in another market."""
        return self.offer.name if self.offer.market == "on-demand" else f"{self.offer.name} {self.offer.market}"

    @property
    def whole_node(self) -> bool:
        """Whether more than one GPU is paid for."""
        return self.offer.gpu_count > 1


def plan_of(
    row: StepTime, offer: Instance, workload: Workload, limits: Limits, level: float, fit_note: str = ""
) -> Plan:
    """What `workload` takes and costs on `offer` at the step latency of `row`, which must be known."""
    steps = workload.steps
    latency_ms = positive_number(f"The latency of {row.instance}", row.latency_ms)
    deviation = 0.0 if row.basis.is_exact else _deviation_of(row, level)
    total_s, total_usd = _totals(steps, latency_ms, offer)
    return Plan(
        offer=offer,
        basis=row.basis,
        latency_ms=latency_ms,
        deviation=deviation,
        total_s=total_s,
        total_usd=total_usd,
        interval=row.interval and _total_interval(steps, row.interval, offer),
        in_time=_chance(limits.deadline_s, total_s, deviation, _surest(row.basis)),
        in_budget=_chance(limits.budget_usd, total_usd, deviation, _surest(row.basis)),
        rests_on=row.note,
        fit_note=fit_note,
        relative_to=row.relative.instance if row.relative else "",
        relative_deviation=row.relative and deviation_of_half_width(row.relative.log_half_width, level),
    )


def _deviation_of(row: StepTime, level: float) -> float | None:
    return None if row.interval is None else deviation_of_half_width(row.interval.log_half_width, level)


def _totals(steps: float, latency_ms: float, offer: Instance) -> tuple[float, float]:
    """Seconds and US dollars."""
    return steps * latency_ms / MS_PER_S, cost_usd(steps * latency_ms, offer.usd_per_hour)


def _total_interval(steps: float, interval: Interval, offer: Instance) -> TotalInterval:
    (low_s, low_usd), (high_s, high_usd) = (_totals(steps, ms, offer) for ms in (interval.low_ms, interval.high_ms))
    return TotalInterval(low_s, high_s, low_usd, high_usd)


def _chance(limit: float | None, expected: float, deviation: float | None, surest: float) -> float | None:
    return None if limit is None or deviation is None else chance_at_most(limit / expected, deviation, surest)


def _surest(*bases: Basis) -> float:
    return SUREST if all(basis.is_profiled for basis in bases) else SUREST_ESTIMATE


@dataclass(frozen=True, slots=True)
class Comparison:
    """A against B.

    Attributes
    ----------
    latency_ratio : A's step latency over B's, with the interval's ends; A is cheaper below `break_even_ratio`.
    faster, cheaper : chance that A is, 0 to 1; a half for equals; None where an interval is missing.
    beats : chance that A is faster and cheaper, or equal in one of them.
    break_even_usd_per_hour : A is cheaper than B below this price, with the interval's ends.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    latency_ratio_low: float | None
    latency_ratio_high: float | None
    break_even_ratio: float
    break_even_usd_per_hour: float
    break_even_low: float | None
    break_even_high: float | None
    faster: float | None
    cheaper: float | None
    beats: float | None


def compare(a: Plan, b: Plan, level: float = INTERVAL_LEVEL) -> Comparison:
    """How sure it is that A is faster or cheaper than B.

    Errors of one GPU's latency are one and the same on every offer of it. A derived latency knows the interval of its
    ratio to the instance it was derived from. Between two GPUs whose training data is PROFET's own errors correlate by
    `ERROR_CORRELATION`. Between others the correlation is not measured and taken for none, which makes claims less sure
    than a common error would allow.
    """
    ratio, costs = a.latency_ms / b.latency_ms, a.total_usd / b.total_usd
    spread, surest = _deviation(a, b), _surest(a.basis, b.basis)
    low, high = (None, None) if spread is None else interval_ends(ratio, spread, level)
    return Comparison(
        a=a,
        b=b,
        latency_ratio=ratio,
        latency_ratio_low=low,
        latency_ratio_high=high,
        break_even_ratio=b.offer.usd_per_hour / a.offer.usd_per_hour,
        break_even_usd_per_hour=b.offer.usd_per_hour / ratio,
        break_even_low=None if high is None else b.offer.usd_per_hour / high,
        break_even_high=None if low is None else b.offer.usd_per_hour / low,
        faster=None if spread is None else chance_less(ratio, spread, surest),
        cheaper=None if spread is None else chance_less(costs, spread, surest),
        beats=None if spread is None else _chance_to_beat(ratio, costs, spread, surest),
    )


def _chance_to_beat(ratio: float, costs: float, spread: float, surest: float) -> float:
    """Both ratios move with the one error, so the worse of them decides."""
    if spread == 0:
        return float(max(ratio, costs) <= 1 and min(ratio, costs) < 1)
    return chance_less(max(ratio, costs), spread, surest)


def _deviation(a: Plan, b: Plan) -> float | None:
    if a.deviation is None or b.deviation is None:
        # The same row on another market: whatever its error, it is the same.
        return 0.0 if a.offer.gpu == b.offer.gpu and a.latency_ms == b.latency_ms else None
    for one, other in ((a, b), (b, a)):
        if one.relative_deviation is not None and one.relative_to == other.instance:
            return one.relative_deviation
    return deviation_of_ratio(a.deviation, b.deviation, _correlation(a, b))


def _correlation(a: Plan, b: Plan) -> float:
    if a.offer.gpu == b.offer.gpu:
        return 1.0
    return ERROR_CORRELATION if a.basis is b.basis is Basis.MEASURED else 0.0
