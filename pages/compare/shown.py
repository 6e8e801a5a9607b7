"""Profiles side by side on every instance, and what is inside one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import cycle

import streamlit as st

from pages.compare.listing import Candidate
from profet_core import Catalog, InstancePrediction, Profile
from profet_core.advice.advise import OfferRow, lowest_to_rent
from profet_core.answers.predict import Side, answer_inside
from profet_core.catalog.naming import offer_name
from profet_core.prediction.diagnosis import MOSTLY_BUSY, Diagnosis, Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms, format_significant, format_usd
from ui.charts import (
    BLUE,
    GRAY,
    ORANGE,
    WIDE,
    Bar,
    Figure,
    Part,
    bar_chart,
    framed,
    name_axis,
    no_markup,
    show_chart,
    show_legend,
    value_axis,
    whiskers,
)
from ui.curves import COLORS
from ui.exports import export_row
from ui.inputs.fields import choice
from ui.inputs.offers import chosen_rows, drawn_rows, preset_choice
from ui.inputs.profile import steps_words
from ui.state.resources import Resources
from ui.state.session import CompareView, session
from ui.tables import MISSING, show_table
from ui.words import marked, plain, show_warning

_TITLES = {"latency": "Latency (ms/step)", "cost": "Cost per 1,000 steps ($)"}
#: Profiles in the chart, and letters of their names; operations in the other chart, the others are one bar.
_MOST_PROFILES, _PROFILE_LETTERS = 8, 26
_MOST_OPERATIONS, _OPERATION_LETTERS = 12, 24
_BAR_PX, _FRAME_PX = 15, 110
#: Labels of what the file says that are not just its field in words.
_LABELS = {
    "gpu": "GPU",
    "onednn": "oneDNN on the CPU",
    "step_latency_ms": "Step latency (ms)",
    "peak_memory_mib": "Peak memory (MiB)",
}


def show_comparison(resources: Resources, compared: Sequence[Candidate]) -> None:
    """What can't be predicted and why, warnings, a chart, a table and downloads."""
    refused = [one for one in compared if one.refusal]
    if refused:
        lines = "\n".join(f"- **{plain(one.name)}**: {plain(one.refusal)}" for one in refused)
        st.error(f"No prediction for these profiles:\n{lines}", icon=":material/error:")
    waiting = [one.name for one in compared if one.prediction is None and not one.refusal]
    if waiting:
        st.warning(f"Choose the anchor of {plain(', '.join(waiting))} above.", icon=":material/help:")
    warned = [one for one in compared if one.warnings and not one.refusal]
    if warned:
        count = f"{len(warned)} profile{'s' if len(warned) > 1 else ''}"
        with st.expander(f"Warnings for {count}", expanded=True, icon=":material/warning:"):
            for one in warned:
                lines = "\n".join(f"- {plain(line)}" for line in one.warnings)
                st.markdown(f"**{plain(one.name)}**\n{lines}")
    known = [one for one in compared if one.prediction is not None]
    if known:
        _on_every_instance(resources, known)


def _on_every_instance(resources: Resources, known: Sequence[Candidate]) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        choice("Show", CompareView.compare_by)
        preset_choice()
        rows = chosen_rows(offer_rows(resources.catalog, known))
        drawn = drawn_rows(rows)
    metric = session.compare.compare_by
    show_chart(bars(known[:_MOST_PROFILES], drawn, metric), "compare-bars")
    if len(known) > _MOST_PROFILES:
        st.caption(f"The chart shows the first {_MOST_PROFILES} profiles. The table has all {len(known)}.")
    instances = [row.offer.name for row in rows]
    heads = {found.instance: marked(found.instance, found.basis) for one in known for found in one.predictions}
    form = "$%.4f" if metric == "cost" else None
    st.dataframe(
        [table_row(one, metric, instances) for one in known],
        hide_index=True,
        column_config={
            "Profile": st.column_config.TextColumn(pinned=True, width=150),
            **{name: st.column_config.NumberColumn(heads[name], format=form) for name in instances},
        },
        key="compare-table",
    )
    st.caption(f"{_TITLES[metric]}. \\*: estimated from GPU specs, less certain.")
    export_row("profet-compare", lambda: [line for one in known for line in _data_rows(one)])


def offer_rows(catalog: Catalog, known: Iterable[Candidate]) -> list[OfferRow]:
    """Every instance that one of them is predicted on."""
    names = {found.instance: None for one in known for found in one.predictions}
    anchors = {one.prediction.anchor for one in known if one.prediction is not None}
    offers = [catalog[name] for name in names]
    return [OfferRow(offer, None, None, "", bool(anchors & {offer.name, offer.gpu})) for offer in offers]


def bars(known: Sequence[Candidate], rows: Sequence[OfferRow], metric: str) -> Figure:
    """One group of bars per profile, the first on top; one bar per instance, with its prediction interval."""
    # Colors of their own: a GPU's usual color may be another one's too.
    colors = dict(zip([row.label for row in rows], cycle(COLORS), strict=False))
    traces = [trace for row in rows if (trace := _trace(row, known, metric, colors[row.label]))]
    values = [value for trace in traces for value in trace["x"]]
    low, high = min(values, default=1.0), max(values, default=1.0)
    # Networks may differ by orders of magnitude.
    wide = high > WIDE * low
    axis: Part = {"type": "log", "tickformat": ",~r", "dtick": "D2"} if wide else {"rangemode": "tozero"}
    # Files often differ at the end: "resnet50-run-b64.json".
    names = [no_markup(_cut(one.name, _PROFILE_LETTERS, _PROFILE_LETTERS // 2)) for one in known]
    return framed(
        traces,
        x=value_axis(_TITLES[metric], **axis),
        y=name_axis(range=[len(known) - 0.5, -0.5], tickvals=[*range(len(known))], ticktext=names, showgrid=False),
        height=_BAR_PX * max(len(rows), 2) * len(known) + _FRAME_PX,
        name=f"{_TITLES[metric]} per instance, one group per profile",
        barmode="group",
        bargap=0.2,
    )


def _trace(row: OfferRow, known: Sequence[Candidate], metric: str, color: str) -> Part | None:
    """The bars of one instance."""
    offer, words = row.offer, format_ms if metric == "latency" else format_usd
    found = [
        (place, one.name, predicted, value)
        for place, one in enumerate(known)
        if (predicted := one.on(offer.name)) is not None and (value := _value_of(predicted, metric)) is not None
    ]
    if not found:
        return None
    values, ends = [value for *_, value in found], []
    for *_, predicted, value in found:
        # Both ends in the unit of the value.
        share = value / predicted.latency_ms if predicted.latency_ms else 1.0
        interval = predicted.interval
        ends.append((interval.low_ms * share, interval.high_ms * share) if interval else (value, value))
    return {
        "type": "bar",
        "orientation": "h",
        "name": no_markup(marked(offer_name(offer), found[0][2].basis)),
        "x": values,
        "y": [place for place, *_ in found],
        "error_x": whiskers(values, ends),
        "marker": {"color": color},
        "hovertext": [f"{no_markup(name)}<br>{offer.name}: {words(value)}" for _, name, _, value in found],
        "hoverinfo": "text",
    }


def _cut(name: str, most: int, half: int) -> str:
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def table_row(one: Candidate, metric: str, instances: Sequence[str]) -> dict[str, object]:
    """Numbers as numbers of three significant digits, so that a click on a column sorts it."""
    meta, prediction = one.held.profile.meta, one.prediction
    similarity = None if prediction is None else prediction.similarity
    lowest = lowest_to_rent(one.predictions, lambda found: _value_of(found, metric))
    values = {name: (found := one.on(name)) and _value_of(found, metric) for name in instances}
    return {
        "Profile": one.name,
        "Anchor": prediction and prediction.anchor,
        "Lowest": "" if lowest is None else marked(lowest.instance, lowest.basis),
        **{name: value and float(format_significant(value).replace(",", "")) for name, value in values.items()},
        "Batch size": meta.batch_size,
        "Image size": meta.pixels,
        "Similarity": "" if similarity is None else similarity.words,
    }


def _data_rows(one: Candidate) -> list[dict[str, object]]:
    """One row per instance, with full digits."""
    meta, prediction = one.held.profile.meta, one.prediction
    return [
        {
            "profile": one.name,
            "anchor": prediction and prediction.anchor,
            "anchor_latency_ms": prediction and prediction.anchor_latency_ms,
            "batch_size": meta.batch_size,
            "pixels": meta.pixels,
            "instance": found.instance,
            "latency_ms": found.latency_ms,
            "low_ms": found.interval and found.interval.low_ms,
            "high_ms": found.interval and found.interval.high_ms,
            "cost_per_1000_steps_usd": found.cost_per_1000_steps_usd,
            "usd_per_hour": found.usd_per_hour,
            "status": found.status,
            "basis": found.basis,
            "warnings": len(one.warnings),
        }
        for found in one.predictions
    ]


def _value_of(found: InstancePrediction, metric: str) -> float | None:
    return found.latency_ms if metric == "latency" else found.cost_per_1000_steps_usd


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
    for row in busy[:_MOST_OPERATIONS]:
        # Short enough that a phone keeps room for the bars.
        name = _cut(row.operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX), _OPERATION_LETTERS, 11)
        found.append(_bar(name, row.operation, BLUE if row.on_device else ORANGE, [row]))
    if rest := busy[_MOST_OPERATIONS:]:
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
    sentences = ["There are no GPU rows."]
    if gpu.total_us:
        total, share = format_ms(gpu.total_us / US_PER_MS), gpu.idle_us / gpu.total_us
        sentences = [f"GPU: {total} per step, {share:.0%} of it idle."]
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
