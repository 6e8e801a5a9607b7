"""Which step latencies the costs are computed from: Predict's at the profiled batch size, or Scale's at another."""

from __future__ import annotations

import streamlit as st

from profet_core import NoPredictionError
from profet_core.scaling.axes import axis_range
from profet_core.training.steps import CarryObstacle, TrainingSteps, carry_obstacle, steps_as_profiled, steps_carried
from ui.predicted.outcome import Outcome
from ui.predicted.scale_ends import current_ends
from ui.state.resources import Resources


def latencies_for_cost(resources: Resources, outcome: Outcome, profiled_batch: int | None) -> TrainingSteps:
    """Predict's latencies if they belong to a profiled batch size, else Scale's at the slider's."""
    prediction = outcome.prediction
    if profiled_batch is not None:
        return steps_as_profiled(prediction, profiled_batch)
    ends = current_ends(resources, "batch")
    return steps_carried(resources.models, ends, st.session_state["batch"], prediction.predictions)


def source_words(steps: TrainingSteps) -> str:
    """Where the latencies are from."""
    if not steps.carried:
        return "as the profile was recorded"
    smallest, largest = axis_range("batch")
    return f"carried there from batch {smallest} and {largest} on Scale"


def why_not_scaled(resources: Resources, outcome: Outcome) -> str | None:
    """Why the costs can't be had at another batch size; None if they can."""
    try:
        ends = current_ends(resources, "batch")
    except NoPredictionError:
        return "nothing can be predicted from one of the profiles on Scale: see the line there."
    obstacle = carry_obstacle(outcome.held.profile, outcome.prediction.anchor, ends)
    in_doubt = any(end.doubt or end.invalid for end in ends.outcomes)
    if in_doubt and obstacle is not CarryObstacle.END_MISSING:
        return "Scale has a question about a latency of its profiles: answer it there."
    if obstacle is None:
        return None
    smallest, largest = axis_range("batch")
    recorded_on = ends.profiles.anchor if ends.profiles else ""
    return {
        CarryObstacle.END_MISSING: (
            f"another batch size needs the latencies at batch {smallest} and at batch {largest}."
        ),
        CarryObstacle.ENDS_DIFFER: "the two profiles on Scale don't fit together: see the warning there.",
        CarryObstacle.OTHER_ANCHOR: (
            f"the profiles on Scale were recorded on {recorded_on}, this one on {outcome.prediction.anchor}."
        ),
        CarryObstacle.OTHER_NETWORK: (
            f"the profiles at batch {smallest} and {largest} on Scale are of another network than this one."
        ),
    }[obstacle]
