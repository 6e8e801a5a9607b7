"""Profiles side by side on every instance, and what is inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.compare.listing import Candidate
from profet_core import Profile
from profet_core.answers.predict import Placement, answer_inside
from profet_core.catalog import Instance
from profet_core.catalog.instance import price_line, price_words
from profet_core.prediction.checks import MOSTLY_BUSY, steps_words
from profet_core.training.plans import COSTED_STEPS, Per, Plan
from profet_core.units import US_PER_MS, format_ms, format_usd
from profet_recorder.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from ui.charts import BLUE, GRAY, ORANGE, Bar, bar_chart, no_markup, show_chart, show_legend, text_color
from ui.columns import INSTANCE
from ui.curves import gpu_look
from ui.fields import choice
from ui.offers import chosen_rows, drawn_rows, offer_buttons, offered_plans, preset_choice
from ui.resources import Resources
from ui.session import CompareView, session
from ui.tables import MISSING, Column, Value, export_row, result_table, show_table
from ui.words import plain, show_warning

_TITLES = {"latency": "Latency (ms/step)", "cost": f"Cost per {COSTED_STEPS:,} steps ($)"}
_WORDS = {"latency": format_ms, "cost": format_usd}
#: Profiles in the chart, and letters of their names there and in the table.
_MAX_PROFILES, _MAX_LETTERS = 8, 48
#: Operations in the other chart, whose others are one bar; short names leave a phone room for the bars.
_MAX_OPERATIONS, _OPERATION_LETTERS = 12, 23
#: Labels of what the file says that are not just its field in words.
_LABELS = {
    "gpu": "GPU",
    "onednn": "oneDNN on the CPU",
    "step_latency_ms": "Step latency (ms)",
    "peak_memory_mib": "Peak memory (MiB)",
}


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One offer, with what is predicted from each profile there: time of a step and cost of 1,000, None if not known.

    `plan` is that of the first profile that has one.
    """

    plan: Plan
    plans: tuple[Plan | None, ...]
    is_anchor: bool
    fit: None = None

    @property
    def offer(self) -> Instance:
        """What is rented."""
        return self.plan.offer


def show_comparison(resources: Resources, compared: Sequence[Candidate], toolbar: DeltaGenerator) -> None:
    """What can't be predicted and why, warnings, a chart, a table and downloads."""
    with toolbar:
        choice("Value", CompareView.compare_by)
        preset_choice()
        offer_buttons(resources)
        gpus_place = st.container(width="content")
    if refused := [one for one in compared if one.refusal]:
        lines = "\n".join(f"- **{plain(one.name)}**: {plain(one.refusal)}" for one in refused)
        st.error(f"No prediction for these profiles:\n{lines}", icon=":material/error:")
    if waiting := [one.name for one in compared if one.prediction is None and not one.refusal]:
        st.info(f"Choose the anchor of {plain(', '.join(waiting))} under *Profiles*.", icon=":material/help:")
    known = [one for one in compared if one.prediction is not None]
    if not known:
        return
    rows = chosen_rows(compare_rows(resources, known), keep=session.compare_table.open)
    with gpus_place:
        drawn = drawn_rows(rows, keep=session.compare_table.open)
    metric = session.compare.compare_by
    name = f"{_TITLES[metric]} per instance, one group per profile"
    show_chart(bar_chart(bars(known[:_MAX_PROFILES], drawn, metric), _TITLES[metric], name=name), "compare-bars")
    if len(known) > _MAX_PROFILES:
        st.caption(f"The chart shows the first {_MAX_PROFILES} profiles. The table has all {len(known)}.")
    result_table(
        sorted(rows, key=lambda row: row.plan.total_usd),
        [INSTANCE, _PRICE, *(_column(place, one, metric) for place, one in enumerate(known))],
        choices=session.compare_table,
        stem="profet-compare",
        title=f"{_TITLES[metric]} on every instance, one column per profile",
    )
    st.caption(f"{_TITLES[metric]}. \\*: estimated from GPU specs. {price_line(row.offer for row in rows)}")
    if warned := [one for one in compared if one.warnings and not one.refusal]:
        with st.expander(f"Warnings for {len(warned)} profile{'s' * (len(warned) > 1)}", icon=":material/warning:"):
            for one in warned:
                st.markdown("\n- ".join([f"**{plain(one.name)}**", *map(plain, one.warnings)]))


def compare_rows(resources: Resources, known: Sequence[Candidate]) -> list[CompareRow]:
    """Every offer that the filter leaves and one of them is predicted on."""
    anchors, each = set(), list[dict[str, Plan]]()
    for one in known:
        if (prediction := one.prediction) is not None:
            anchors.add(prediction.anchor)
            steps = [row for row in prediction.predictions if row.latency_ms is not None]
            plans = offered_plans(resources, steps, one.held.profile.meta.batch_size or 1)
            each.append({plan.label: Per.STEP.share_of(plan) for plan in plans})
    first = {label: plan for plans in reversed(each) for label, plan in plans.items()}
    return [
        CompareRow(plan, tuple(plans.get(label) for plans in each), bool(anchors & {plan.instance, plan.offer.gpu}))
        for label, plan in first.items()
    ]


_PRICE: Column[CompareRow] = Column(
    "usd_per_hour",
    "$/h",
    lambda row: row.offer.usd_per_hour,
    cell=lambda row: price_words(row.offer),
    narrow_under="instance",
)


def _ends(plan: Plan, metric: str) -> tuple[float, float | None, float | None]:
    """Milliseconds or US dollars, and both ends of the interval; None without one."""
    step, total = plan.row.interval, plan.interval
    if metric == "latency":
        return plan.latency_ms, step and step.low_ms, step and step.high_ms
    return plan.total_usd, total and total.low_usd, total and total.high_usd


def _column(place: int, one: Candidate, metric: str) -> Column[CompareRow]:
    """One profile's values; exports have both ends and what they are based on."""
    words, unit = _WORDS[metric], "latency_ms" if metric == "latency" else f"cost_per_{COSTED_STEPS}_steps_usd"

    def value(row: CompareRow) -> float | None:
        plan = row.plans[place]
        return None if plan is None else _ends(plan, metric)[0]

    def cell(row: CompareRow) -> str:
        plan = row.plans[place]
        return MISSING if plan is None else words(_ends(plan, metric)[0]) + "*" * plan.basis.is_rough

    def data(row: CompareRow) -> dict[str, Value]:
        plan, names = row.plans[place], (unit, f"low_{unit}", f"high_{unit}", "basis")
        values = (None,) * 4 if plan is None else (*_ends(plan, metric), plan.basis.value)
        return {f"{one.name}: {name}": found for name, found in zip(names, values, strict=True)}

    return Column(f"profile_{place + 1}", _cut(one.name, _MAX_LETTERS), value, cell=cell, data=data)


def bars(known: Sequence[Candidate], rows: Sequence[CompareRow], metric: str) -> list[Bar]:
    """Each profile's name, and below it a bar per instance in its GPU's color, with its interval."""
    found, words = list[Bar](), _WORDS[metric]
    for place, one in enumerate(known):
        # Its letters have the width of a phone.
        name = no_markup(_cut(one.name.replace(" pixels", " px"), _MAX_LETTERS - 2))
        text = f"<b style='color:{text_color()}'>{name}</b>"
        found.append(Bar(key=one.held.key, name="", text=text, hover=no_markup(one.name)))
        for plan in (row.plans[place] for row in rows):
            if plan is not None:
                value, low, high = _ends(plan, metric)
                bar = Bar(
                    key=f"{one.held.key} {plan.label}",
                    name=no_markup(plan.name),
                    color=gpu_look(plan.offer.gpu).color,
                    value=value,
                    low=low,
                    high=high,
                    text=words(value),
                    hover=f"{name}<br>{no_markup(plan.name_and_code)}: {words(value)}",
                )
                found.append(bar)
    return found


def _cut(name: str, most: int) -> str:
    """Files often differ at the end: 'resnet50-run-b64.json'."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """What limits the step, the time of each operation, what the file says, and how the models see each operation."""
    answer = answer_inside(resources, candidate.held.profile, candidate.held.latency_ms)
    for line in answer.warnings:
        show_warning(line)
    if (found := answer.diagnosis).kind != "no GPU":
        partly = found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY
        show = st.warning if not found.another_gpu_helps else st.info if partly else st.success
        show(plain(found.sentence), icon=":material/speed:")
        if not found.latency_known:
            st.caption("From the profile alone. Enter its latency for a better diagnosis.")
    shown = _time_bars(answer.operations)
    show_chart(bar_chart(shown, "Operations by time (ms)", name="Operations by time"), "operation-bars")
    show_legend(shown, {BLUE: "GPU", ORANGE: "host", GRAY: "all others"})
    gpu_ms = format_ms(answer.gpu_us[0] / US_PER_MS)
    words = f"GPU: {gpu_ms} busy per step." if any(answer.gpu_us) else "There are no GPU rows."
    if any(answer.host_us):
        busy, idle = (format_ms(us / US_PER_MS) for us in answer.host_us)
        words += f" Host threads together: {busy} busy and {idle} idle. Most threads are idle, as expected."
    st.caption(words)
    with st.expander("Profile facts", icon=":material/description:"):
        show_table(_fact_rows(answer.profile), "Profile facts")
        for note in answer.profile.ignored:
            st.caption(f"Ignored: {plain(note)}.")
    with st.expander("All operations", icon=":material/table_rows:"):
        st.dataframe(
            [
                {
                    "Operation": row.operation,
                    "ms": round(row.time_us / US_PER_MS, 4),
                    "% of busy time": None if row.share is None else round(100 * row.share, 2),
                    "Kind": row.kind or MISSING,
                    "Class": _place(row.operation_class, row.class_known, "by kind"),
                    "Cluster": _place(row.cluster, row.cluster_known, "by similarity"),
                }
                for row in answer.operations
            ],
            hide_index=True,
            column_config={"Operation": st.column_config.TextColumn(pinned=True)},
            key="operation-table",
        )
        st.caption("Class: used by the default method. Cluster: used by the PROFET method. –: not used by itself.")
    export_row("profet-operations", lambda: [asdict(row) for row in answer.operations])


def _time_bars(rows: Sequence[Placement]) -> list[Bar]:
    """The longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    groups = [(row.operation, BLUE if row.on_device else ORANGE, [row]) for row in busy[:_MAX_OPERATIONS]]
    if rest := busy[_MAX_OPERATIONS:]:
        groups.append((f"{len(rest)} other{'s' * (len(rest) > 1)}", GRAY, rest))
    found = []
    for operation, color, group in groups:
        time_ms, share = sum(row.time_us for row in group) / US_PER_MS, sum(row.share or 0.0 for row in group)
        name = no_markup(_cut(operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX), _OPERATION_LETTERS))
        hover = f"{no_markup(operation)}: {format_ms(time_ms)}"
        found.append(Bar(key=operation, name=name, color=color, value=time_ms, text=f"{share:.1%}", hover=hover))
    return found


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


def _place(name: str | None, known: bool, otherwise: str) -> str:
    """Where an operation's time went, and how if the models never saw it."""
    if name is None:
        return MISSING
    return name.removeprefix(DEVICE_PREFIX) if known else f"{name.removeprefix(DEVICE_PREFIX)} ({otherwise})"
