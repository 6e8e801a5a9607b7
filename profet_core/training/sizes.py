"""Scale one network's steps to any batch and pixel size."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError, InputError
from profet_core.latency import SMOOTH_MAX_POWER, Basis, Estimate, Reach, Relative, StepTime, combined_sd
from profet_core.messages import Code, Note
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.prediction.input_wait import without_input_wait
from profet_core.scaling.axes import axis_range
from profet_core.scaling.carry import KnownPoint, SizePoint, Sizes, carry_one, carry_two
from profet_core.scaling.growth import Growth, ReachedGrowth, step_signs
from profet_core.scaling.growth_file import GrowthModel
from profet_core.training.joint import joint_predictions
from profet_core.training.known import KnownStep, check_batch, check_pixels
from profet_core.training.steps import TrainingSteps

__all__ = ["KnownStep", "curves_at", "joint_predictions", "steps_at"]


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
            key = tuple((row.latency_ms, row.log_sd, row.basis, row.notes, id(row.reach)) for row in own)
            if key in alike and all(row.reach for row in own):
                found[name] = [StepTime.of(name, row) for row in alike[key]]
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
        return [StepTime(instance=instance, latency_ms=None, basis=source.basis, notes=source.notes)] * len(log_sds)
    notes = (Note.of(Code.SCALED_FROM, sizes=" and ".join(step.words for step in known)), *source.notes)
    basis = source.basis if source.basis.is_rough else Basis.CARRIED
    known_sd = source.log_sd or 0.0
    made = []
    for latency_ms, log_sd in zip(latencies_ms, log_sds, strict=True):
        relative = source.relative
        if relative is not None:
            carrying = math.sqrt(max(log_sd**2 - known_sd**2, 0.0))
            relative = Relative(relative.instance, combined_sd(relative.log_sd, carrying))
        made.append(
            StepTime(
                instance=instance,
                latency_ms=latency_ms,
                # A method without intervals has none at other sizes either; a given latency gets one.
                log_sd=None if source.log_sd is None else log_sd,
                basis=basis,
                notes=notes,
                relative=relative,
                reach=source.reach and _reach_at(source.reach, latency_ms),
            )
        )
    return made


def _reach_at(reach: Reach, latency_ms: float) -> Reach:
    """Parts of a scaled latency: launches stay constant, the free part makes up the rest."""
    beyond = max(latency_ms**SMOOTH_MAX_POWER - reach.launch_ms**SMOOTH_MAX_POWER, 0.0)
    return Reach(reach.weights, beyond ** (1 / SMOOTH_MAX_POWER), reach.launch_ms)
