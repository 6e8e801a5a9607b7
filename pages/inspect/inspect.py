"""Inspect: what is in a profile, what holds its step up, and how the models see each operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from pages.inspect.figures import busy_and_idle, time_bars
from pages.inspect.view import busy_and_idle_words, data_row, fact_rows, table_row
from profet_core import Models
from profet_core.operations.classes import NOTABLE_SHARE
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, diagnose
from profet_core.prediction.placement import Placement, placements
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted
from ui.charts.style import show_chart
from ui.errors import show_warning
from ui.frame import run_page
from ui.inputs.own_list import manage_own
from ui.inputs.questions import step_questions
from ui.inputs.steps import steps_input
from ui.inputs.uploads import upload_input
from ui.state.held import Held, held_in, held_own, held_sample
from ui.state.own_profiles import own_profiles
from ui.state.page_keys import inspect_keys
from ui.state.resources import Resources
from ui.state.slots import PROFILE_SLOT
from ui.tables import download_buttons, show_table
from ui.texts import plain

_OWN = "own "
_LIST_LENGTH = 8


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("What is in my profile?")
    held = _choice(resources)
    profile = counted(held.profile, held.latency_ms)
    found = diagnose(profile, held.latency_ms)
    for line in dict.fromkeys((refusal(profile), *profile.warnings)):
        if line:
            show_warning(line)
    _diagnosis(found)
    rows = placements(resources.models, profile)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.subheader("Operations by time", anchor="operations")
        show_chart(time_bars(rows), "operation-bars")
    with right:
        st.subheader("Busy and idle", anchor="idle")
        show_chart(busy_and_idle(profile), "idle-bars")
        st.caption(busy_and_idle_words(profile))
        st.subheader("The file", anchor="file")
        show_table(
            [{name: plain(cell) for name, cell in row.items()} for row in fact_rows(profile)], "What the profile says"
        )
        for note in profile.ignored:
            st.caption(f"Left out: {plain(note)}.")
    _unknown(resources.models, rows)
    _all_rows(rows)


def _choice(resources: Resources) -> Held:
    """The profile to look into: as on Predict until another one is chosen or given."""
    own = own_profiles()
    options = {_OWN + key: held.name for key, held in own.items()}
    options |= {name: f"Sample: {sample.title}" for name, sample in resources.samples.items()}
    wanted = st.session_state["inspect"] or st.session_state.get("inspect_own")
    chosen = wanted if wanted in options else _on_predict(resources)
    st.session_state["inspected"] = chosen
    mine = own.get(chosen.removeprefix(_OWN)) if chosen.startswith(_OWN) else None
    with st.container(border=True):
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        row.selectbox(
            "Profile",
            tuple(options),
            format_func=options.__getitem__,
            key="inspected",
            width="stretch",
            on_change=_choose_widget,
        )
        if mine:
            manage_own(mine, "inspect", row)
            steps_input(mine, "inspect", mine.latency_ms)
            step_questions(mine, "inspect")
        with st.expander("Upload another one", icon=":material/upload:"):
            upload_input(resources, "inspect", lambda added: _choose(_OWN + added.key))
    return held_own(mine) if mine else held_sample(resources, chosen)


def _choose_widget() -> None:
    _choose(st.session_state["inspected"])


def _choose(chosen: str) -> None:
    own = chosen.startswith(_OWN)
    st.session_state["inspect"], st.session_state["inspect_own"] = (None, chosen) if own else (chosen, None)


def _on_predict(resources: Resources) -> str:
    held = held_in(resources, PROFILE_SLOT)
    return held.sample.name if held.sample else _OWN + held.identity


def _diagnosis(found: Diagnosis) -> None:
    if found.kind == "no GPU":
        return
    if not found.another_gpu_helps:
        st.warning(plain(found.sentence), icon=":material/hourglass_empty:")
    elif found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY:
        st.info(plain(found.sentence), icon=":material/hourglass_bottom:")
    else:
        st.success(plain(found.sentence), icon=":material/check_circle:")
    if not found.latency_known:
        st.caption(
            "Judged by the profile alone; with the step latency (on Predict or Compare) the judgement is surer, as the "
            "profiler slows short steps."
        )


def _unknown(models: Models, rows: Iterable[Placement]) -> None:
    """Operations outside the models' tables, and where they went."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    st.subheader("Unknown operations", anchor="unknown")
    by_method: Mapping[str, list[Placement]] = {
        "default method": [row for row in busy if row.on_device and row.stands_in and _worth_telling(row)],
        "documented method": [row for row in busy if not row.cluster_known],
    }
    if not any(by_method.values()):
        st.markdown("None: the models know every operation of this profile.")
        return
    for method, unknown in by_method.items():
        if not unknown:
            st.markdown(f"**{method.capitalize()}**: none.")
            continue
        share = sum(row.share or 0.0 for row in unknown)
        shown = [_unknown_words(row, method) for row in unknown[:_LIST_LENGTH]]
        more = f"\n- and {len(unknown) - _LIST_LENGTH} more, see the table" if len(unknown) > _LIST_LENGTH else ""
        listed = "\n".join(f"- {line}" for line in shown)
        st.markdown(f"**{method.capitalize()}**: {len(unknown)} unknown, {share:.1%} of the busy time.\n{listed}{more}")


def _worth_telling(row: Placement) -> bool:
    return row.operation_class is None or (row.share or 0.0) >= NOTABLE_SHARE


def _unknown_words(row: Placement, method: str) -> str:
    name = row.operation_class if method == "default method" else row.cluster
    place = f"counted as {plain(name)}" if name else "counted nowhere"
    return f"{plain(row.operation)} ({row.share:.2%}): {place}"


def _all_rows(rows: tuple[Placement, ...]) -> None:
    st.subheader("Every operation", anchor="all")
    st.dataframe(
        [table_row(row) for row in rows],
        hide_index=True,
        column_config={"Operation": st.column_config.TextColumn(pinned=True)},
        key="operation-table",
    )
    st.caption(
        "Kind: what it does. Class: where the default method counts it; host operations count only as input or "
        "transfer. Cluster: where the documented method counts it. –: not used on its own."
    )
    download_buttons([data_row(row) for row in rows], "profet-operations")


run_page(body, inspect_keys)
