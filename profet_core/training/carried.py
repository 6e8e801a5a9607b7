"""Carries the latencies of every instance from both ends of an axis to the sizes between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core.artifacts.models import Models
from profet_core.errors import InputError
from profet_core.scaling.scale import scale_curve
from profet_core.training.ends import AxisEnds


@dataclass(frozen=True, slots=True)
class CarriedLatencies:
    """Latencies at sizes between the ends.

    Attributes
    ----------
    latencies_ms : instance -> milliseconds a step at each size.
    problems : instance -> why it has none, one line.
    """

    latencies_ms: Mapping[str, list[float]]
    problems: Mapping[str, str]


def carried_latencies(models: Models, ends: AxisEnds, sizes: Sequence[int] | None = None) -> CarriedLatencies:
    """Every instance with both ends at `sizes`, or at every whole size of the axis."""
    latencies_ms, problems = {}, {}
    for name in ends.both:
        low_ms, high_ms = ends.min_ms[name], ends.max_ms[name]
        try:
            # An instance that nobody profiled follows the curve that the measured ones share.
            curve_of = models.profiled(name)
            curve = scale_curve(models, curve_of, ends.axis, low_ms, high_ms, sizes)
            latencies_ms[name] = curve.tolist()
        except InputError as error:
            problems[name] = str(error)
    return CarriedLatencies(latencies_ms, problems)
