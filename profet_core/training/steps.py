"""Which step latencies a training has at its batch size: as profiled, or carried there; and what keeps from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from profet_core.artifacts.models import Models
from profet_core.latency import Interval, StepTime, carried_steps
from profet_core.prediction.records import Prediction
from profet_core.profiles.record import Profile
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import AxisEnds, contradictions, different_networks


@dataclass(frozen=True, slots=True)
class TrainingSteps:
    """Step latencies at one batch size.

    Attributes
    ----------
    step_times : one an instance, each with what stands behind it.
    carried : to another size than a profile's.
    problems : instance -> why it has none, one line.
    pixels : of an image; None: not known.
    """

    batch_size: int
    step_times: tuple[StepTime, ...]
    carried: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)
    pixels: int | None = None

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> milliseconds a step, for every instance that has one."""
        return {row.instance: row.latency_ms for row in self.step_times if row.latency_ms is not None}

    @property
    def intervals(self) -> dict[str, Interval]:
        """Instance -> its interval, for every instance that has one."""
        return {row.instance: row.interval for row in self.step_times if row.interval is not None}


class CarryObstacle(Enum):
    """Why a profile's latencies can't be carried to another batch size."""

    END_MISSING = auto()
    ENDS_DIFFER = auto()
    OTHER_ANCHOR = auto()
    OTHER_NETWORK = auto()


def steps_as_profiled(prediction: Prediction, batch_size: int) -> TrainingSteps:
    """The prediction's own latencies, for a training at the batch size that was profiled."""
    return TrainingSteps(batch_size, prediction.predictions)


def steps_carried(models: Models, ends: AxisEnds, batch_size: int, predicted: Iterable[StepTime]) -> TrainingSteps:
    """The latencies at `batch_size`, carried there from both ends of the batch axis.

    Parameters
    ----------
    predicted : rows of the network's prediction: what was no measurement of its GPU there is none here.
    """
    found = carried_latencies(models, ends, [batch_size])
    latencies_ms = {name: values[0] for name, values in found.latencies_ms.items()}
    return TrainingSteps(batch_size, tuple(carried_steps(latencies_ms, predicted)), True, found.problems)


def carry_obstacle(profile: Profile, anchor: str, ends: AxisEnds) -> CarryObstacle | None:
    """Why the latencies of `profile`, recorded on `anchor`, can't be carried along the ends; None if they can.

    Latencies without profiles are taken as their user's word.
    """
    if not ends.both:
        return CarryObstacle.END_MISSING
    if ends.profiles is None:
        return None
    if contradictions(ends):
        return CarryObstacle.ENDS_DIFFER
    if ends.profiles.anchor != anchor:
        return CarryObstacle.OTHER_ANCHOR
    both = (ends.profiles.smallest, ends.profiles.largest)
    if any(different_networks(end, profile, apart_from="batch_size") for end in both):
        return CarryObstacle.OTHER_NETWORK
    return None
