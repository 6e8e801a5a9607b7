"""The two ends of a size axis: what is known at the smallest and at the largest size, and the latencies between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from profet_core import InputError, InstancePrediction, NoPredictionError, scale, scale_curve
from profet_core.scaling.context import ScaleContext, scale_context
from profet_core.scaling.scale import axis_range
from ui.predicted.outcome import Outcome, predict_slot
from ui.state.held import Held
from ui.state.resources import Resources
from ui.state.settings import typed_end_key
from ui.state.slots import END_SLOTS, Slot

#: The meta field that says where on an axis a profile was recorded.
_META_FIELD = {"batch": "batch_size", "pixels": "pixels"}
SIZE_WORDS = {"batch": "batch {}", "pixels": "{} pixels"}
_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


@dataclass(frozen=True)
class Ends:
    """Latencies at both ends of an axis.

    Attributes
    ----------
    min_ms, max_ms : instance -> milliseconds at the smallest and at the largest size.
    outcomes : the two predictions they come from; empty if they were typed.
    """

    axis: str
    min_ms: Mapping[str, float]
    max_ms: Mapping[str, float]
    outcomes: tuple[Outcome, ...] = ()

    @property
    def context(self) -> ScaleContext | None:
        """What the profile at the largest size tells about the curve; None where latencies were typed."""
        return scale_context(self.axis, self.outcomes[1].held.profile) if self.outcomes else None

    @property
    def rests(self) -> dict[str, InstancePrediction]:
        """What each instance's ends rest on; empty where latencies were typed."""
        return {row.instance: row for row in self.outcomes[0].prediction.predictions} if self.outcomes else {}

    @property
    def both(self) -> tuple[str, ...]:
        """Instances whose latency is known at both ends."""
        return tuple(name for name in self.min_ms if name in self.max_ms)


@dataclass(frozen=True)
class Scaled:
    """Latencies carried to sizes between the ends, and one line for each instance that has none."""

    latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def current_ends(resources: Resources, axis: str) -> Ends:
    """The ends as the settings have them: predicted from two profiles, or typed.

    Raises
    ------
    NoPredictionError : nothing can be predicted from one of the profiles; it says which.
    """
    if st.session_state["ends"] == "typed":
        return Ends(axis, _typed(resources, axis, "min"), _typed(resources, axis, "max"))
    low, high = (
        _predicted_end(resources, axis, slot, size)
        for slot, size in zip(END_SLOTS[axis], axis_range(axis), strict=True)
    )
    return Ends(axis, low.prediction.latencies_ms, high.prediction.latencies_ms, (low, high))


def scale_ends(resources: Resources, ends: Ends, sizes: list[int] | None = None) -> Scaled:
    """Carry every instance's ends to `sizes`, or to every size of the axis."""
    scaled = Scaled()
    for name in ends.both:
        try:
            low_ms, high_ms = ends.min_ms[name], ends.max_ms[name]
            curve = scale_curve(
                resources.models,
                resources.models.profiled(name),
                ends.axis,
                low_ms,
                high_ms,
                sizes,
                context=ends.context,
            )
            scaled.latencies_ms[name] = curve.tolist()
        except InputError as error:
            scaled.problems[name] = str(error)
    return scaled


def latencies_at(resources: Resources, ends: Ends, at: int) -> Scaled:
    """The read-off: latency of every instance at one size, a list of one each."""
    scaled = Scaled()
    for name in ends.both:
        try:
            low_ms, high_ms = ends.min_ms[name], ends.max_ms[name]
            found = scale(
                resources.models, resources.models.profiled(name), ends.axis, low_ms, high_ms, at, context=ends.context
            )
            scaled.latencies_ms[name] = [found.latency_ms]
        except InputError as error:
            scaled.problems[name] = str(error)
    return scaled


def contradictions(ends: Ends) -> list[str]:
    """What the profiles' own meta says against being the two ends of one network's axis."""
    if not ends.outcomes:
        return []
    field_name = _META_FIELD[ends.axis]
    lines = []
    for outcome, size in zip(ends.outcomes, axis_range(ends.axis), strict=True):
        recorded = getattr(outcome.held.profile.meta, field_name)
        if recorded is not None and recorded != size:
            lines.append(
                f"This end needs a profile at {_WORDS[field_name]} {size}, but the one given says {recorded}: "
                "the curve would be wrong."
            )
    return lines + different_networks(*(outcome.held for outcome in ends.outcomes), apart_from=field_name)


def different_networks(first: Held, second: Held, apart_from: str = "") -> list[str]:
    """What tells two profiles' networks or set-ups apart, as far as their meta says."""
    lines = []
    for name in ("batch_size", "pixels", "parameters", "gpu"):
        ours, theirs = getattr(first.profile.meta, name), getattr(second.profile.meta, name)
        # The head grows with the number of classes, which goes with the pixel size: parameters differ there.
        allowed = name == apart_from or (name == "parameters" and apart_from == "pixels")
        if not allowed and None not in (ours, theirs) and ours != theirs:
            lines.append(f"The two profiles differ in {_WORDS[name]} ({ours} and {theirs}): are they the same network?")
    return lines


def _predicted_end(resources: Resources, axis: str, slot: Slot, size: int) -> Outcome:
    try:
        return predict_slot(resources, slot)
    except NoPredictionError as error:
        raise NoPredictionError(f"At {SIZE_WORDS[axis].format(size)}: {error}") from None


def _typed(resources: Resources, axis: str, end: str) -> dict[str, float]:
    values = {name: st.session_state.get(typed_end_key(axis, end, name)) for name in resources.models.instances}
    return {name: value for name, value in values.items() if value is not None}
