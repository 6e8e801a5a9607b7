"""What is inside one profile: what limits its step, its operations, and how the models see each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import streamlit as st

from pages.compare.candidates import Candidate
from pages.compare.inside_figures import busy_and_idle, class_bars, time_bars
from profet_core import Profile
from profet_core.answers.predict import Side, answer_inside
from profet_core.features.classes import NOTABLE_SHARE
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, Placement
from profet_core.profiles.record import DEVICE_PREFIX
from profet_core.units import US_PER_MS, format_ms
from ui.charts.style import show_chart
from ui.inputs.profile import steps_words
from ui.notices import show_warning
from ui.predicted import context_of
from ui.state.resources import Resources
from ui.tables import MISSING, download_buttons, show_table
from ui.words import plain

_LIST_LENGTH = 8
#: Opens the keys of what is folded.
OPENED = "inside:"
_META_WORDS = {
    "gpu": "GPU",
    "framework": "Framework",
    "precision": "Precision",
    "compiled": "Compiled",
    "channels_last": "Channels last",
    "onednn": "oneDNN on the CPU",
    "batch_size": "Batch size",
    "pixels": "Pixels",
    "parameters": "Parameters",
    "step_latency_ms": "Step latency",
    "peak_memory_mib": "Peak memory",
}
_UNITS = {"step_latency_ms": " ms", "peak_memory_mib": " MiB"}


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """What limits the step, the time of each operation, what the file says, and how the models see each operation."""
    answer = answer_inside(context_of(resources), candidate.profile, candidate.latency_ms)
    for line in answer.warnings:
        show_warning(line)
    _diagnosis(answer.diagnosis)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Operations by time**")
        show_chart(time_bars(answer.operations), "operation-bars")
    with right:
        st.markdown("**Busy and idle**")
        show_chart(busy_and_idle(answer.host, answer.gpu), "idle-bars")
        st.caption(_busy_and_idle_words(answer.host, answer.gpu))
        if answer.profile.device_total_us:
            st.markdown("**GPU time by class**")
            show_chart(class_bars(answer.operations), "class-bars")
    file = st.expander("Profile facts", on_change="rerun", key=f"{OPENED}file", icon=":material/description:")
    if file.open:
        with file:
            _file(answer.profile)
    every = st.expander("All operations", on_change="rerun", key=f"{OPENED}every", icon=":material/table_rows:")
    if every.open:
        with every:
            _unknown(answer.operations)
            _all_rows(answer.operations)


def _file(profile: Profile) -> None:
    facts = [{name: plain(cell) for name, cell in row.items()} for row in _fact_rows(profile)]
    show_table(facts, "Profile facts")
    for note in profile.ignored:
        st.caption(f"Ignored: {plain(note)}.")


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
        st.caption("From the profile alone. Enter its latency for a better diagnosis.")


def _unknown(rows: Iterable[Placement]) -> None:
    """Operations outside the models' tables, and where they went."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    by_method: Mapping[str, list[Placement]] = {
        "Default method": [row for row in busy if row.on_device and row.stands_in and _worth_telling(row)],
        "PROFET method": [row for row in busy if not row.cluster_known],
    }
    if not any(by_method.values()):
        st.caption("The models know every operation of this profile.")
        return
    for method, unknown in by_method.items():
        if not unknown:
            st.markdown(f"**{method}**: none.")
            continue
        share = sum(row.share or 0.0 for row in unknown)
        shown = [_unknown_words(row, method) for row in unknown[:_LIST_LENGTH]]
        more = f"\n- and {len(unknown) - _LIST_LENGTH} more, see below" if len(unknown) > _LIST_LENGTH else ""
        listed = "\n".join(f"- {line}" for line in shown)
        st.markdown(f"**{method}**: {len(unknown)} unknown, {share:.1%} of the busy time.\n{listed}{more}")


def _worth_telling(row: Placement) -> bool:
    return row.operation_class is None or (row.share or 0.0) >= NOTABLE_SHARE


def _unknown_words(row: Placement, method: str) -> str:
    name = row.operation_class if method == "Default method" else row.cluster
    place = f"counted as {plain(name)}" if name else "counted nowhere"
    return f"{plain(row.operation)} ({row.share:.2%}): {place}"


def _all_rows(rows: tuple[Placement, ...]) -> None:
    st.dataframe(
        [_table_row(row) for row in rows],
        hide_index=True,
        column_config={"Operation": st.column_config.TextColumn(pinned=True)},
        key="operation-table",
    )
    st.caption("Class: used by the default method. Cluster: used by the PROFET method. –: not used by itself.")
    download_buttons([asdict(row) for row in rows], "profet-operations")


def _fact_rows(profile: Profile) -> list[dict[str, str]]:
    """Format, steps and meta."""
    rows = [
        ("Format", profile.source_format),
        ("Steps", steps_words(profile) + ("" if profile.steps == 1 else "; times are of one")),
        ("Operation types", f"{len(profile.operations)}"),
    ]
    for field, value in asdict(profile.meta).items():
        rows.append((_META_WORDS.get(field, field.replace("_", " ")), _words(field, value)))
    return [{"": name, "Value": words} for name, words in rows]


def _busy_and_idle_words(host: Side, gpu: Side) -> str:
    """Busy and idle time in a sentence or two."""
    sentences = ["There are no GPU rows."]
    if gpu.total_us:
        total, share = format_ms(gpu.total_us / US_PER_MS), gpu.idle_us / gpu.total_us
        sentences = [f"GPU: {total} per step, {share:.0%} of it idle."]
    if host.total_us:
        busy, idle = format_ms(host.busy_us / US_PER_MS), format_ms(host.idle_us / US_PER_MS)
        sentences.append(f"Host threads together: {busy} busy and {idle} idle. Most threads are idle, as expected.")
    return " ".join(sentences)


def _table_row(row: Placement) -> dict[str, object]:
    """One operation, numbers as numbers."""
    return {
        "Operation": row.operation,
        "ms": round(row.time_us / US_PER_MS, 4),
        "% of busy time": None if row.share is None else round(100 * row.share, 2),
        "Kind": row.kind or MISSING,
        "Class": _place(row.operation_class, row.class_known, "by kind"),
        "Cluster": _place(row.cluster, row.cluster_known, "by similarity"),
    }


def _place(name: str | None, known: bool, otherwise: str) -> str:
    """Where an operation's time went, and how if the models never saw it."""
    if name is None:
        return MISSING
    return name.removeprefix(DEVICE_PREFIX) if known else f"{name.removeprefix(DEVICE_PREFIX)} ({otherwise})"


def _words(field: str, value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}{_UNITS.get(field, '')}"
    return str(value)
