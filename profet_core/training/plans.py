"""Time and cost of a training on each offer, and the chance that it keeps to a deadline and a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any, final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    RETIRED,
    RETIRED_MARK,
    SPOT,
    Instance,
    frame_of,
    machine_words,
    offer_name,
)
from profet_core.errors import InputError
from profet_core.latency import Basis, FloatArray, Values, log_sd_of
from profet_core.offers import OfferStep, OfferTable, RowSequence, cost_usd, known_or_none
from profet_core.training.cost import Breakdown, Energy, LostTime, Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_profiles.units import MS_PER_S, S_PER_HOUR, TimeUnit, positive_number, shared_time_unit

#: A limit counts as met if its probability is at least this, unless the user asks for another confidence.
CERTAINTY = 0.90
#: Highest confidence from an interval: 15 architectures can't show rarer misses.
SUREST = 0.999
#: The same for transferred latencies, whose intervals are estimated from a handful of GPUs.
SUREST_ESTIMATE = 0.99


class Limits(Struct, frozen=True):
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


NO_LIMITS = Limits()


@final
class TotalInterval(Struct, frozen=True):
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


class CostTable(RowSequence["Plan"], frozen=True, eq=False, kw_only=True, dict=True):
    """One training on every offer of a table of steps, with its time and cost in further columns; NaN is unknown.

    Attributes
    ----------
    steps : on the same rows; each is at least the time in which its images are loaded.
    gpu_ms : the step latencies without waiting for images.
    batch_size : images per step on all GPUs that train.
    total_s, total_usd : of all runs, with the ends of their intervals.
    in_time, in_budget : probability of meeting the limit, 0 to 1; NaN without a limit or a deviation.
    fits : whether a step fits in one GPU's memory; None if memory is not known of at all.
    reasons : why an offer has no plan; empty if it has one.
    anchor : instance, or GPU by its name, on which the profile was recorded.
    anchor_ms : the latency that speedups refer to, if known.
    energy : at most so much, in the order of the rows; empty if it is not asked for.
    """

    workload: Workload
    limits: Limits
    steps: OfferTable
    gpu_ms: FloatArray
    batch_size: np.ndarray
    total_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray
    total_usd: FloatArray
    low_usd: FloatArray
    high_usd: FloatArray
    in_time: FloatArray
    in_budget: FloatArray
    fits: tuple[FitAnswer | None, ...]
    reasons: tuple[str, ...]
    anchor: str = ""
    anchor_ms: float | None = None
    energy: tuple[Energy | None, ...] = ()

    @cached_property
    def deviation(self) -> FloatArray:
        """Standard deviation of the latency's logarithm; 0 for a given latency."""
        log_sd: FloatArray = np.where(self.steps.is_given, 0.0, self.steps.log_sd)
        return log_sd

    @cached_property
    def fit_chance(self) -> FloatArray:
        """Probability that a step fits in memory: 0 if a doubt has no number, 1 if memory is not known of at all."""
        return np.array([1.0 if fit is None else fit.probability or 0.0 for fit in self.fits])

    @cached_property
    def is_rentable(self) -> np.ndarray:
        """Whether the machine can be rented now."""
        return np.array([offer.status != RETIRED for offer in self.steps.offers], bool)

    @cached_property
    def is_profiled(self) -> np.ndarray:
        """Whether the GPU was profiled at this size."""
        return np.array([basis.is_profiled for basis in self.steps.basis], bool)

    @cached_property
    def is_measured(self) -> np.ndarray:
        """Whether models learned from the GPU's profiles at this size."""
        return np.array([basis is Basis.MEASURED for basis in self.steps.basis], bool)

    @cached_property
    def one_gpu_deviation(self) -> FloatArray:
        """The part of `deviation` due to one GPU's step."""
        alone: FloatArray = np.sqrt(np.maximum(self.deviation**2 - self.steps.scaling_log_sd**2, 0.0))
        return np.where(self.steps.gpus == 1, self.deviation, alone)

    @cached_property
    def gpu_names(self) -> np.ndarray:
        """GPUs' full names."""
        return np.array([offer.gpu for offer in self.steps.offers])

    @cached_property
    def within_limits(self) -> FloatArray:
        """Probability of meeting all limits: one error affects both, so the lower decides; NaN without an interval."""
        return np.fmin(self.in_time, self.in_budget)

    @cached_property
    def excess(self) -> FloatArray:
        """The larger of time over deadline and cost over budget; at most 1 if both are met, 0 without limits."""
        deadline_s, budget_usd = self.limits.deadline_s, self.limits.budget_usd
        over_s = 0.0 if deadline_s is None else self.total_s / deadline_s
        over_usd = 0.0 if budget_usd is None else self.total_usd / budget_usd
        return np.maximum(np.zeros(len(self)), np.maximum(over_s, over_usd))

    @cached_property
    def by_period(self) -> Mapping[Period, CostTable]:
        """Time and cost of each period in the place of the training's."""
        return {per: self._of(per) for per in Period}

    def _of(self, per: Period) -> CostTable:
        """Return time and cost of a period; a step on several GPUs has as many times the images."""
        share: Values = 1.0
        costed: Values = 1.0
        if per is Period.STEP:
            share = self.steps.latency_ms / MS_PER_S / self.total_s
            costed = share / self.workload.machines * COSTED_STEPS
        elif per is Period.EPOCH:
            share = 1 / self.workload.epochs / self.workload.turns
            costed = share / self.workload.machines
        # Where the whole interval waits for data, it has no width to show.
        none = np.where(self.low_s < self.high_s, 1.0, np.nan)
        return replace(
            self,
            total_s=self.total_s * share,
            low_s=self.low_s * share * none,
            high_s=self.high_s * share * none,
            total_usd=self.total_usd * costed,
            low_usd=self.low_usd * costed * none,
            high_usd=self.high_usd * costed * none,
        )

    def cheapest_first(self, rows: Sequence[int]) -> np.ndarray:
        """Rows by cost, then by time."""
        at = np.array(rows, int)
        ordered: np.ndarray = at[np.lexsort((self.total_s[at], self.total_usd[at]))]
        return ordered

    def on(self, rows: Iterable[int]) -> list[Plan]:
        """Return the plans of these rows."""
        return [Plan(self, row) for row in rows]

    def columns(self, rows: Sequence[int] | None = None) -> dict[str, Sequence[Any]]:
        """Columns of all rows, or of some: offer, latency, interval, time and cost; NaN is unknown."""
        steps, epochs, step_cells = self.steps, self.by_period[Period.EPOCH], self.steps.columns()
        totals = "total_s", "low_s", "high_s", "total_usd", "low_usd", "high_usd", "in_time", "in_budget", "batch_size"
        cells = {
            **step_cells,
            "plan": [offer.label for offer in steps.offers],
            "gpus": steps.gpus.tolist(),
            "step_usd": cost_usd(steps.latency_ms, steps.usd_per_hour).tolist(),
            "images_per_s": (self.batch_size / steps.latency_ms * MS_PER_S).tolist(),
            "epoch_s": epochs.total_s.tolist(),
            "epoch_usd": epochs.total_usd.tolist(),
            **{name: getattr(self, name).tolist() for name in totals},
            "speedup": ((np.nan if self.anchor_ms is None else self.anchor_ms) / steps.latency_ms).tolist(),
            "latency_note": step_cells["note"],
            "note": [plan.note for plan in self],
            "waiting": (1 - self.gpu_ms / steps.latency_ms).tolist(),
        }
        return cells if rows is None else {name: [values[row] for row in rows] for name, values in cells.items()}

    def to_frame(self, rows: Sequence[int] | None = None) -> Any:
        """Return the table, or some rows, as a `pandas.DataFrame`: offer, latency, interval, time and cost."""
        return frame_of(self.columns(rows))

    def __len__(self) -> int:
        return len(self.steps)

    def row(self, number: int) -> Plan:
        """One row."""
        return Plan(self, number)


class Plan:
    """One training on one offer: a row of a cost table. JSON has its label.

    You pay for the whole node; the speed is that of one GPU unless all of them train.
    """

    __slots__ = ("number", "table")

    def __init__(self, table: CostTable, number: int) -> None:
        self.table = table
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.table is other.table and self.number == other.number

    def __hash__(self) -> int:
        return hash((id(self.table), self.number))

    def per(self, period: Period) -> Plan:
        """Return the plan with time and cost of a period."""
        return Plan(self.table.by_period[period], self.number)

    @property
    def offer(self) -> Instance:
        """The offer at its price."""
        return self.table.steps.offers[self.number]

    @property
    def row(self) -> OfferStep:
        """Its step."""
        return OfferStep(self.table.steps, self.number)

    @property
    def workload(self) -> Workload:
        """The training."""
        return self.table.workload

    @property
    def has_number(self) -> bool:
        """Whether its time is predicted, and it can be chosen; else `reason` says why not."""
        return not self.reason

    @property
    def reason(self) -> str:
        """Why it has no number, in a few words."""
        return self.table.reasons[self.number]

    @property
    def is_anchor(self) -> bool:
        """Whether the profile was recorded there."""
        return self.table.anchor in (self.offer.name, self.offer.gpu)

    @property
    def fit(self) -> FitAnswer | None:
        """Whether a step fits in one GPU's memory; None if memory is not known of at all."""
        return self.table.fits[self.number]

    @property
    def gpu_ms(self) -> float:
        """The step latency without waiting for images."""
        return self.table.gpu_ms.item(self.number)

    @property
    def total_s(self) -> float:
        """Seconds of all runs on one machine."""
        return self.table.total_s.item(self.number)

    @property
    def total_usd(self) -> float:
        """US dollars of all runs."""
        return self.table.total_usd.item(self.number)

    @property
    def interval(self) -> TotalInterval | None:
        """Interval of time and cost; None if the latency has none."""
        table, row = self.table, self.number
        columns = table.low_s, table.high_s, table.low_usd, table.high_usd
        low_s, high_s, low_usd, high_usd = (column.item(row) for column in columns)
        return None if math.isnan(high_s) else TotalInterval(low_s, high_s, low_usd, high_usd)

    @property
    def in_time(self) -> float | None:
        """Probability of meeting the deadline, 0 to 1; None without one or a deviation."""
        return known_or_none(self.table.in_time, self.number)

    @property
    def in_budget(self) -> float | None:
        """Probability of meeting the budget."""
        return known_or_none(self.table.in_budget, self.number)

    @property
    def within_limits(self) -> float | None:
        """Probability of meeting all limits; None without an interval."""
        return known_or_none(self.table.within_limits, self.number)

    @property
    def basis(self) -> Basis:
        """Basis of the latency."""
        return self.table.steps.basis[self.number]

    @property
    def latency_ms(self) -> float:
        """Milliseconds per training step."""
        return self.table.steps.latency_ms.item(self.number)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the latency's logarithm; 0 for a given latency, None if unknown."""
        return known_or_none(self.table.deviation, self.number)

    @property
    def gpus(self) -> int:
        """Number of GPUs that train."""
        return int(self.table.steps.gpus[self.number])

    @property
    def batch_size(self) -> int:
        """Images per step on all GPUs that train."""
        return int(self.table.batch_size[self.number])

    @property
    def cost_per_1000_steps_usd(self) -> float:
        """US dollars per 1,000 steps."""
        return float(cost_usd(1000 * self.latency_ms, self.offer.usd_per_hour))

    @property
    def epoch_s(self) -> float:
        """Seconds per epoch."""
        return self.total_s / self.workload.epochs / self.workload.turns

    @property
    def epoch_usd(self) -> float:
        """US dollars per epoch."""
        return self.total_usd / self.workload.epochs / self.workload.runs

    @property
    def speedup(self) -> float | None:
        """Speed over the anchor's; None if that is unknown."""
        return None if self.table.anchor_ms is None else self.table.anchor_ms / self.latency_ms

    @property
    def energy(self) -> Energy | None:
        """At most so much energy; None if it is unknown."""
        return self.table.energy[self.number]

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
        gpus = "this GPU" if self.gpus == 1 else "these GPUs"
        return f"{self.offer.vcpus} vCPUs feed {fed:,.0f} images/s; {gpus} could train {could:,.0f}"

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
        return fit.description if fit is not None and fit.verdict is Verdict.CANT_TELL else ""

    @property
    def fit_chance(self) -> float:
        """Probability that a step fits in memory: 0 if a doubt has no number, 1 if memory is not known of at all."""
        return self.table.fit_chance.item(self.number)

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


def chance_at_most(ratio: Values, deviation: Values, surest: Values = SUREST) -> Values:
    """Probability that a value is at most `ratio` times its prediction, or of many; `deviation` is of its logarithm.

    >>> chance_at_most(np.array([1.0, 1.2, 1.2]), np.array([0.1, 0.1, 0.0])).round(3).tolist()
    [0.5, 0.966, 1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = bounded_chance(np.divide(np.log(ratio), deviation), surest)
    return np.where(deviation == 0, np.where(ratio >= 1, 1.0, 0.0), chance)[()]


def bounded_chance(deviations: Values, surest: Values) -> Values:
    """Share of a normal distribution below so many standard deviations, or of many, never surer than `surest`."""
    sides = np.asarray(deviations) / _SQRT_2
    shares = 0.5 * np.array([math.erfc(-value) for value in sides.ravel().tolist()]).reshape(sides.shape)
    return np.minimum(np.maximum(shares, 1 - surest), surest)


_SQRT_2 = math.sqrt(2)


def costed(
    work: Workload,
    steps: OfferTable,
    limits: Limits = NO_LIMITS,
    *,
    batch_size: Values = None,
    fits: Sequence[FitAnswer | None] = (),
    reasons: Sequence[str] = (),
    anchor: str = "",
    anchor_ms: float | None = None,
) -> CostTable:
    """Time and cost of a training on every offer of a table.

    Parameters
    ----------
    batch_size : images per step on each GPU, one for each row; None: the workload's.
    fits, reasons, anchor, anchor_ms : as in `CostTable`.
    """
    images = (work.batch_size if batch_size is None else batch_size) * steps.gpus
    loading_ms = work.loading_ms([offer.vcpus for offer in steps.offers], images)
    fed = _fed(steps, loading_ms) if loading_ms.any() else steps
    low, high = work.factors
    usd_per_s = work.machines * steps.usd_per_hour / S_PER_HOUR
    total_s = (low + high) / 2 * work.duration_s(steps.latency_ms, loading_ms, images)
    low_s, high_s = (
        factor * work.duration_s(end_ms, loading_ms, images)
        for factor, end_ms in zip((low, high), steps.ends_ms, strict=True)
    )
    table = CostTable(
        workload=work,
        limits=limits,
        steps=fed,
        gpu_ms=steps.latency_ms,
        batch_size=images,
        total_s=total_s,
        low_s=low_s,
        high_s=high_s,
        total_usd=total_s * usd_per_s,
        low_usd=low_s * usd_per_s,
        high_usd=high_s * usd_per_s,
        in_time=np.full(len(steps), np.nan),
        in_budget=np.full(len(steps), np.nan),
        fits=tuple(fits) or (None,) * len(steps),
        reasons=tuple(reasons) or ("",) * len(steps),
        anchor=anchor,
        anchor_ms=anchor_ms,
    )
    if not limits.given:
        return table
    least_s = work.duration_s(0.0, loading_ms, images)
    surest = np.where(table.is_profiled, SUREST, SUREST_ESTIMATE)

    def chances(limit_s: Values) -> FloatArray:
        ratio = np.where(limit_s >= least_s, limit_s / total_s, 0.0)
        chance: FloatArray = chance_at_most(ratio, table.deviation, surest)
        return chance

    if limits.deadline_s is not None:
        table = replace(table, in_time=chances(limits.deadline_s))
    if limits.budget_usd is not None:
        table = replace(table, in_budget=chances(limits.budget_usd / usd_per_s))
    return table


def _fed(steps: OfferTable, loading_ms: FloatArray) -> OfferTable:
    """Return the steps where images take this long to load: latencies and their intervals' ends are at least that."""
    low_ms, high_ms = steps.ends_ms
    waits = loading_ms > np.where(np.isnan(low_ms), steps.latency_ms, low_ms)
    latency_ms = np.maximum(steps.latency_ms, loading_ms)
    log_sd = log_sd_of(np.log(np.fmax(high_ms, latency_ms) / latency_ms))
    # A latency without an interval has none either.
    narrower = waits & (np.nan_to_num(steps.log_sd) > 0)
    shares_error = ~waits | (latency_ms == steps.latency_ms)
    return replace(
        steps,
        latency_ms=np.where(waits, latency_ms, steps.latency_ms),
        log_sd=np.where(narrower, log_sd, steps.log_sd),
        least_ms=np.where(waits, loading_ms, steps.least_ms),
        limited_by_host=steps.limited_by_host & ~waits,
        relative_to=tuple(name if kept else "" for name, kept in zip(steps.relative_to, shares_error, strict=True)),
    )


#: What an epoch and the whole training take and cost: attributes of a plan.
TOTALS = ("epoch_s", "epoch_usd", "total_s", "total_usd")


def cost_table(
    latencies_ms: Mapping[str, float],
    catalog: Catalog,
    *,
    images: int,
    batch_size: int,
    epochs: int = 1,
    validation_images: int = 0,
    with_loading: bool = False,
    images_per_s_per_vcpu: float | None = None,
    runs: int = 1,
    at_once: bool = False,
    anchor: str | None = None,
) -> CostTable:
    """Time and cost of a training on each instance; raises InputError for an unknown one, or an invalid number.

    Parameters
    ----------
    latencies_ms : instance -> milliseconds per training step **at `batch_size`**.
    catalog : prices; `catalog.with_prices` adds custom prices.
    images, epochs, validation_images : of the training; the last, smaller batch counts as a step, as in Keras.
    with_loading, images_per_s_per_vcpu, runs, at_once : as `Workload` has them.
    anchor : reference instance of speedups.
    """
    known_ms = [positive_number(f"The latency of {name}", latency_ms) for name, latency_ms in latencies_ms.items()]
    steps = OfferTable.given([catalog[name] for name in latencies_ms], known_ms)
    loading = with_loading, images_per_s_per_vcpu
    work = Workload(images, batch_size, epochs, validation_images, *loading, runs, at_once)
    return costed(work, steps, anchor_ms=latencies_ms.get(anchor) if anchor else None)


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
    """Period that time and cost are of; the values name columns of exports."""

    STEP = "step"
    EPOCH = "epoch"
    TRAINING = "training"

    def unit(self, plans: Sequence[Plan]) -> TimeUnit:
        """Return the one unit that cards, bars, table and dialog show these plans' times in."""
        return shared_time_unit(plan.per(self).total_s for plan in plans)

    @property
    def cost_suffix(self) -> str:
        """The period in words, where the view does not say it."""
        return f" per {COSTED_STEPS:,} steps" if self is Period.STEP else ""
