"""Profiles side by side on every instance, and what is inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from textwrap import wrap
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.compare.listing import Candidate
from profet_core import InstancePrediction, Profile
from profet_core.advice.per import COSTED_STEPS
from profet_core.advice.plans import Plan
from profet_core.answers.predict import Side, answer_inside
from profet_core.catalog import Instance
from profet_core.catalog.naming import offer_name, price_line, price_words
from profet_core.cost import cost_usd
from profet_core.prediction.checks import steps_words
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms, format_usd
from ui.charts import (
    BLUE,
    GRAY,
    ORANGE,
    Bar,
    Figure,
    Part,
    bar_chart,
    framed,
    name_axis,
    no_markup,
    show_chart,
    show_legend,
    text_color,
    value_axis,
    whiskers,
)
from ui.columns import INSTANCE
from ui.curves import gpu_look
from ui.exports import export_row
from ui.inputs.fields import choice
from ui.inputs.offers import chosen_rows, drawn_rows, offer_buttons, offered_plans, preset_choice
from ui.state.resources import Resources
from ui.state.session import CompareView, session
from ui.tables import MISSING, Column, Value, result_table, show_table
from ui.words import plain, show_warning

_TITLES = {"latency": "Latency (ms/step)", "cost": "Cost per 1,000 steps ($)"}
#: Profiles in the chart, and letters of a line of their names; operations in the other chart, the others are one bar.
_MAX_PROFILES, _PROFILE_LETTERS = 8, 24
_MAX_OPERATIONS, _OPERATION_LETTERS = 12, 23
#: Of a bar's row and what is around all; the share of a profile's place that its bars take.
_BAR_PX, _FRAME_PX, _GROUP = 17, 110, 0.86
#: Longest axis in longest bars: room for its value.
_ROOM = 1.25
#: Labels of what the file says that are not just its field in words.
_LABELS = {
    "gpu": "GPU",
    "onednn": "oneDNN on the CPU",
    "step_latency_ms": "Step latency (ms)",
    "peak_memory_mib": "Peak memory (MiB)",
}


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One offer, with what is predicted from each profile there; `plan` is that of the first that has a number.

    `found`: one per profile, None without a number.
    """

    plan: Plan
    found: tuple[InstancePrediction | None, ...]
    is_anchor: bool
    fit: None = None

    @property
    def offer(self) -> Instance:
        """What is rented."""
        return self.plan.offer

    def ends(self, place: int, metric: str) -> tuple[float, float, float] | None:
        """Of that profile: milliseconds or US dollars per 1,000 steps, and both ends of its interval."""
        one = self.found[place]
        if one is None or one.latency_ms is None:
            return None
        low_ms, high_ms = (one.interval.low_ms, one.interval.high_ms) if one.interval else (one.latency_ms,) * 2
        if metric == "latency":
            return one.latency_ms, low_ms, high_ms
        usd = partial(cost_usd, usd_per_hour=self.offer.usd_per_hour)
        return usd(COSTED_STEPS * one.latency_ms), usd(COSTED_STEPS * low_ms), usd(COSTED_STEPS * high_ms)


def show_comparison(resources: Resources, compared: Sequence[Candidate], toolbar: DeltaGenerator) -> None:
    """What can't be predicted and why, warnings, a chart, a table and downloads."""
    with toolbar:
        choice("Value", CompareView.compare_by)
        preset_choice()
        offer_buttons(resources)
        gpus_place = st.container(width="content")
    refused = [one for one in compared if one.refusal]
    if refused:
        lines = "\n".join(f"- **{plain(one.name)}**: {plain(one.refusal)}" for one in refused)
        st.error(f"No prediction for these profiles:\n{lines}", icon=":material/error:")
    waiting = [one.name for one in compared if one.prediction is None and not one.refusal]
    if waiting:
        st.info(f"Choose the anchor of {plain(', '.join(waiting))} under *Profiles*.", icon=":material/help:")
    known = [one for one in compared if one.prediction is not None]
    if not known:
        return
    rows = chosen_rows(compare_rows(resources, known), keep=session.compare_table.open)
    with gpus_place:
        drawn = drawn_rows(rows, keep=session.compare_table.open)
    metric = session.compare.compare_by
    show_chart(bars(known[:_MAX_PROFILES], drawn, metric), "compare-bars")
    if len(known) > _MAX_PROFILES:
        st.caption(f"The chart shows the first {_MAX_PROFILES} profiles. The table has all {len(known)}.")
    result_table(
        sorted(rows, key=lambda row: row.plan.total_usd),
        [INSTANCE, _PRICE, *(_column(place, one, metric) for place, one in enumerate(known))],
        choices=session.compare_table,
        stem="profet-compare",
        title=f"{_TITLES[metric]} on every instance, one column per profile",
        row_key=lambda row: row.offer.label,
    )
    st.caption(f"{_TITLES[metric]}. \\*: estimated from GPU specs. {price_line(row.offer for row in rows)}")
    warned = [one for one in compared if one.warnings and not one.refusal]
    if warned:
        count = f"{len(warned)} profile{'s' if len(warned) > 1 else ''}"
        with st.expander(f"Warnings for {count}", icon=":material/warning:"):
            for one in warned:
                lines = "\n".join(f"- {plain(line)}" for line in one.warnings)
                st.markdown(f"**{plain(one.name)}**\n{lines}")


def compare_rows(resources: Resources, known: Sequence[Candidate]) -> list[CompareRow]:
    """Every offer that the filter leaves and one of them is predicted on."""
    anchors = {one.prediction.anchor for one in known if one.prediction is not None}
    by_name = [{row.instance: row for row in one.predictions} for one in known]
    steps = {row.instance: row for one in reversed(known) for row in one.predictions if row.latency_ms is not None}
    plans = offered_plans(resources, steps.values(), known[0].held.profile.meta.batch_size or 1)
    found = [tuple(each.get(plan.instance) for each in by_name) for plan in plans]
    is_anchor = [bool(anchors & {plan.instance, plan.offer.gpu}) for plan in plans]
    return [CompareRow(*one) for one in zip(plans, found, is_anchor, strict=True)]


_PRICE: Column[CompareRow] = Column(
    "usd_per_hour",
    "$/h",
    lambda row: row.offer.usd_per_hour,
    cell=lambda row: price_words(row.offer),
    narrow_under="instance",
)


def _column(place: int, one: Candidate, metric: str) -> Column[CompareRow]:
    """One profile's values; exports have both ends and what they are based on."""
    words = format_ms if metric == "latency" else format_usd
    unit = "latency_ms" if metric == "latency" else "cost_per_1000_steps_usd"

    def value(row: CompareRow) -> float | None:
        return (ends := row.ends(place, metric)) and ends[0]

    def cell(row: CompareRow) -> str:
        found, known = row.found[place], value(row)
        if known is None or found is None:
            return MISSING
        return words(known) + "*" * found.basis.is_rough

    def data(row: CompareRow) -> dict[str, Value]:
        ends, found = row.ends(place, metric) or (None, None, None), row.found[place]
        names = (unit, f"low_{unit}", f"high_{unit}")
        return {f"{one.name}: {name}": end for name, end in zip(names, ends, strict=True)} | {
            f"{one.name}: basis": None if found is None else found.basis.value
        }

    return Column(f"profile_{place + 1}", _cut(one.name, 2 * _PROFILE_LETTERS), value, cell=cell, data=data)


def bars(known: Sequence[Candidate], rows: Sequence[CompareRow], metric: str) -> Figure:
    """One group of bars per profile, the first on top; one bar per instance, with its interval and its value."""
    words, step = format_ms if metric == "latency" else format_usd, _GROUP / max(len(rows), 1)
    traces: list[Part] = []
    labels: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for number, row in enumerate(rows):
        found = [(place, ends) for place in range(len(known)) if (ends := row.ends(place, metric))]
        values, look = [value for _, (value, _, _) in found], gpu_look(row.offer.gpu)
        heights = [place + (number - (len(rows) - 1) / 2) * step for place, _ in found]
        hover = [f"{no_markup(known[place].name)}<br>{row.offer.name}: {words(ends[0])}" for place, ends in found]
        trace: Part = {
            "type": "bar",
            "orientation": "h",
            "name": no_markup(offer_name(row.offer)),
            "width": 0.85 * step,
            "x": values,
            "y": heights,
            "error_x": whiskers(values, [(low, high) for _, (_, low, high) in found]),
            "marker": {"color": look.color, "pattern": {"shape": look.pattern}},
            "hovertext": hover,
            "hoverinfo": "text",
        }
        traces.append(trace)
        labels["x"] += [high for _, (_, _, high) in found]
        labels["y"] += heights
        labels["text"] += [f"\N{NO-BREAK SPACE}{words(value)}" for value in values]
    text = {"textposition": "middle right", "textfont": {"color": text_color(), "size": 11}}
    traces.append({"type": "scatter", "mode": "text", "hoverinfo": "skip", "showlegend": False, **labels, **text})
    # On two lines at most.
    names = ["<br>".join(map(no_markup, wrap(_cut(one.name, 2 * _PROFILE_LETTERS), _PROFILE_LETTERS))) for one in known]
    return framed(
        traces,
        x=value_axis(_TITLES[metric], rangemode="tozero", range=[0, max(labels["x"], default=1.0) * _ROOM]),
        y=name_axis(range=[len(known) - 0.5, -0.5], tickvals=[*range(len(known))], ticktext=names, showgrid=False),
        height=_BAR_PX * max(len(rows), 3) * len(known) + _FRAME_PX,
        name=f"{_TITLES[metric]} per instance, one group per profile",
        barmode="overlay",
    )


def _cut(name: str, most: int) -> str:
    """Files often differ at the end: 'resnet50-run-b64.json'."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """What limits the step, the time of each operation, what the file says, and how the models see each operation."""
    answer = answer_inside(resources, candidate.held.profile, candidate.held.latency_ms)
    for line in answer.warnings:
        show_warning(line)
    _diagnosis(answer.diagnosis)
    shown = _time_bars(answer.operations)
    show_chart(bar_chart(shown, "Operations by time (ms)", name="Operations by time"), "operation-bars")
    show_legend(shown, {BLUE: "GPU", ORANGE: "host", GRAY: "all others"})
    st.caption(_busy_and_idle_words(answer.host, answer.gpu))
    with st.expander("Profile facts", icon=":material/description:"):
        show_table(_fact_rows(answer.profile), "Profile facts")
        for note in answer.profile.ignored:
            st.caption(f"Ignored: {plain(note)}.")
    with st.expander("All operations", icon=":material/table_rows:"):
        st.dataframe(
            [_operation_row(row) for row in answer.operations],
            hide_index=True,
            column_config={"Operation": st.column_config.TextColumn(pinned=True)},
            key="operation-table",
        )
        st.caption("Class: used by the default method. Cluster: used by the PROFET method. –: not used by itself.")
    export_row("profet-operations", lambda: [asdict(row) for row in answer.operations])


def _diagnosis(found: Diagnosis) -> None:
    if found.kind == "no GPU":
        return
    show, icon = st.success, "check_circle"
    if not found.another_gpu_helps:
        show, icon = st.warning, "hourglass_empty"
    elif found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY:
        show, icon = st.info, "hourglass_bottom"
    show(plain(found.sentence), icon=f":material/{icon}:")
    if not found.latency_known:
        st.caption("From the profile alone. Enter its latency for a better diagnosis.")


def _time_bars(rows: Sequence[Placement]) -> list[Bar]:
    """The longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    found = []
    for row in busy[:_MAX_OPERATIONS]:
        # Short enough that a phone keeps room for the bars.
        name = _cut(row.operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX), _OPERATION_LETTERS)
        found.append(_bar(name, row.operation, BLUE if row.on_device else ORANGE, [row]))
    if rest := busy[_MAX_OPERATIONS:]:
        name = f"{len(rest)} others" if len(rest) > 1 else "1 other"
        found.append(_bar(name, name, GRAY, rest))
    return found


def _bar(name: str, full_name: str, color: str, rows: Sequence[Placement]) -> Bar:
    share, time_ms = sum(row.share or 0.0 for row in rows), sum(row.time_us for row in rows) / US_PER_MS
    hover = f"{no_markup(full_name)}: {format_ms(time_ms)}"
    return Bar(key=name, name=no_markup(name), color=color, value=time_ms, text=f"{share:.1%}", hover=hover)


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
    sentences = (
        [f"GPU: {format_ms(gpu.busy_us / US_PER_MS)} busy per step."] if gpu.total_us else ["There are no GPU rows."]
    )
    if host.total_us:
        busy, idle = format_ms(host.busy_us / US_PER_MS), format_ms(host.idle_us / US_PER_MS)
        sentences.append(f"Host threads together: {busy} busy and {idle} idle. Most threads are idle, as expected.")
    return " ".join(sentences)


def _operation_row(row: Placement) -> dict[str, object]:
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
