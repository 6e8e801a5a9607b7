"""What a training takes and costs on each offer, and the chance that it keeps to a deadline and a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import final

from profet_core.advice.certainty import chance_at_most, surest_certainty
from profet_core.catalog import Instance
from profet_core.catalog.instance import OWN_HARDWARE
from profet_core.catalog.naming import gpu_and_cloud, machine_words
from profet_core.cost import MEASURED_EPOCH_FACTOR, cost_usd, epoch_steps
from profet_core.errors import InputError
from profet_core.latency import LEVEL, Basis, Interval, Relative, StepTime, log_sd_of
from profet_core.units import MS_PER_S, S_PER_HOUR, positive_number, whole_number

#: A limit counts as met if its probability is at least this, unless the user asks for another confidence.
CERTAINTY = 0.90


@dataclass(frozen=True)
class Workload:
    """Training images and validation images per epoch, and epochs.

    The last, smaller batch is a step.

    Attributes
    ----------
    with_loading : add the time that measured epochs took beyond their steps, for data loading and start-up
        (`MEASURED_EPOCH_FACTOR`).
    """

    images: int
    batch_size: int
    epochs: int = 1
    validation_images: int = 0
    with_loading: bool = False

    @cached_property
    def steps(self) -> float:
        """Number of training steps with the same total duration. Raises InputError for counts that aren't positive."""
        epochs = whole_number("The number of epochs", self.epochs)
        return epochs * epoch_steps(self.images, self.batch_size, self.validation_images)

    @property
    def loading_factors(self) -> tuple[float, float, float]:
        """Factors on the steps' time: lowest, middle, highest; all 1 without loading.

        >>> Workload(1, 1).loading_factors
        (1.0, 1.0, 1.0)
        >>> [round(factor, 3) for factor in Workload(1, 1, with_loading=True).loading_factors]
        [1.06, 1.075, 1.09]
        """
        if not self.with_loading:
            return 1.0, 1.0, 1.0
        low, high = MEASURED_EPOCH_FACTOR
        return low, (low + high) / 2, high


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the user, each None if absent, and the required confidence.

    Attributes
    ----------
    deadline_h : hours until the deadline. budget_usd : US dollars.
    certainty : probability with which the limits must be met, 0.5 to 1.

    Raises
    ------
    InputError : a limit is not a positive number, or a certainty is out of range.
    """

    deadline_h: float | None = None
    budget_usd: float | None = None
    certainty: float = CERTAINTY

    def __post_init__(self) -> None:
        if self.deadline_h is not None:
            positive_number("The deadline in hours", self.deadline_h)
        if self.budget_usd is not None:
            positive_number("The budget in US dollars", self.budget_usd)
        if not 0.5 <= self.certainty < 1:
            raise InputError(
                f"The certainty must be at least 0.5 and less than 1, such as 0.9, not {self.certainty:g}."
            )

    @property
    def deadline_s(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline_h is None else self.deadline_h * S_PER_HOUR


@dataclass(frozen=True, slots=True)
class Request:
    """A training, its limits, and the level of the step latencies' intervals, 0 to 1."""

    workload: Workload
    limits: Limits
    interval_level: float = LEVEL


@final
@dataclass(frozen=True, slots=True)
class TotalInterval:
    """Time and cost of a training at both endpoints of its step latency's interval."""

    low_s: float
    high_s: float
    low_usd: float
    high_usd: float


@final
@dataclass(frozen=True, slots=True)
class Node:
    """Use of all GPUs of a node: each takes the workload's batch, so a step has `gpus` times the images.

    Attributes
    ----------
    log_sd : standard deviation of the log error of scaling alone, in addition to that of one GPU's step.
    """

    gpus: int
    log_sd: float


@dataclass(frozen=True, slots=True)
class Plan:
    """One training on one offer.

    Attributes
    ----------
    offer : instance, market, region and price. You pay for the whole node even if it has several GPUs. The speed is
        that of one GPU unless `gpus` says that all of them train.
    basis, latency_note : basis of the latency, and the source of an unmeasured one; empty if there is nothing to note.
    deviation : standard deviation of the latency's logarithm; 0 for a given latency, None if unknown.
    relative : uncertainty of a derived latency's ratio to its source instance; None for other latencies.
    interval : None if the latency has none. step_interval : interval of the latency itself.
    in_time, in_budget : probability of meeting the limit, 0 to 1; None without a limit or a deviation.
    fit_note : caveat about memory; empty if there is none.
    limited_by_host : a faster GPU would take as long, so such GPUs tie.
    gpus : number of GPUs that train. batch_size : images per step on all of them.
    scaling_deviation : the part of `deviation` due to scaling out; 0 if one GPU trains.
    """

    offer: Instance
    basis: Basis
    latency_ms: float
    latency_note: str
    deviation: float | None
    relative: Relative | None
    total_s: float
    total_usd: float
    interval: TotalInterval | None
    in_time: float | None
    in_budget: float | None
    fit_note: str
    limited_by_host: bool
    gpus: int
    batch_size: int
    scaling_deviation: float
    step_interval: Interval | None = None

    @property
    def note(self) -> str:
        """Caveats: several GPUs paid for or used, memory; empty if there are none."""
        return "; ".join(part for part in (self._node_note, self.fit_note) if part)

    @property
    def _node_note(self) -> str:
        if self.gpus > 1:
            return f"all {self.gpus} GPUs train: {self.batch_size:,} images per step"
        return (
            f"price of the whole machine with {self.offer.gpu_count} GPUs, speed of one GPU" if self.whole_node else ""
        )

    @property
    def gpu_words(self) -> str:
        """'A100, GCP'; if all GPUs of a node train, '8 × A100, GCP'."""
        return f"{self.gpus} × {gpu_and_cloud(self.offer)}" if self.gpus > 1 else gpu_and_cloud(self.offer)

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.offer.name

    @property
    def label(self) -> str:
        """'g5.xlarge' on demand, 'g5.xlarge spot' or 'g5.xlarge own price' in another market."""
        return self.offer.name if self.offer.market == "on-demand" else f"{self.offer.name} {self.offer.market}"

    @property
    def images_per_s(self) -> float:
        """Training images per second on all its GPUs."""
        return self.batch_size / self.latency_ms * MS_PER_S

    @property
    def verb(self) -> str:
        """The verb for using it: custom hardware is not rented."""
        return "Use" if self.offer.market == OWN_HARDWARE else "Rent"

    @property
    def title(self) -> str:
        """`label` as the cloud writes it, without the cloud's name as a prefix."""
        return machine_words(self.offer) + self.label.removeprefix(self.offer.name)

    @property
    def whole_node(self) -> bool:
        """Whether you pay for more than one GPU."""
        return self.offer.gpu_count > 1

    @property
    def one_gpu_deviation(self) -> float | None:
        """The part of `deviation` due to one GPU's step."""
        if self.deviation is None or not self.scaling_deviation:
            return self.deviation
        return math.sqrt(max(self.deviation**2 - self.scaling_deviation**2, 0.0))

    @property
    def within_limits(self) -> float | None:
        """Probability of meeting all limits; None without an interval.

        One error affects time and cost, so the lower probability decides.
        """
        chances = [chance for chance in (self.in_time, self.in_budget) if chance is not None]
        return min(chances, default=None)


def plan_of(request: Request, row: StepTime, offer: Instance, fit_note: str = "", node: Node | None = None) -> Plan:
    """Time and cost of the request's training on `offer` at the step latency of `row`, which must be known.

    Parameters
    ----------
    node : the node, if `row` describes a step on all its GPUs; None: one GPU.
    """
    limits = request.limits
    gpus = 1 if node is None else node.gpus
    work = request.workload
    if gpus > 1:
        work = replace(work, batch_size=work.batch_size * gpus)
    steps = work.steps
    low, middle, high = (steps * factor for factor in work.loading_factors)
    latency_ms = positive_number(f"The latency of {row.instance}", row.latency_ms)
    deviation, interval = 0.0 if row.basis.is_exact else row.log_sd, row.interval
    total_s, total_usd = _totals(middle, latency_ms, offer)
    return Plan(
        offer=offer,
        basis=row.basis,
        latency_ms=latency_ms,
        latency_note=row.note,
        deviation=deviation,
        relative=row.relative,
        total_s=total_s,
        total_usd=total_usd,
        interval=interval and _total_interval((low, high), interval, offer),
        in_time=_chance(limits.deadline_s, total_s, deviation, row.basis),
        in_budget=_chance(limits.budget_usd, total_usd, deviation, row.basis),
        fit_note=fit_note,
        limited_by_host=row.limited_by_host,
        gpus=gpus,
        batch_size=work.batch_size,
        scaling_deviation=0.0 if node is None else node.log_sd,
        step_interval=interval,
    )


def _totals(steps: float, latency_ms: float, offer: Instance) -> tuple[float, float]:
    """Seconds and US dollars."""
    return steps * latency_ms / MS_PER_S, cost_usd(steps * latency_ms, offer.usd_per_hour)


def _total_interval(steps: tuple[float, float], interval: Interval, offer: Instance) -> TotalInterval:
    """`steps` : lower and upper bound of the number of training steps with equal duration."""
    ends = zip(steps, (interval.low_ms, interval.high_ms), strict=True)
    (low_s, low_usd), (high_s, high_usd) = (_totals(count, latency_ms, offer) for count, latency_ms in ends)
    return TotalInterval(low_s, high_s, low_usd, high_usd)


def _chance(limit: float | None, expected: float, deviation: float | None, basis: Basis) -> float | None:
    if limit is None or deviation is None:
        return None
    return chance_at_most(limit / expected, deviation, surest_certainty(basis))


#: Upper bounds of the log standard deviation for good and fair: 90% intervals of +20% and +50%.
GOOD_LOG_SD, FAIR_LOG_SD = log_sd_of(math.log(1.2)), log_sd_of(math.log(1.5))


class Confidence(IntEnum):
    """The three levels, ascending."""

    ROUGH = 1
    FAIR = 2
    GOOD = 3

    @property
    def word(self) -> str:
        """'good', 'fair' or 'rough'."""
        return self.name.lower()

    @property
    def mark(self) -> str:
        """'●●○': one filled dot per level of confidence."""
        return "●" * self + "○" * (len(Confidence) - self)


@dataclass(frozen=True, slots=True)
class MeasuredErrors:
    """Errors of a confidence level on held-out networks, percent: mean and 90th percentile."""

    mean_pct: float
    one_in_ten_pct: float


#: Errors of the default method on held-out networks with the anchor's latency given, by the confidence level of their
#: intervals; `tests/core/advice/test_confidence.py` recomputes them from `validation.json`.
MEASURED_ERRORS = {Confidence.GOOD: MeasuredErrors(4.8, 11.4), Confidence.FAIR: MeasuredErrors(10.8, 22.1)}


def confidence(basis: Basis, log_sd: float | None) -> Confidence:
    """Confidence in a latency, or in a number computed from it.

    The interval decides. It widens with ensemble disagreement and with distance from the training data. Unprofiled GPUs
    and multi-GPU predictions are never "good": no measurement could check their intervals.

    >>> confidence(Basis.GIVEN, None).word, confidence(Basis.MEASURED, 0.1).word
    ('good', 'good')
    >>> confidence(Basis.DERIVED, 0.1).word, confidence(Basis.CARRIED, None).word
    ('fair', 'rough')
    """
    if basis.is_exact:
        return Confidence.GOOD
    if log_sd is None or log_sd > FAIR_LOG_SD:
        return Confidence.ROUGH
    unmeasured = basis.is_rough or basis is Basis.SCALED_OUT
    return Confidence.FAIR if unmeasured or log_sd > GOOD_LOG_SD else Confidence.GOOD


def plan_confidence(plan: Plan) -> Confidence:
    """Confidence in a plan's time and cost: that of its step latency."""
    return confidence(plan.basis, plan.deviation)
