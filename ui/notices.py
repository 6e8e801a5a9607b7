"""Warnings about the numbers, in one box, and the date of the prices."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from profet_core.catalog import Instance
from profet_core.catalog.naming import price_age_years
from profet_core.prediction.checks import input_wait_warning
from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from ui.errors import show_error
from ui.inputs.steps import besides_steps
from ui.predicted.network import Network
from ui.predicted.outcome import Outcome
from ui.texts import plain


def show_notices(network: Network) -> None:
    """What could not be used, what the profile warns of, and what another GPU doesn't change."""
    outcome = network.outcome
    for problem in network.problems:
        show_error(problem)
    lines = [*besides_steps(network.training.warnings, outcome.held.profile, outcome.held.own)]
    lines += _what_waits(outcome)
    if len(lines) == 1:
        st.warning(plain(lines[0]), icon=":material/warning:")
    elif lines:
        st.warning("\n".join(f"- {plain(line)}" for line in lines), icon=":material/warning:")
    # Nothing is wrong with the numbers for these.
    for note in outcome.held.profile.ignored:
        st.caption(f"Left out of the file: {plain(note)}.")


def price_line(offers: Iterable[Instance]) -> str:
    """When the prices are from, and how to refresh those that are stale."""
    dated = [offer for offer in offers if offer.as_of]
    if not dated:
        return ""
    dates = sorted({offer.as_of for offer in dated})
    span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    stale = any(price_age_years(date) for date in dates)
    return f"Prices of {span}{'; refresh them with `profet instances refresh`' if stale else ''}."


def _what_waits(outcome: Outcome) -> list[str]:
    """What of the step another GPU doesn't change."""
    profile = outcome.held.profile
    found = diagnose(profile, outcome.prediction.anchor_latency_ms)
    if found.kind == "input" and input_wait_warning(profile):
        # Said among the warnings, with what the numbers leave out.
        return []
    partly = found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY
    return [found.sentence] if partly or not found.another_gpu_helps else []
