"""Range of an instance's training profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrainingRange:
    """Range of one instance's training profiles; predictions outside it are extrapolations.

    Attributes
    ----------
    latency_ms, device_total_us : minimum and maximum in the training data.
    latency_per_device_total : minimum and maximum ratio of step latency to the sum of all device rows.
    """

    latency_ms: tuple[float, float]
    device_total_us: tuple[float, float]
    latency_per_device_total: tuple[float, float]
    median_latency_per_device_total: float


def training_range(values: Mapping[str, Any]) -> TrainingRange:
    """Parse the range from its manifest entry."""
    return TrainingRange(
        latency_ms=tuple(values["latency_ms"]),
        device_total_us=tuple(values["device_total_us"]),
        latency_per_device_total=tuple(values["latency_per_device_total"]),
        median_latency_per_device_total=values["median_latency_per_device_total"],
    )
