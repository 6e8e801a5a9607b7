"""What the training profiles of an instance span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrainingRange:
    """What one instance's training profiles span: predictions outside are extrapolations.

    Attributes
    ----------
    latency_ms, device_total_us : smallest and largest of the training data.
    latency_per_device_total : smallest and largest ratio of step latency to the sum of all device rows.
    """

    latency_ms: tuple[float, float]
    device_total_us: tuple[float, float]
    latency_per_device_total: tuple[float, float]
    median_latency_per_device_total: float


def training_range(values: Mapping[str, Any]) -> TrainingRange:
    """The range that an entry of the manifest holds."""
    return TrainingRange(
        latency_ms=tuple(values["latency_ms"]),
        device_total_us=tuple(values["device_total_us"]),
        latency_per_device_total=tuple(values["latency_per_device_total"]),
        median_latency_per_device_total=values["median_latency_per_device_total"],
    )
