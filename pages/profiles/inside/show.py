"""What is inside one profile, what holds its step up, and how the models see each operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from pages.profiles.candidates import Candidate
from pages.profiles.inside.figures import busy_and_idle, class_bars, time_bars
from pages.profiles.inside.view import busy_and_idle_words, data_row, fact_rows, table_row
from profet_core import Models, Profile
from profet_core.operations.classes import NOTABLE_SHARE
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, diagnose
from profet_core.prediction.placement import Placement, placements
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted
from ui.charts.style import show_chart
from ui.errors import show_warning
from ui.state.resources import Resources
from ui.tables import download_buttons, show_table
from ui.texts import plain

_LIST_LENGTH = 8
#: Opens the keys of what is folded.
OPENED = "inside:"


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """What holds the step up, the time of each operation, what the file says, and what every operation does."""
    profile = counted(candidate.profile, candidate.latency_ms)
    for line in dict.fromkeys((refusal(profile), *profile.warnings)):
        if line:
            show_warning(line)
    _diagnosis(diagnose(profile, candidate.latency_ms))
    rows = placements(resources.models, profile)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Operations by time**")
        show_chart(time_bars(rows), "operation-bars")
    with right:
        st.markdown("**Busy and idle**")
        show_chart(busy_and_idle(profile), "idle-bars")
        st.caption(busy_and_idle_words(profile))
        if profile.device_total_us:
            st.markdown("**GPU time by class**")
            show_chart(class_bars(rows), "class-bars")
    _folded(resources, profile, rows)


def _folded(resources: Resources, profile: Profile, rows: tuple[Placement, ...]) -> None:
    """Drawn when opened."""
    file = st.expander("The file", on_change="rerun", key=f"{OPENED}file", icon=":material/description:")
    if file.open:
        with file:
            _file(profile)
    every = st.expander("Every operation", on_change="rerun", key=f"{OPENED}every", icon=":material/table_rows:")
    if every.open:
        with every:
            _unknown(resources.models, rows)
            _all_rows(rows)


def _file(profile: Profile) -> None:
    facts = [{name: plain(cell) for name, cell in row.items()} for row in fact_rows(profile)]
    show_table(facts, "What the profile says")
    for note in profile.ignored:
        st.caption(f"Left out: {plain(note)}.")


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
        st.caption("Judged by the profile alone; with its step latency the judgement is surer.")


def _unknown(models: Models, rows: Iterable[Placement]) -> None:
    """Operations outside the models' tables, and where they went."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    by_method: Mapping[str, list[Placement]] = {
        "default method": [row for row in busy if row.on_device and row.stands_in and _worth_telling(row)],
        "documented method": [row for row in busy if not row.cluster_known],
    }
    if not any(by_method.values()):
        st.caption("The models know every operation of this profile.")
        return
    for method, unknown in by_method.items():
        if not unknown:
            st.markdown(f"**{method.capitalize()}**: none.")
            continue
        share = sum(row.share or 0.0 for row in unknown)
        shown = [_unknown_words(row, method) for row in unknown[:_LIST_LENGTH]]
        more = f"\n- and {len(unknown) - _LIST_LENGTH} more, see below" if len(unknown) > _LIST_LENGTH else ""
        listed = "\n".join(f"- {line}" for line in shown)
        st.markdown(f"**{method.capitalize()}**: {len(unknown)} unknown, {share:.1%} of the busy time.\n{listed}{more}")


def _worth_telling(row: Placement) -> bool:
    return row.operation_class is None or (row.share or 0.0) >= NOTABLE_SHARE


def _unknown_words(row: Placement, method: str) -> str:
    name = row.operation_class if method == "default method" else row.cluster
    place = f"counted as {plain(name)}" if name else "counted nowhere"
    return f"{plain(row.operation)} ({row.share:.2%}): {place}"


def _all_rows(rows: tuple[Placement, ...]) -> None:
    st.dataframe(
        [table_row(row) for row in rows],
        hide_index=True,
        column_config={"Operation": st.column_config.TextColumn(pinned=True)},
        key="operation-table",
    )
    st.caption("Class: where the default method counts it; cluster: the documented one. –: not used on its own.")
    download_buttons([data_row(row) for row in rows], "profet-operations")
