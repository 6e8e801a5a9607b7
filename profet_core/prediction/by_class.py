"""The default method: three members per pair on operation classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.methods import Method
from profet_core.artifacts.models import Models
from profet_core.networks.batch import ProfileBatch
from profet_core.networks.intervals import IntervalScale, class_shares, nearest_distance, words_of
from profet_core.networks.members import size_inputs
from profet_core.networks.stacks import StepInputs, member_latency
from profet_core.operations.classes import load_operation_classes
from profet_core.prediction.estimates import Estimates, Likeness, combine, floors_ms
from profet_core.prediction.refusals import unattributed_log_sd
from profet_core.profiles.record import Profile
from profet_core.scaling.axes import AXIS_RANGE

#: Imputing a few percent changes the prediction less than its own error, so there is no warning.
NOTABLE_REPAIR = 1.05


def class_estimates(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> Estimates:
    """Run the members on all profiles; profiles with known sizes use the members that take them."""
    rule = method.rule(batch.latency_known)
    member_ms = _members_ms(models, method, batch, targets)
    stacked = np.stack([member_ms[name] for name in rule.members], axis=-1)
    shares = class_shares(batch.inputs.classes_ms, len(load_operation_classes().device))
    distance = nearest_distance(shares, models.reference(batch.anchor))
    scale = models.interval_scale(batch.latency_known)
    likeness = [_likeness(scale, value) if scale else None for value in distance]
    return Estimates(
        targets=targets,
        member_ms=member_ms,
        joined_ms=combine(stacked, rule.combine, rule.weights),
        floor_ms=floors_ms(models, targets),
        log_sd=_log_sd(scale, batch, targets, stacked, distance) if scale else None,
        interval_level=scale.level if scale else None,
        unknown=batch.unknown,
        likeness=likeness,
        warnings=[_warnings(float(factor), row) for factor, row in zip(batch.inputs.repaired, likeness, strict=True)],
    )


def class_latencies_ms(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> FloatArray:
    """Latencies as `class_estimates` combines them, milliseconds, (targets, profiles)."""
    rule = method.rule(batch.latency_known)
    member_ms = _members_ms(models, method, batch, targets)
    return combine(np.stack([member_ms[name] for name in rule.members], axis=-1), rule.combine, rule.weights)


def _members_ms(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> dict[str, FloatArray]:
    groups = list(_by_sizes(batch))
    rule = method.rule(batch.latency_known)
    return {name: _member_ms(models, batch, targets, name, groups) for name in rule.members}


def _by_sizes(batch: ProfileBatch) -> Iterable[tuple[np.ndarray, StepInputs]]:
    """Indices and inputs of the profiles with known batch and pixel size, then of the others."""
    sizes, known = _sizes(batch.profiles)
    with_sizes, without = np.flatnonzero(known), np.flatnonzero(~known)
    if len(with_sizes):
        yield with_sizes, batch.inputs.of_rows(with_sizes, sizes[with_sizes])
    if len(without):
        yield without, batch.inputs.of_rows(without, None)


def _sizes(profiles: Sequence[Profile]) -> tuple[FloatArray, np.ndarray]:
    """Batch and pixel size as inputs, and whether both are known and within the training range."""
    values = np.array([(p.meta.batch_size or 0, p.meta.pixels or 0) for p in profiles], float)
    lowest, highest = np.array([AXIS_RANGE["batch"], AXIS_RANGE["pixels"]], float).T
    known = np.all((values >= lowest) & (values <= highest), axis=1)
    values = np.clip(values, lowest, highest)
    return size_inputs(np, values[:, :1], values[:, 1:]), known


def _member_ms(
    models: Models,
    batch: ProfileBatch,
    targets: Sequence[str],
    member: str,
    groups: Iterable[tuple[np.ndarray, StepInputs]],
) -> FloatArray:
    """One member's latencies, milliseconds, (targets, profiles)."""
    device = len(load_operation_classes().device)
    found = np.empty((len(targets), len(batch.profiles)))
    for rows, inputs in groups:
        stack = models.stack(
            batch.anchor, member, latency_known=batch.latency_known, sizes_known=inputs.sizes is not None
        )
        latency_ms = member_latency(member, stack.run, inputs, device, stack.constants, stack.typical_log_ratio)
        found[:, rows] = latency_ms[[stack.targets.index(target) for target in targets]]
    return found


def _log_sd(
    scale: IntervalScale, batch: ProfileBatch, targets: Sequence[str], member_ms: FloatArray, distance: FloatArray
) -> FloatArray:
    """Standard deviation in the logarithm, (targets, profiles); `member_ms` : (targets, profiles, members)."""
    log_sd = scale.log_sd(batch.anchor, targets, member_ms, distance, batch.inputs.doubt)
    found: FloatArray = log_sd + unattributed_log_sd(batch.profiles)
    return found


def _likeness(scale: IntervalScale, distance: float) -> Likeness:
    words, error_percent = words_of(distance, scale.error_by_distance)
    return Likeness(float(distance), words, error_percent)


def _warnings(repair_factor: float, likeness: Likeness | None) -> tuple[str, ...]:
    found = []
    if repair_factor > NOTABLE_REPAIR:
        found.append(
            "The profile is truncated: operations that every training step has are missing (TensorFlow keeps the "
            f"500 costliest). The device time was scaled up by {repair_factor:.2f} to compensate, and the interval "
            "is wider."
        )
    if likeness and likeness.warned_of:
        found.append(
            f"This network is {likeness.phrase} the training data: held-out networks this different had a mean "
            f"error of {likeness.error_words}."
        )
    return tuple(found)
