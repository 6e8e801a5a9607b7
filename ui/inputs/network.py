"""Ask for the network's profile, its anchor and latency, and say what to keep in mind about the answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import streamlit as st

from profet_core.catalog import Instance
from profet_core.catalog.naming import price_age_years
from profet_core.prediction.checks import input_wait_note
from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from profet_core.units import format_ms
from ui.inputs.fields import number_field, select, toggle
from ui.inputs.profile import besides_steps, profile_input
from ui.notices import show_error
from ui.predicted import ANCHOR_LABEL, Predicted
from ui.state.profiles import change_own
from ui.state.records import Held
from ui.state.resources import Resources
from ui.state.session import Field, Network, Slot, session
from ui.words import plain

_UNIT_LABELS = {"ms": "ms", "us": "µs", "s": "s"}


def anchor_input(resources: Resources) -> None:
    """The instance or GPU that the profile was recorded on; nothing is assumed."""
    select(
        ANCHOR_LABEL,
        Network.anchor,
        resources.anchor_labels(),
        index=None,
        placeholder="GPU you profiled on",
        help="The instance or GPU that the profile was recorded on. Type part of its name to find it. Not listed? Add "
        "it under *Prices*, or measure it: see *Custom GPU* on About.",
    )


def latency_input(slot: Slot, label: str = "3 · Anchor latency (optional)") -> None:
    """One training step's time on the anchor, with its unit."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    # Narrow enough that Streamlit leaves out the buttons beside the number.
    number_field(label, slot.key("latency"), empty="not known", at=row.container(width=119))
    tip = "Of one training step on the anchor, without the profiler running. Empty: predicted without it."
    with row:
        select("Unit", slot.key("unit"), _UNIT_LABELS, width=90, help=tip)


def latency_question(network: Predicted) -> None:
    """Ask about a latency that makes no sense; until the answer it is not used."""
    doubt, slot = network.doubt, session.profile
    if doubt is None:
        return
    st.warning(
        f"{plain(doubt.args[0])} Until you answer, the numbers below are predicted **without** a latency.",
        icon=":material/help:",
    )
    with st.container(horizontal=True):
        if (steps := doubt.suggested_steps) is not None and network.held.is_own:
            change = partial(change_own, network.held.key, steps=steps)
            st.button(f"Read it as {steps} step{'s' if steps > 1 else ''}", key=":use-steps", on_click=change)
        if (meant_ms := doubt.suggested_ms) is not None:
            use = partial(slot.use_ms, meant_ms)
            st.button(f"Use {format_ms(meant_ms)}", key=":use-suggested", on_click=use)
        st.button("Use it as typed", key=":use-typed", on_click=network.trust_latency)


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    anchor_input(resources)
    held = profile_input(resources, session.profile, "2 · Profile")
    _size_input(held, "batch_size", Network.profiled_batch, "Batch size of the profile")
    _size_input(held, "pixels", Network.profiled_pixels, "Image size of the profile")
    latency_input(session.profile)


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: sizes between are more accurate with it."""
    tip = "Of the same network on the same GPU at another batch or image size: sizes between are more accurate."
    toggle("Second profile", Network.second, tip)
    if session.network.second:
        with st.container(border=True):
            held = profile_input(resources, session.second, "Second profile")
            latency_input(session.second, "Its anchor latency (optional)")
            _size_input(held, "batch_size", Network.second_batch, "Its batch size")
            _size_input(held, "pixels", Network.second_pixels, "Its image size")


def _size_input(held: Held, axis: str, field: Field[int | None], label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        number_field(label, field, empty="images per step" if axis == "batch_size" else "pixels")


def show_notices(network: Predicted) -> None:
    """What could not be used, what the profile warns of, and what another GPU doesn't change."""
    profile = network.training.profile
    for problem in network.problems:
        show_error(problem)
    lines = [*besides_steps(network.training.warnings, network.held), *_what_waits(network)]
    if lines:
        mark = "- " if len(lines) > 1 else ""
        st.warning("\n".join(f"{mark}{plain(line)}" for line in lines), icon=":material/warning:")
    # Nothing is wrong with the numbers for these.
    for note in profile.ignored:
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


def _what_waits(network: Predicted) -> list[str]:
    """What of the step another GPU doesn't change."""
    profile = network.training.profile
    found = diagnose(profile, network.training.prediction.anchor_latency_ms)
    if found.kind == "input" and input_wait_note(profile):
        # Said among the warnings, with what the numbers leave out.
        return []
    partly = found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY
    return [found.sentence] if partly or not found.another_gpu_helps else []
