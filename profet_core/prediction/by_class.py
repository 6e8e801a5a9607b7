"""The default method: three members a pair on operation classes, a calibrated interval, and a likeness score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.artifacts.methods import Method
from profet_core.artifacts.models import Models
from profet_core.networks.intervals import IntervalScale, class_shares, nearest_distance, words_of
from profet_core.networks.members import size_inputs
from profet_core.networks.stacks import StepInputs, member_latency, step_inputs
from profet_core.operations.classes import IDLE_CLASS, ClassTimes, load_operation_classes
from profet_core.prediction.answers import Answers, Likeness, combine
from profet_core.prediction.refusals import unknown_log_width
from profet_core.profiles.record import Profile
from profet_core.scaling.axes import AXIS_RANGE

#: A repair of a few per cent changes the prediction less than its own error: not worth a warning.
WORTH_SAYING = 1.05


def answer(
    models: Models,
    method: Method,
    profiles: Sequence[Profile],
    anchor: str,
    targets: Sequence[str],
    latencies_ms: Sequence[float] | None,
) -> Answers:
    """Ask the members for all profiles; those that tell their batch and pixel size go to members that use them."""
    classes = load_operation_classes()
    times, unknown = classes.encode(profiles)
    device, idle = len(classes.device), classes.names.index(IDLE_CLASS)
    latency = None if latencies_ms is None else np.asarray(latencies_ms, float)
    sizes, told = _sizes(profiles)
    rule = method.rule(latency is not None)
    members = {name: np.empty((len(targets), len(profiles))) for name in rule.members}
    prepared = step_inputs(times, device, idle, latency, sizes)
    for with_sizes in (True, False):
        rows = np.flatnonzero(told == with_sizes)
        if len(rows):
            part = step_inputs(
                _rows(times, rows), device, idle, _at(latency, rows), sizes[rows] if with_sizes else None
            )
            for name in rule.members:
                members[name][:, rows] = _ask(models, anchor, targets, name, part, device, with_sizes)
    said = np.stack([members[name] for name in rule.members], axis=-1)
    joined = np.stack([combine(target, rule.combine, rule.weights) for target in said])
    distance = nearest_distance(class_shares(prepared.classes_ms, device), models.reference(anchor))
    scale = models.interval_scale(latency is not None)
    half = (
        np.stack(
            [
                scale.log_half_width(anchor, target, said[row], distance, prepared.doubt)
                for row, target in enumerate(targets)
            ]
        )
        if scale
        else None
    )
    if half is not None:
        half = half + np.array([unknown_log_width(profile) for profile in profiles])
    likeness = [_likeness(scale, value) if scale else None for value in distance]
    return Answers(
        members=members,
        latency_ms=joined,
        log_half_width=half,
        interval_level=scale.level if scale else None,
        unknown=unknown,
        likeness=likeness,
        warnings=[_warnings(prepared, row, likeness[row]) for row in range(len(profiles))],
    )


def _ask(
    models: Models, anchor: str, targets: Sequence[str], member: str, inputs: StepInputs, device: int, with_sizes: bool
) -> np.ndarray:
    """One member's latencies, milliseconds, (targets, profiles)."""
    stack = models.stack(anchor, member, latency_known=inputs.latency_ms is not None, sizes_known=with_sizes)
    said = member_latency(member, stack.run, inputs, device, stack.constants, stack.typical_log_ratio)
    return said[[stack.targets.index(target) for target in targets]]


def _sizes(profiles: Sequence[Profile]) -> tuple[np.ndarray, np.ndarray]:
    """Batch and pixel size as inputs, and whether each profile tells both, within the range of the training data."""
    values = np.array([(p.meta.batch_size or 0, p.meta.pixels or 0) for p in profiles], float)
    lowest, highest = np.array([AXIS_RANGE["batch"], AXIS_RANGE["pixels"]], float).T
    told = np.all((values >= lowest) & (values <= highest), axis=1)
    values = np.clip(values, lowest, highest)
    return size_inputs(np, values[:, :1], values[:, 1:]), told


def _rows(times: ClassTimes, rows: np.ndarray) -> ClassTimes:
    return ClassTimes(**{name: getattr(times, name)[rows] for name in ClassTimes.__dataclass_fields__})


def _at(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if values is None else values[rows]


def _likeness(scale: IntervalScale, distance: float) -> Likeness:
    words, error_percent = words_of(distance, scale.error_by_distance)
    return Likeness(float(distance), words, error_percent)


def _warnings(inputs: StepInputs, row: int, likeness: Likeness | None) -> tuple[str, ...]:
    found = []
    if inputs.repaired[row] > WORTH_SAYING:
        found.append(
            "Operations that every training step has are missing (TensorFlow keeps the 500 costliest). "
            f"The device time was scaled up by {inputs.repaired[row]:.2f} to make up for it, and the interval is wider."
        )
    if likeness and likeness.warned_of:
        found.append(
            f"This network is {likeness.words} those of the training data: left-out networks this far off were "
            f"predicted with a mean error of {likeness.error_words}."
        )
    return tuple(found)
