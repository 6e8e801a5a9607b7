"""Step latencies of a training at its size, as profiled or scaled."""

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
