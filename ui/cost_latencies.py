"""Which step latencies the costs are computed from: Predict's at the profiled batch size, or Scale's at another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from profet_core import NoPredictionError
from profet_core.latency import Interval, StepTime, carried_steps
from profet_core.scaling.scale import axis_range
from ui.inputs.scale_ends import contradictions, current_ends, different_networks, latencies_at
from ui.state.resources import Resources
from ui.state.session import Outcome


@dataclass(frozen=True)
class StepLatencies:
    """Latencies at one batch size.

    Attributes
    ----------
    source : where they are from, in words.
    intervals : instance -> its interval, for those that have one; carried latencies have none.
    problems : instance -> one line on why it has none.
    carried : to another batch size than the profile's.
    """

    latencies_ms: Mapping[str, float]
    batch_size: int
    source: str
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    carried: bool = False


def latencies_for_cost(resources: Resources, outcome: Outcome, profiled_batch: int | None) -> StepLatencies:
    """Predict's latencies if they belong to a profiled batch size, else Scale's at the slider's."""
    if profiled_batch is not None:
        prediction = outcome.prediction
        intervals = {row.instance: row.interval for row in prediction.predictions if row.interval}
        return StepLatencies(prediction.latencies_ms, profiled_batch, "as the profile was recorded", intervals)
    at = st.session_state["batch"]
    read_off = latencies_at(resources, current_ends(resources, "batch"), at)
    smallest, largest = axis_range("batch")
    found = {name: values[0] for name, values in read_off.latencies_ms.items()}
    return StepLatencies(
        found,
        at,
        f"carried there from batch {smallest} and {largest} on Scale",
        problems=read_off.problems,
        carried=True,
    )


def step_times(outcome: Outcome, latencies: StepLatencies) -> Sequence[StepTime]:
    """The latencies with what each rests on."""
    if latencies.carried:
        return carried_steps(latencies.latencies_ms, outcome.prediction.predictions)
    return outcome.prediction.predictions


def why_not_scaled(resources: Resources, outcome: Outcome) -> str | None:
    """Why the costs can't be had at another batch size; None if they can."""
    try:
        ends = current_ends(resources, "batch")
    except NoPredictionError:
        return "nothing can be predicted from one of the profiles on Scale: see the line there."
    smallest, largest = axis_range("batch")
    if not ends.both:
        return f"another batch size needs the latencies at batch {smallest} and at batch {largest}."
    if not ends.outcomes:
        return None
    if any(end.doubt or end.invalid for end in ends.outcomes):
        return "Scale has a question about a latency of its profiles: answer it there."
    if contradictions(ends):
        return "the two profiles on Scale don't fit together: see the warning there."
    anchor = ends.outcomes[0].prediction.anchor
    if anchor != outcome.prediction.anchor:
        return f"the profiles on Scale were recorded on {anchor}, this one on {outcome.prediction.anchor}."
    if any(different_networks(end.held, outcome.held, apart_from="batch_size") for end in ends.outcomes):
        return f"the profiles at batch {smallest} and {largest} on Scale are of another network than this one."
    return None
