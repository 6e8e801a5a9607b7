"""What is inside one profile: what limits its step, its operations, and how the models see each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from pages.compare.listing import Candidate
from profet_core import Profile
from profet_core.answers.predict import Side, answer_inside
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms
from ui.charts.bars import Bar, bar_chart, legend
from ui.charts.style import BLUE, GRAY, ORANGE, no_markup, show_chart
from ui.inputs.profile import steps_words
from ui.notices import show_warning
from ui.state.resources import Resources
from ui.tables import MISSING, download_buttons, show_table
from ui.words import plain

#: Operations of their own in the chart; the others are one bar.
TOP = 12
_LABEL_LETTERS = 24


def time_bars(rows: Sequence[Placement]) -> list[Bar]:
    """The longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    found = [_bar(_short(row), BLUE if row.on_device else ORANGE, [row]) for row in busy[:TOP]]
    if rest := busy[TOP:]:
        found.append(_bar(f"{len(rest)} others" if len(rest) > 1 else "1 other", GRAY, rest))
    return found


def _bar(name: str, color: str, rows: Sequence[Placement]) -> Bar:
    share, time_ms = sum(row.share or 0.0 for row in rows), sum(row.time_us for row in rows) / US_PER_MS
    hover = f"{no_markup(rows[0].operation if len(rows) == 1 else name)}: {format_ms(time_ms)}"
    return Bar(key=name, name=no_markup(name), color=color, value=time_ms, text=f"{share:.1%}", hover=hover)


def _short(row: Placement) -> str:
    """Short enough that a phone keeps room for the bars."""
    name = row.operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
    return name if len(name) <= _LABEL_LETTERS else f"{name[:11]}…{name[-12:]}"


#: Labels of what the file says that are not just its field in words.
_LABELS = {
    "gpu": "GPU",
    "onednn": "oneDNN on the CPU",
    "step_latency_ms": "Step latency (ms)",
    "peak_memory_mib": "Peak memory (MiB)",
}


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """What limits the step, the time of each operation, what the file says, and how the models see each operation."""
    answer = answer_inside(resources, candidate.held.profile, candidate.held.latency_ms)
    for line in answer.warnings:
        show_warning(line)
    _diagnosis(answer.diagnosis)
    bars = time_bars(answer.operations)
    show_chart(bar_chart(bars, "Operations by time (ms)", name="Operations by time"), "operation-bars")
    st.markdown(legend(bars, {BLUE: "GPU", ORANGE: "host", GRAY: "all others"}))
    st.caption(_busy_and_idle_words(answer.host, answer.gpu))
    with st.expander("Profile facts", icon=":material/description:"):
        show_table(_fact_rows(answer.profile), "Profile facts")
        for note in answer.profile.ignored:
            st.caption(f"Ignored: {plain(note)}.")
    with st.expander("All operations", icon=":material/table_rows:"):
        _all_rows(answer.operations)


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
    facts = {
        "Format": profile.source_format,
        "Steps": steps_words(profile) + ("" if profile.steps == 1 else "; times are of one"),
        "Operation types": f"{len(profile.operations)}",
    }
    for field, value in asdict(profile.meta).items():
        label = _LABELS.get(field, field.capitalize().replace("_", " "))
        if value is None or isinstance(value, bool):
            facts[label] = {None: "unknown", True: "yes", False: "no"}[value]
        else:
            facts[label] = f"{value:,}" if isinstance(value, int | float) else str(value)
    return [{"": name, "Value": plain(words)} for name, words in facts.items()]


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
