"""Which step latencies a training has at its size: as profiled, or carried there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profet_core.latency import Interval, StepTime
from profet_core.prediction.records import Prediction


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


def steps_as_profiled(prediction: Prediction, batch_size: int) -> TrainingSteps:
    """The prediction's own latencies, for a training at the batch size that was profiled."""
    return TrainingSteps(batch_size, prediction.predictions)
