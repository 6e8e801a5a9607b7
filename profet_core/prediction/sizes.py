"""One network's steps at any batch and pixel size, from one or two that were profiled."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from profet_core.artifacts.models import Models
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import ArtifactError, InputError
from profet_core.features.classes import load_operation_classes
from profet_core.latency import (
    SMOOTH_MAX_POWER,
    Basis,
    Estimate,
    Interval,
    Reach,
    Relative,
    StepTime,
    combined_sd,
    join,
    log_sd_of,
    smooth_max,
)
from profet_core.messages import Code, Note
from profet_core.prediction.checks import without_input_wait
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.profiles.record import Profile
from profet_core.sizes.axes import axis_range
from profet_core.sizes.growth import (
    Growth,
    GrowthModel,
    KnownPoint,
    ReachedGrowth,
    SizePoint,
    Sizes,
    carry_one,
    carry_two,
    step_signs,
)
from profet_core.units import whole_number

_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


def other_networks(first: Profile, second: Profile) -> tuple[str, ...]:
    """Differences between profiles of any two sizes, one sentence each."""
    same_pixels = None in (first.meta.pixels, second.meta.pixels) or first.meta.pixels == second.meta.pixels
    sizes = {"batch_size", "pixels"}
    return _differences(first, second, sizes if same_pixels else {*sizes, "parameters"})


def _differences(first: Profile, second: Profile, allowed: Collection[str]) -> tuple[str, ...]:
    lines = []
    for name, words in _WORDS.items():
        ours, theirs = getattr(first.meta, name), getattr(second.meta, name)
        if name not in allowed and None not in (ours, theirs) and ours != theirs:
            lines.append(
                f"The two profiles differ in {words} ({ours} and {theirs}): check that they are of the same network."
            )
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class TrainingSteps:
    """Step latencies at one batch size.

    Attributes
    ----------
    step_times : one per instance, each with its basis.
    carried : whether they are scaled from a profile's size.
    problems : instance -> why it has no latency, one line.
    pixels : image height and width; None: unknown.
    """

    batch_size: int
    step_times: tuple[StepTime, ...]
    carried: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)
    pixels: int | None = None

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> milliseconds per step, for all instances with a latency."""
        return {row.instance: row.latency_ms for row in self.step_times if row.latency_ms is not None}

    @property
    def intervals(self) -> dict[str, Interval]:
        """Instance -> its interval, for all instances with one."""
        return {row.instance: row.interval for row in self.step_times if row.interval is not None}


def steps_as_profiled(prediction: Prediction, batch_size: int) -> TrainingSteps:
    """The prediction's own latencies, for a training at the profiled batch size."""
    return TrainingSteps(batch_size, prediction.predictions)


#: Range of sizes that steps can be scaled to and from.
BATCH_SIZES, PIXEL_SIZES = (1, 1024), (16, 1024)


@dataclass(frozen=True, slots=True)
class KnownStep:
    """One profiled step.

    Attributes
    ----------
    profile : with the number of steps used for the prediction.
    batch_size, pixels : recorded sizes; None: unknown.
    """

    profile: Profile
    prediction: Prediction
    batch_size: int | None = None
    pixels: int | None = None

    def check(self) -> None:
        """Raise InputError if steps can't be scaled from its size, beyond `BATCH_SIZES` or `PIXEL_SIZES`."""
        if self.batch_size is not None:
            check_batch(self.batch_size)
        if self.pixels is not None:
            check_pixels(self.pixels)

    def is_at(self, batch_size: int, pixels: int | None) -> bool:
        """Whether this is the step at these sizes; pixels None: any pixel size."""
        return self.batch_size == batch_size and (pixels is None or self.pixels == pixels)

    @property
    def sized_profile(self) -> Profile:
        """The profile with its known sizes."""
        meta = replace(self.profile.meta, batch_size=self.batch_size, pixels=self.pixels)
        return replace(self.profile, meta=meta)

    @property
    def words(self) -> str:
        """'batch 64' or 'batch 64, 224 pixels'."""
        pixels = "" if self.pixels is None else f", {self.pixels} pixels"
        return f"batch {self.batch_size}{pixels}"


def check_batch(batch_size: object) -> int:
    """Check a batch size that steps are scaled to."""
    return _check("The batch size", batch_size, BATCH_SIZES)


def check_pixels(pixels: object) -> int:
    """Check a pixel size that steps are scaled to."""
    return _check("The pixel size", pixels, PIXEL_SIZES)


def _check(name: str, value: object, between: tuple[int, int]) -> int:
    number = whole_number(name, value, at_least=0)
    if not between[0] <= number <= between[1]:
        raise InputError(f"{name} must be between {between[0]} and {between[1]}, not {number}.")
    return number


def joint_predictions(known: Sequence[KnownStep]) -> tuple[KnownStep, ...]:
    """Return the known steps with equal launch overhead, none faster than one with a smaller batch and no more pixels.

    Launches belong to the network, so both steps get the geometric mean of their overheads on an unprofiled GPU. If an
    instance is predicted faster at the larger size, both rows get one latency. It is the geometric mean weighted
    by inverse variance (a measured one alone counts), with an interval that covers their disagreement, and a note.
    Everything else stays unchanged, as does a single step.
    """
    if len(known) != 2:
        return tuple(known)
    first, second = known = _with_equal_launches(*known)
    smaller, larger = (second, first) if _is_within(second, first) and not _is_within(first, second) else known
    if not _is_within(smaller, larger):
        return first, second
    same = _is_within(larger, smaller)
    rows = {row.instance: row for row in larger.prediction.predictions}
    pooled: dict[str, tuple[InstancePrediction, InstancePrediction]] = {}
    for row in smaller.prediction.predictions:
        other = rows.get(row.instance)
        if other is None or row.latency_ms is None or other.latency_ms is None:
            continue
        if row.latency_ms > other.latency_ms or (same and row.latency_ms != other.latency_ms):
            pooled[row.instance] = _pooled(row, smaller, other, larger)
    if not pooled:
        return first, second
    changed = {
        id(step): _with_rows(step, {name: both[place] for name, both in pooled.items()})
        for place, step in enumerate((smaller, larger))
    }
    return changed[id(first)], changed[id(second)]


def _with_equal_launches(first: KnownStep, second: KnownStep) -> tuple[KnownStep, KnownStep]:
    """Both steps with the mean of their launch overheads on each unprofiled GPU."""
    others = {row.instance: row.reach for row in second.prediction.predictions}
    launch_ms = {
        row.instance: math.sqrt(row.reach.launch_ms * other.launch_ms)
        for row in first.prediction.predictions
        if row.reach and (other := others.get(row.instance)) and row.reach.launch_ms != other.launch_ms
    }

    def equal(step: KnownStep) -> KnownStep:
        rows = step.prediction.predictions
        return _with_rows(
            step, {row.instance: _launched(row, ms) for row in rows if (ms := launch_ms.get(row.instance))}
        )

    return equal(first), equal(second)


def _launched(row: InstancePrediction, launch_ms: float) -> InstancePrediction:
    """A row of an unprofiled GPU with another launch overhead."""
    assert row.reach is not None
    reach = replace(row.reach, launch_ms=launch_ms)
    factor = smooth_max(reach.free_ms, launch_ms) / smooth_max(reach.free_ms, row.reach.launch_ms)
    return replace(row, estimate=replace(row.estimate.scaled(factor), latency_ms=_ms(row) * factor, reach=reach))


def _is_within(one: KnownStep, other: KnownStep) -> bool:
    """Whether neither of its sizes is above the other's; unknown sizes count as equal."""
    pairs = ((one.batch_size, other.batch_size), (one.pixels, other.pixels))
    return all(ours is None or theirs is None or ours <= theirs for ours, theirs in pairs)


def _pooled(
    row: InstancePrediction, step: KnownStep, other: InstancePrediction, other_step: KnownStep
) -> tuple[InstancePrediction, InstancePrediction]:
    """Give both rows one latency; `step` is of the smaller size. If only one is measured, it stays unchanged."""
    log_sds = [_log_sd(one) for one in (row, other)]
    weights = _weights(log_sds)
    alone = next((one for one, weight in zip((row, other), weights, strict=True) if weight == 1), None)
    both = [replace(one.estimate, log_sd=log_sd or 0.0) for one, log_sd in zip((row, other), log_sds, strict=True)]
    mean = join(both, weights)
    latency_ms = float(mean.latency_ms) if alone is None or alone.latency_ms is None else alone.latency_ms
    apart = log_sd_of(abs(math.log(_ms(row) / _ms(other))) / 2)
    log_sd = combined_sd(float(mean.log_sd), apart)

    def joined(one: InstancePrediction, weight: float, away: KnownStep, wrongly: str) -> InstancePrediction:
        if weight == 1:
            return one
        noted = one.estimate.scaled(latency_ms / _ms(one)).noted(Note(Code.COMBINED, size=away.words, how=wrongly))
        return replace(one, estimate=noted).changed(
            latency_ms=latency_ms,
            log_sd=None if one.log_sd is None else log_sd,
            reach=one.reach and _reach_at(one.reach, latency_ms),
        )

    return joined(row, weights[0], other_step, "faster"), joined(other, weights[1], step, "slower")


def _ms(row: InstancePrediction) -> float:
    return math.nan if row.latency_ms is None else row.latency_ms


def _log_sd(row: InstancePrediction) -> float | None:
    """0 for a measurement, None if unknown."""
    return 0.0 if row.basis.is_exact else row.log_sd


def _weights(log_sds: Sequence[float | None]) -> tuple[float, ...]:
    """Inverse-variance weights with a sum of 1; equal if one is unknown or both are exact."""
    if None in log_sds or all(log_sd == 0 for log_sd in log_sds):
        return tuple(1 / len(log_sds) for _ in log_sds)
    if 0 in log_sds:
        return tuple(float(log_sd == 0) for log_sd in log_sds)
    inverse = [(log_sd or 1.0) ** -2 for log_sd in log_sds]
    return tuple(value / sum(inverse) for value in inverse)


def _with_rows(step: KnownStep, rows: dict[str, InstancePrediction]) -> KnownStep:
    prediction = step.prediction
    predictions = tuple(rows.get(row.instance, row) for row in prediction.predictions)
    anchor = rows.get(prediction.anchor)
    anchor_ms = prediction.anchor_latency_ms if anchor is None else anchor.latency_ms
    return replace(step, prediction=replace(prediction, predictions=predictions, anchor_latency_ms=anchor_ms))


def steps_at(
    models: Models, known: Sequence[KnownStep], *, batch_size: int, pixels: int | None = None
) -> TrainingSteps:
    """Step latencies at a batch and pixel size.

    At a known size these are that prediction's rows unchanged (after `joint_predictions`). Elsewhere each latency is
    scaled by the model fitted on the measured networks. Its interval widens with distance, less with two known steps.
    No latency decreases as batch or pixels grow, on any instance.

    Parameters
    ----------
    known : one or two steps of a network.
    pixels : None: those of the known step.

    Raises
    ------
    InputError : a size is out of range or unknown but needed, or there are not one or two steps.
    ArtifactError : the models have no scaling model.
    """
    found = _Family.of(models, known)
    check_batch(batch_size)
    wanted = found.pixels_of(pixels)
    profiled = found.step_at(batch_size, wanted)
    if profiled is not None and len(found.known) == 1:
        return TrainingSteps(batch_size, profiled.prediction.predictions, pixels=wanted)
    rows = found.rows([(batch_size, wanted)])
    return TrainingSteps(batch_size, tuple(each[0] for each in rows.values()), carried=profiled is None, pixels=wanted)


def curves_at(
    models: Models,
    known: Sequence[KnownStep],
    axis: str,
    sizes: Sequence[int],
    other_size: int | None = None,
    *,
    instances: Collection[str] | None = None,
) -> Mapping[str, tuple[StepTime, ...]]:
    """Instance -> its step at each of `sizes`, as `steps_at` gives it.

    Parameters
    ----------
    axis : "batch" or "pixels". other_size : size on the other axis; None: that of the known step.
    instances : instances to return; None: all that the steps are known on.

    Raises
    ------
    the same as `steps_at`.
    """
    axis_range(axis)
    found = _Family.of(models, known)
    if axis == "batch":
        pixels = found.pixels_of(other_size)
        wanted = [(check_batch(size), pixels) for size in sizes]
    else:
        batch_size = found.batch_of(other_size)
        wanted = [(batch_size, found.pixels_of(size)) for size in sizes]
    return {name: tuple(rows) for name, rows in found.rows(wanted, instances).items()}


@dataclass(frozen=True)
class _Family:
    """Known steps of one network, reconciled with each other."""

    growth: GrowthModel
    known: tuple[KnownStep, ...]

    @classmethod
    def of(cls, models: Models, known: Sequence[KnownStep]) -> _Family:
        if len(known) not in (1, 2):
            raise InputError(f"Scaling needs one or two profiles, not {len(known)}.")
        for step in known:
            step.check()
        if any(step.batch_size is None for step in known):
            raise InputError("Give the batch size the profile was recorded at.")
        if models.growth is None:
            raise ArtifactError("The models don't support other sizes: run `profet train --sizes`.")
        return cls(models.growth, joint_predictions(known))

    def pixels_of(self, wanted: int | None) -> int | None:
        """`wanted`, checked; the known steps' pixels if None."""
        recorded = {step.pixels for step in self.known}
        if wanted is None:
            if len(recorded - {None}) > 1:
                raise InputError("The profiles have different pixel sizes: choose one.")
            return next(iter(recorded - {None}), None)
        if None in recorded:
            raise InputError("Give the pixel size the profile was recorded at.")
        return check_pixels(wanted)

    def batch_of(self, wanted: int | None) -> int:
        """`wanted`, checked; the known steps' batch size if None."""
        if wanted is not None:
            return check_batch(wanted)
        first, *others = (step.batch_size for step in self.known)
        if first is None or any(size != first for size in others):
            raise InputError("The profiles have different batch sizes: choose one.")
        return first

    def step_at(self, batch_size: int, pixels: int | None) -> KnownStep | None:
        """The step that is known at exactly this size."""
        return next((step for step in self.known if step.is_at(batch_size, pixels)), None)

    def rows(
        self, wanted: Sequence[tuple[int, int | None]], only: Collection[str] | None = None
    ) -> dict[str, list[StepTime]]:
        """Instance -> a row for each requested size: the known step's own if it has one, else a scaled one."""
        sizes = Sizes(
            np.array([batch for batch, _ in wanted], float), np.array([_area(size) for _, size in wanted], float)
        )
        instances = list(dict.fromkeys(row.instance for step in self.known for row in step.prediction.predictions))
        carried = self._carried(instances, sizes)
        latencies_ms, log_sds = carried.latency_ms.tolist(), carried.log_sd.tolist()
        by_instance = [{row.instance: row for row in step.prediction.predictions} for step in self.known]
        found: dict[str, list[StepTime]] = {}
        alike: dict[tuple[object, ...], list[StepTime]] = {}
        for place, name in enumerate(instances):
            if only is not None and name not in only:
                continue
            own = [rows[name] for rows in by_instance if name in rows]
            # Offers of a transferred GPU differ only in name.
            key = tuple((id(row.estimate), row.notes) for row in own)
            if key in alike and all(row.reach for row in own):
                found[name] = [StepTime(name, row.estimate) for row in alike[key]]
            else:
                alike[key] = found[name] = _rows_of(name, own, self.known, latencies_ms[place], log_sds[place])
        for place, size in enumerate(wanted):
            profiled = self.step_at(*size)
            for row in () if profiled is None else profiled.prediction.predictions:
                if row.instance in found and (row.latency_ms is not None or len(self.known) == 1):
                    found[row.instance][place] = row
        return found

    def _carried(self, instances: Sequence[str], sizes: Sizes) -> Estimate:
        """Scaled latencies, (instances, sizes); NaN if unknown."""
        points = [_point(self.growth, step, instances) for step in self.known]
        alone = [carry_one(point, self.growth.error, sizes) for point in points]
        first, second = points[0], points[-1]
        if len(points) == 1 or first.at == second.at:
            best = alone[0]
        else:
            best = carry_two(first, second, self.growth.error, sizes)
        # An instance that only one of the steps is known on.
        for one in alone:
            missing = np.isnan(best.latency_ms)
            best = Estimate(
                latency_ms=np.where(missing, one.latency_ms, best.latency_ms),
                log_sd=np.where(missing, one.log_sd, best.log_sd),
            )
        return best


def _point(growth: GrowthModel, step: KnownStep, instances: Sequence[str]) -> KnownPoint:
    rows = {row.instance: row for row in step.prediction.predictions}
    found = [rows.get(name) for name in instances]
    missing = np.array([row is None or row.latency_ms is None for row in found])
    # If the latency is unknown, scaling is computed from a placeholder and then dropped.
    latency_ms = np.array([1.0 if row is None or row.latency_ms is None else row.latency_ms for row in found])
    log_sds = np.array([0.0 if row is None else row.log_sd or 0.0 for row in found])
    # An unprofiled anchor is represented by the instance that its profile was mapped to.
    anchor = step.prediction.read_by or step.prediction.anchor
    law = growth.laws.get(anchor)
    if law is None:
        raise ArtifactError(f"The models don't support other sizes for profiles of {anchor}: run `profet train`.")
    profile, _ = without_input_wait(step.profile, None)
    classes_ms = ProfileBatch([profile], anchor, None).inputs.classes_ms
    signs = step_signs(load_operation_classes(), np.repeat(classes_ms, len(instances), axis=0), latency_ms)
    at = SizePoint(float(step.batch_size or 1), _area(step.pixels))
    own = law.growth(instances, signs)
    grown = _reached(own, instances, [None if row is None else row.reach for row in found], latency_ms, missing)
    return KnownPoint(at, np.where(missing, np.nan, np.log(latency_ms)), log_sds, grown)


def _reached(
    own: Growth,
    instances: Sequence[str],
    reaches: Sequence[Reach | None],
    latency_ms: np.ndarray,
    missing: np.ndarray,
) -> ReachedGrowth:
    """Unprofiled GPUs scale like the instances they are transferred from, if these are known."""
    places = {name: place for place, name in enumerate(instances) if not missing[place]}
    powers = np.eye(len(instances))
    log_free, log_launch = np.zeros(len(instances)), np.full(len(instances), -np.inf)
    for place, reach in enumerate(reaches):
        known = {} if reach is None else {name: max(power, 0.0) for name, power in reach.weights.items()}
        found = {name: power for name, power in known.items() if name in places}
        if reach is None or missing[place]:
            continue
        if sum(found.values()) > 0:
            factor = sum(known.values()) / sum(found.values())
            powers[place] = 0.0
            for name, power in found.items():
                powers[place, places[name]] = power * factor
        log_free[place] = math.log(reach.free_ms / latency_ms[place])
        if reach.launch_ms > 0:
            log_launch[place] = math.log(reach.launch_ms / latency_ms[place])
    return ReachedGrowth(own, powers, log_free, log_launch)


def _area(pixels: int | None) -> float:
    return 1.0 if pixels is None else float(pixels) ** 2


def _rows_of(
    instance: str,
    rows: Sequence[StepTime],
    known: Sequence[KnownStep],
    latencies_ms: Sequence[float],
    log_sds: Sequence[float],
) -> list[StepTime]:
    """One instance's rows at many sizes, from its `rows` of the known steps."""
    source = next((row for row in rows if row.latency_ms is not None), rows[0])
    if source.latency_ms is None:
        unknown = Estimate(latency_ms=None, basis=source.basis, notes=source.notes)
        return [StepTime(instance, unknown)] * len(log_sds)
    notes = (Note(Code.SCALED_FROM, sizes=" and ".join(step.words for step in known)), *source.notes)
    basis = source.basis if source.basis.is_rough else Basis.CARRIED
    known_sd = source.log_sd or 0.0
    made = []
    for latency_ms, log_sd in zip(latencies_ms, log_sds, strict=True):
        relative = source.relative
        if relative is not None:
            carrying = math.sqrt(max(log_sd**2 - known_sd**2, 0.0))
            relative = Relative(relative.instance, combined_sd(relative.log_sd, carrying))
        scaled = Estimate(
            latency_ms=latency_ms,
            # A method without intervals has none at other sizes either; a given latency gets one.
            log_sd=None if source.log_sd is None else log_sd,
            basis=basis,
            notes=notes,
            relative=relative,
            reach=source.reach and _reach_at(source.reach, latency_ms),
        )
        made.append(StepTime(instance, scaled))
    return made


def _reach_at(reach: Reach, latency_ms: float) -> Reach:
    """Parts of a scaled latency: launches stay constant, the free part makes up the rest."""
    beyond = max(latency_ms**SMOOTH_MAX_POWER - reach.launch_ms**SMOOTH_MAX_POWER, 0.0)
    return Reach(reach.weights, beyond ** (1 / SMOOTH_MAX_POWER), reach.launch_ms)
