"""What to keep in mind about the numbers: in one box, gravest first."""

from __future__ import annotations

import streamlit as st

from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from profet_core.prediction.input_wait import input_wait_warning
from ui.errors import show_error
from ui.inputs.steps import besides_steps
from ui.predicted.network import Network
from ui.predicted.outcome import Outcome
from ui.texts import plain


def show_notices(network: Network) -> None:
    """What could not be used, what the profile warns of, and what another GPU doesn't change."""
    outcome = network.outcome
    for problem in (outcome.unused_measurement, network.problem):
        if problem:
            show_error(problem)
    lines = [*besides_steps(outcome.prediction.warnings, outcome.held.profile, outcome.held.own)]
    if network.second is not None:
        lines += [f"Second profile: {line}" for line in network.second.prediction.warnings if line not in lines]
    lines += _what_waits(outcome)
    if len(lines) == 1:
        st.warning(plain(lines[0]), icon=":material/warning:")
    elif lines:
        st.warning("\n".join(f"- {plain(line)}" for line in lines), icon=":material/warning:")
    # Nothing is wrong with the numbers for these.
    for note in outcome.held.profile.ignored:
        st.caption(f"Left out of the file: {plain(note)}.")


def _what_waits(outcome: Outcome) -> list[str]:
    """What of the step another GPU doesn't change."""
    profile = outcome.held.profile
    found = diagnose(profile, outcome.prediction.anchor_latency_ms)
    if found.kind == "input" and input_wait_warning(profile):
        # Said among the warnings, with what the numbers leave out.
        return []
    partly = found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY
    return [found.sentence] if partly or not found.another_gpu_helps else []
