"""What a training takes and costs on each offer, and the chance that it keeps to a deadline and a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any, final

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    RETIRED,
    RETIRED_MARK,
    SPOT,
    Instance,
    frame_of,
    machine_words,
    offer_cells,
    offer_name,
)
from profet_core.errors import InputError
from profet_core.latency import Basis, Estimate, StepTime, log_sd_of
from profet_core.training.cost import Breakdown, LostTime, Workload, cost_usd
from profet_core.training.memory import FitAnswer, Verdict
from profet_profiles.units import MS_PER_S, S_PER_HOUR, TimeUnit, positive_number, shared_time_unit

#: A limit counts as met if its probability is at least this, unless the user asks for another confidence.
CERTAINTY = 0.90
#: Highest confidence from an interval: 15 architectures can't show rarer misses.
SUREST = 0.999
#: The same for transferred latencies, whose intervals are estimated from a handful of GPUs.
SUREST_ESTIMATE = 0.99


@dataclass(frozen=True, slots=True)
class Limits:
    """Hours until the deadline, US dollars, and the probability with which both must be kept, 0.5 to 1.

    Limits that aren't positive numbers raise InputError.
    """

    deadline_h: float | None = None
    budget_usd: float | None = None
    certainty: float = CERTAINTY

    def __post_init__(self) -> None:
        for what, limit in (("deadline in hours", self.deadline_h), ("budget in US dollars", self.budget_usd)):
            if limit is not None:
                positive_number(f"The {what}", limit)
        if not 0.5 <= self.certainty < 1:
            raise InputError(
                f"The certainty must be at least 0.5 and less than 1, such as 0.9, not {self.certainty:g}."
            )

    @property
    def deadline_s(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline_h is None else self.deadline_h * S_PER_HOUR

    @property
    def given(self) -> bool:
        """Whether there is a limit."""
        return self.deadline_h is not None or self.budget_usd is not None

    def excess(self, plan: Plan) -> float:
        """The larger of time over deadline and cost over budget; at most 1 if both are met, 0 without limits."""
        return max(
            0.0 if self.deadline_s is None else plan.total_s / self.deadline_s,
            0.0 if self.budget_usd is None else plan.total_usd / self.budget_usd,
        )


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTime(StepTime):
    """A step on all GPUs of a node, each with the workload's batch.

    Attributes
    ----------
    scaling_log_sd : the part of the error that is due to scaling; 0 on one GPU.
    """

    gpus: int
    scaling_log_sd: float


@final
@dataclass(frozen=True, slots=True)
class TotalInterval:
    """Time and cost of a training at both endpoints of its step latency's interval."""

    low_s: float
    high_s: float
    low_usd: float
    high_usd: float

    @property
    def seconds(self) -> tuple[float, float]:
        """Both endpoints of the time."""
        return self.low_s, self.high_s

    @property
    def usd(self) -> tuple[float, float]:
        """Both endpoints of the cost."""
        return self.low_usd, self.high_usd


@dataclass(frozen=True, slots=True)
class Plan:
    """One training on one offer.

    Attributes
    ----------
    offer : you pay for the whole node; the speed is that of one GPU unless `row` is a `NodeTime`.
    workload : with the images per step of all GPUs that train.
    row : the step latency, which is known, and at least the time in which its images are loaded.
    gpu_ms : the step latency without waiting for images.
    interval : of time and cost; None if the latency has none.
    in_time, in_budget : probability of meeting the limit, 0 to 1; None without a limit or a deviation.
    fit : whether a step fits in one GPU's memory; None if memory is not known of at all.
    """

    offer: Instance
    workload: Workload
    row: StepTime = field(compare=False)
    gpu_ms: float
    total_s: float
    total_usd: float
    interval: TotalInterval | None
    in_time: float | None
    in_budget: float | None
    fit: FitAnswer | None = None

    @property
    def basis(self) -> Basis:
        """Basis of the latency."""
        return self.row.estimate.basis

    @property
    def latency_ms(self) -> float:
        """Milliseconds per training step."""
        return float(self.row.estimate.latency_ms)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the latency's logarithm; 0 for a given latency, None if unknown."""
        step = self.row.estimate
        return 0.0 if step.basis is Basis.GIVEN else step.log_sd

    @property
    def gpus(self) -> int:
        """Number of GPUs that train."""
        return self.row.gpus if isinstance(self.row, NodeTime) else 1

    @property
    def scaling_deviation(self) -> float:
        """The part of `deviation` due to scaling out; 0 if one GPU trains."""
        return self.row.scaling_log_sd if isinstance(self.row, NodeTime) else 0.0

    @property
    def batch_size(self) -> int:
        """Images per step on all GPUs that train."""
        return self.workload.batch_size

    @property
    def step_usd(self) -> float:
        """US dollars per step."""
        return cost_usd(self.latency_ms, self.offer.usd_per_hour)

    @property
    def cost_per_1000_steps_usd(self) -> float:
        """US dollars per 1,000 steps."""
        return cost_usd(1000 * self.latency_ms, self.offer.usd_per_hour)

    @property
    def epoch_s(self) -> float:
        """Seconds per epoch."""
        return self.total_s / self.workload.epochs / self.workload.turns

    @property
    def epoch_usd(self) -> float:
        """US dollars per epoch."""
        return self.total_usd / self.workload.epochs / self.workload.runs

    @property
    def lost(self) -> LostTime | None:
        """Time that interruptions of one machine are expected to take; None if they aren't counted, or can't happen."""
        interruptions = self.workload.extras.interruptions
        return interruptions.lost(self.total_s) if interruptions and self.offer.market == SPOT else None

    @property
    def breakdown(self) -> Breakdown:
        """All that the training costs, with interruptions, start-up and storage."""
        work, extras, lost = self.workload, self.workload.extras, self.lost
        lost_s = 0.0 if lost is None else lost.seconds
        total_s = self.total_s + lost_s + extras.start_up_s
        machine_usd = {"interruptions": lost_s / S_PER_HOUR * self.offer.usd_per_hour}
        machine_usd |= extras.costs_usd(self.offer.usd_per_hour, total_s)
        others_usd = {name: work.machines * usd for name, usd in machine_usd.items()}
        return Breakdown({"training": self.total_usd, **others_usd}, total_s)

    @property
    def waiting(self) -> float:
        """Share of a training step in which the GPU waits for images."""
        return 1 - self.gpu_ms / self.latency_ms

    @property
    def loading_note(self) -> str:
        """'4 vCPUs feed 480 images/s; this GPU could train 1,430'; empty if the GPU doesn't wait."""
        if not self.waiting:
            unknown = self.workload.images_per_s_per_vcpu is not None and not self.offer.vcpus
            return "data loading not counted: vCPUs unknown" if unknown else ""
        fed, could = (self.batch_size / ms * MS_PER_S for ms in (self.latency_ms, self.gpu_ms))
        them = "this GPU" if self.gpus == 1 else "these GPUs"
        return f"{self.offer.vcpus} vCPUs feed {fed:,.0f} images/s; {them} could train {could:,.0f}"

    @property
    def node_note(self) -> str:
        """That several GPUs are paid for or used; empty for one."""
        if self.gpus > 1:
            return f"all {self.gpus} GPUs train: {self.batch_size:,} images per step"
        several = f"price of the whole machine with {self.offer.gpu_count} GPUs, speed of one GPU"
        return several if self.offer.gpu_count > 1 else ""

    @property
    def fit_note(self) -> str:
        """Caveat about memory; empty if there is none."""
        fit = self.fit
        return f"memory: {fit.description}" if fit is not None and fit.verdict is Verdict.CANT_TELL else ""

    @property
    def fit_chance(self) -> float:
        """Probability that a step fits in memory: 0 if a doubt has no number, 1 if memory is not known of at all."""
        return 1.0 if self.fit is None else self.fit.probability or 0.0

    @property
    def is_rentable(self) -> bool:
        """Whether the machine can be rented now."""
        return self.offer.status != RETIRED

    @property
    def note(self) -> str:
        """Caveats: several GPUs, data loading, memory; empty if there are none."""
        return "; ".join(part for part in (self.node_note, self.loading_note, self.fit_note) if part)

    @property
    def name(self) -> str:
        """'A100 · GCP'; if all GPUs of a node train, '8 × A100 · GCP'."""
        return offer_name(self.offer, self.gpus)

    @property
    def phrase(self) -> str:
        """The name in a sentence: 'A100 at GCP'."""
        return offer_name(self.offer, self.gpus, joined=" at ")

    @property
    def code(self) -> str:
        """The machine as its cloud writes it: 'a2-highgpu-1g' for 'gcp/a2-highgpu-1g'."""
        return machine_words(self.offer)

    @property
    def name_and_code(self) -> str:
        """'A100 · GCP (a2-highgpu-1g)', what a command line can name and a person can read."""
        if self.offer.provider == CUSTOM_PROVIDER:
            return self.name
        name, retired, _ = self.name.partition(RETIRED_MARK)
        return f"{name} ({self.code}, {RETIRED})" if retired else f"{name} ({self.code})"

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.offer.name

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""
        return self.offer.label

    @property
    def images_per_s(self) -> float:
        """Training images per second on all its GPUs."""
        return self.batch_size / self.latency_ms * MS_PER_S

    @property
    def one_gpu_deviation(self) -> float | None:
        """The part of `deviation` due to one GPU's step."""
        deviation = self.deviation
        if deviation is None or not isinstance(self.row, NodeTime):
            return deviation
        return math.sqrt(max(deviation**2 - self.row.scaling_log_sd**2, 0.0))

    @property
    def within_limits(self) -> float | None:
        """Probability of meeting all limits: one error affects both, so the lower decides; None without an interval."""
        return min((chance for chance in (self.in_time, self.in_budget) if chance is not None), default=None)


def surest_certainty(basis: Basis, other: Basis = Basis.GIVEN) -> float:
    """Highest confidence in a statement about a latency, or two, with these bases."""
    return SUREST if basis.is_profiled and other.is_profiled else SUREST_ESTIMATE


def chance_at_most(ratio: float, deviation: float, surest: float = SUREST) -> float:
    """Probability that a value is at most `ratio` times its prediction; `deviation` is of its logarithm.

    >>> chance_at_most(1.0, 0.1), round(chance_at_most(1.2, 0.1), 3), chance_at_most(1.2, 0)
    (0.5, 0.966, 1.0)
    """
    if deviation == 0:
        return 1.0 if ratio >= 1 else 0.0
    return bounded_chance(math.log(ratio) / deviation if ratio else -math.inf, surest)


def bounded_chance(deviations: float, surest: float) -> float:
    """Share of a normal distribution below so many standard deviations, never surer than `surest`."""
    return min(max(0.5 * math.erfc(-deviations / _SQRT_2), 1 - surest), surest)


_SQRT_2 = math.sqrt(2)


def plan_of(
    work: Workload, row: StepTime, offer: Instance, limits: Limits = NO_LIMITS, fit: FitAnswer | None = None
) -> Plan:
    """Time and cost of a training on `offer` at the step latency of `row`, which must be known."""
    if isinstance(row, NodeTime):
        work = replace(work, batch_size=work.batch_size * row.gpus)
    gpu_ms, loading_ms = float(row.estimate.latency_ms), work.loading_ms(offer.vcpus)
    gpu_ends = row.interval
    if loading_ms:
        row = _fed(row, loading_ms)
    deviation = 0.0 if row.estimate.basis is Basis.GIVEN else row.estimate.log_sd
    low, high = work.factors
    usd_per_s = work.machines * offer.usd_per_hour / S_PER_HOUR
    total_s = (low + high) / 2 * work.duration_s(gpu_ms, loading_ms)
    interval, in_time, in_budget = None, None, None
    if gpu_ends is not None:
        low_s = low * work.duration_s(gpu_ends.low_ms, loading_ms)
        high_s = high * work.duration_s(gpu_ends.high_ms, loading_ms)
        interval = TotalInterval(low_s, high_s, low_s * usd_per_s, high_s * usd_per_s)
    if limits.given and deviation is not None:
        surest, least_s = surest_certainty(row.basis), work.duration_s(0.0, loading_ms)
        budget_s = None if limits.budget_usd is None else limits.budget_usd / usd_per_s
        in_time, in_budget = (
            limit_s and chance_at_most(limit_s / total_s if limit_s >= least_s else 0.0, deviation, surest)
            for limit_s in (limits.deadline_s, budget_s)
        )
    return Plan(offer, work, row, gpu_ms, total_s, total_s * usd_per_s, interval, in_time, in_budget, fit)


def _fed(row: StepTime, loading_ms: float) -> StepTime:
    """The step where its images take this long to load: its latency and both ends of its interval are at least that."""
    step, ends = row.estimate, row.interval
    if loading_ms <= (step.latency_ms if ends is None else ends.low_ms):
        return row
    latency_ms = max(step.latency_ms, loading_ms)
    log_sd = step.log_sd and log_sd_of(math.log(max(ends.high_ms if ends else 0.0, latency_ms) / latency_ms))
    relative = step.relative if latency_ms == step.latency_ms else None
    fed = replace(step, latency_ms=latency_ms, log_sd=log_sd, least_ms=loading_ms, relative=relative, parts=None)
    return replace(row, estimate=fed)


@dataclass(frozen=True, slots=True)
class CostTable:
    """Time and cost of one training on every instance; `anchor_ms`: the latency that speedups refer to, if known."""

    workload: Workload
    rows: tuple[Plan, ...]
    anchor_ms: float | None = None

    def speedup(self, row: Plan) -> float | None:
        """Speed of one of the rows over the anchor's."""
        return None if self.anchor_ms is None else self.anchor_ms / row.latency_ms

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, time and cost."""
        names = ("latency_ms", "step_usd", "cost_per_1000_steps_usd", "images_per_s", *TOTALS)
        return frame_of(
            {**offer_cells(row.offer), **{name: getattr(row, name) for name in names}, "speedup": self.speedup(row)}
            for row in self.rows
        )


#: What an epoch and the whole training take and cost: attributes of a plan.
TOTALS = ("epoch_s", "epoch_usd", "total_s", "total_usd")


def cost_table(
    latencies_ms: Mapping[str, float], catalog: Catalog, *, anchor: str | None = None, **training: Any
) -> CostTable:
    """Time and cost of a training on each instance; raises InputError for an unknown one, or an invalid number.

    Parameters
    ----------
    latencies_ms : instance -> milliseconds per training step **at `batch_size`**.
    catalog : prices; `catalog.with_prices` adds custom prices.
    anchor : reference instance of speedups.
    training : fields of `Workload`: `images` and `batch_size`, and others such as `epochs`, `validation_images`; the
        last, smaller batch counts as a step, as in Keras.
    """
    work, plans = Workload(**training), []
    for name, latency_ms in latencies_ms.items():
        step = Estimate(latency_ms=positive_number(f"The latency of {name}", latency_ms), basis=Basis.GIVEN)
        plans.append(plan_of(work, StepTime(name, step), catalog[name]))
    return CostTable(work, tuple(plans), latencies_ms.get(anchor) if anchor else None)


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


#: Mean error, percent, of the default method on held-out networks with the anchor's latency given, by the confidence
#: of their intervals; `tests/core/training/test_recommend.py` recomputes them from `validation.json`.
MEASURED_ERRORS_PCT = {Confidence.GOOD: 4.8, Confidence.FAIR: 10.8}


def confidence(basis: Basis, log_sd: float | None) -> Confidence:
    """Confidence in a latency, or in a number computed from it; the interval decides.

    Unprofiled GPUs and multi-GPU predictions are never "good": no measurement could check their intervals.

    >>> confidence(Basis.GIVEN, None).word, confidence(Basis.MEASURED, 0.1).word
    ('good', 'good')
    >>> confidence(Basis.CALIBRATED, 0.1).word, confidence(Basis.RESIZED, None).word
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


#: Steps that the cost per step is shown for: one costs too little to read.
COSTED_STEPS = 1_000


class Period(StrEnum):
    """What time and cost are of; the values name columns of exports."""

    STEP = "step"
    EPOCH = "epoch"
    TRAINING = "training"

    def share_of(self, plan: Plan) -> Plan:
        """The plan with this share of its time and cost; a step on several GPUs has as many times the images."""
        if self is Period.TRAINING and not (plan.interval and plan.interval.low_s >= plan.interval.high_s):
            return plan
        work, ends, share, costed = plan.workload, plan.interval, 1.0, 1.0
        if self is not Period.TRAINING:
            is_step = self is Period.STEP
            share = plan.latency_ms / MS_PER_S / plan.total_s if is_step else 1 / work.epochs / work.turns
            costed = share / work.machines * (COSTED_STEPS if is_step else 1)
        # Where the whole interval waits for data, it has no width to show.
        interval = (
            TotalInterval(ends.low_s * share, ends.high_s * share, ends.low_usd * costed, ends.high_usd * costed)
            if ends and ends.low_s < ends.high_s
            else None
        )
        return replace(plan, total_s=plan.total_s * share, total_usd=plan.total_usd * costed, interval=interval)

    def unit(self, plans: Iterable[Plan]) -> TimeUnit:
        """The one unit that cards, bars, table and dialog show these plans' times in."""
        return shared_time_unit(self.share_of(plan).total_s for plan in plans)

    @property
    def cost_suffix(self) -> str:
        """What a cost is for, where the view does not say it."""
        return f" per {COSTED_STEPS:,} steps" if self is Period.STEP else ""
