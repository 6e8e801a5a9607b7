"""The list of profiles with what is predicted from each, edited; all side by side, and what is inside one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st
from msgspec import Struct
from msgspec.structs import asdict, replace
from streamlit.delta_generator import DeltaGenerator

from profet_core import Prediction, Profile, ProfileError
from profet_core.answers.by_layers import NetworkProfile
from profet_core.answers.predict import Placement, answer_compare, answer_inside
from profet_core.catalog.instance import price_line
from profet_core.layers.networks import named_networks
from profet_core.prediction.checks import MOSTLY_BUSY, counted, steps_words
from profet_core.questions import ProfileQuestion
from profet_core.training.plans import COSTED_STEPS, CostTable, Period, Plan
from profet_profiles.profet_json import write_profile
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_profiles.units import US_PER_MS, format_ms, format_significant, format_usd
from ui.bars import Bar, BarAxis, BarRow, show_bars
from ui.charts import BLUE, GRAY, ORANGE, show_legend
from ui.columns import INSTANCE, PRICE
from ui.curves import value_of
from ui.custom import named_network, profile_in_slot, profile_to_predict, remove_profiles, set_recorded
from ui.fields import aside_note, choice, number_field, set_aside, some_of
from ui.offers import chosen_rows, drawn_rows, offer_buttons, offered_plans, preset_choice
from ui.predicted import Predicted
from ui.profile import besides_steps, remove_all_button, rename_input, sample_label, step_questions
from ui.resources import Held, Resources
from ui.session import session
from ui.tables import MISSING, Column, TableCell, export_row, in_order, result_table, save_button, show_table
from ui.uploads import notes_on, read_uploads, show_notes, upload_input
from ui.words import ON_PREDICT, page_path, plain, record_link, show_error, show_warning, unbroken


class Candidate(Struct, frozen=True):
    """One profile of the list, with what is predicted from it.

    `on_predict`: it is the one that Predict shows. `prediction`: None while its anchor isn't known or where nothing can
    be predicted. `refusal`: why nothing can be predicted from it, one line; empty if something can.
    """

    held: Held
    on_predict: bool = False
    prediction: Prediction | None = None
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def name(self) -> str:
        """As shown."""
        return self.held.name


def listed(resources: Resources) -> list[Candidate]:
    """List what Predict shows, the visitor's own, samples as picked, one that a link chooses, and networks by name."""
    state, shown = session.compare, profile_in_slot(resources, session.profile)
    predicts = [] if shown.is_custom else [shown.key]
    inspected = [] if state.inspect in (None, ON_PREDICT) else [state.inspect]
    custom = list(session.custom.profiles.values())
    taken = {held.name for held in custom}
    samples = []
    for key in dict.fromkeys((*predicts, *state.compare_samples, *inspected)):
        held = profile_to_predict(resources) if key in predicts else resources.samples[key]
        samples.append(replace(held, name=f"{held.name} (sample)" if held.name in taken else held.name))
    first = len(predicts)
    batch_size = shown.profile.meta.batch_size or session.file.net_batch
    networks = {held.key: held for held in (named_network(name, batch_size) for name in state.compare_networks)}
    networks.pop(shown.key, None)
    every = (*samples[:first], *custom, *samples[first:], *networks.values())
    return [Candidate(held, held.key == shown.key) for held in every]


def compare(resources: Resources, candidates: Sequence[Candidate], shown: Predicted | None = None) -> list[Candidate]:
    """Predict all of them; a latency that makes no sense is not used, with a warning.

    `shown`: what Predict shows of its profile: with a latency that the visitor trusts and their own measurements.
    """
    how = session.how.answers(ProfileQuestion)
    questions = [
        ProfileQuestion(profile=held.profile, anchor=held.anchor, latency_ms=held.latency_ms, **how)
        for held in (candidate.held for candidate in candidates)
    ]
    predictions = answer_compare(resources, questions)
    compared = []
    for candidate, answer in zip(candidates, predictions, strict=True):
        prediction, doubt = answer.prediction, answer.doubt
        if prediction is None:
            compared.append(replace(candidate, warnings=answer.profile.warnings, refusal=answer.refusal))
            continue
        if candidate.on_predict and shown is not None:
            prediction, doubt = shown.training.prediction, f"{shown.doubt} Predicted without it." if shown.doubt else ""
        warnings = (*([doubt] if doubt else []), *besides_steps(prediction.warnings, candidate.held))
        compared.append(replace(candidate, prediction=prediction, warnings=warnings))
    return compared


_PREFIX, _WIDGET = "compare", "inspected"


def chosen_of(compared: Sequence[Candidate]) -> Candidate:
    """Return the profile that is edited and looked into: the chosen one, Predict's, the visitor's newest, the first."""
    by_key = {candidate.held.key: candidate for candidate in compared}
    custom = [candidate for candidate in compared if candidate.held.is_custom]
    usual = (*(candidate for candidate in compared if candidate.on_predict), *custom[-1:], compared[0])[0]
    return by_key.get(session.compare.inspect or session.compare.inspect_custom or "", usual)


def edit_profiles(
    resources: Resources, compared: Sequence[Candidate], chosen: Candidate, toolbar: DeltaGenerator
) -> None:
    """Show the list, the chosen one's fields, and where more come from; folded until something is to be done."""
    state, notes = session.compare, notes_on(_PREFIX)
    inside = state.view == "inside"
    waiting = any(candidate.prediction is None for candidate in compared) or bool(notes.errors or notes.infos)
    # By its key it stays open when the number in its label changes.
    panel = st.expander(f"Profiles ({len(compared)})", expanded=waiting, icon=":material/list:", key="profiles")
    left, right = panel.columns(2, gap="medium")
    names = {candidate.held.key: candidate.name if inside else plain(candidate.name) for candidate in compared}
    st.session_state[_WIDGET] = chosen.held.key
    listed: dict[str, Any] = {
        "options": tuple(names),
        "format_func": lambda key: names.get(key, ""),
        "key": _WIDGET,
        "on_change": lambda: _choose(st.session_state[_WIDGET]),
    }
    if inside:
        toolbar.selectbox("Profile", **listed, width=320)
    else:
        left.radio("Profile", **listed, captions=[_facts(resources, candidate) for candidate in compared])
    with left if inside else right:
        _show_chosen(resources, chosen)
    with right:
        upload_input(_PREFIX)
        read_uploads(resources, _PREFIX, lambda _, last: _choose(last.key))
        show_notes(_PREFIX)
        some_of(
            "compare_samples",
            tuple(resources.samples),
            format_func=lambda name: sample_label(resources.samples[name]),
            placeholder="Add a sample",
            select_all=False,
            wrap=True,
            on_change=lambda: setattr(state, "inspect", next(reversed(state.compare_samples), None)),
        )
        some_of(
            "compare_networks",
            list(dict.fromkeys((*named_networks(), *state.compare_networks))),
            placeholder="Add a network",
            accept_new_options=True,
            # Enter takes the network that is typed, not all that match.
            select_all=False,
            max_selections=_MAX_NETWORKS,
            wrap=True,
            help="At the batch size of the first one above.",
        )
        record_link()


def _choose(key: str) -> tuple[str, ...]:
    sample = key not in session.custom.profiles and not key.startswith("network:")
    session.compare.inspect, session.compare.inspect_custom = (key, None) if sample else (None, key)
    return ()


def _facts(resources: Resources, candidate: Candidate) -> str:
    """Anchor, sizes, framework and latency, and similarity to the training data, as far as they are known."""
    held, similarity = candidate.held, candidate.prediction and candidate.prediction.similarity
    meta = held.profile.meta
    facts = (
        "**on Predict**" if candidate.on_predict else "",
        "" if held.sample is None else "sample",
        plain(resources.anchor_label(held.anchor)) if held.anchor else "**no anchor yet**" * held.is_custom,
        f"batch {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} px" if meta.pixels else "",
        plain(meta.framework or ""),
        unbroken(f"{format_ms(held.latency_ms)}/step") if held.latency_ms is not None else "",
        "**no prediction**" if candidate.refusal else "",
        f"{similarity.words} the training data" if similarity else "",
    )
    return " · ".join(filter(None, facts))


def _show_chosen(resources: Resources, chosen: Candidate) -> None:
    """Fields of an uploaded profile, or a sample's description; buttons below."""
    held = chosen.held
    with st.container(border=True, gap="small"):
        if held.is_custom:
            _profile_fields(resources, held)
        elif held.sample is None:
            st.caption(f"{plain(held.name)}: a network without a profile.")
        else:
            st.markdown(f"**{plain(held.sample.title)}**")
            st.caption(f"Sample: {plain(held.sample.description)}.")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            if chosen.on_predict:
                st.page_link(page_path("predict"), label="Open in Predict", icon=":material/arrow_forward:")
            elif st.button("Use in Predict", key=f"{_PREFIX}:use", icon=":material/arrow_forward:"):
                slot = session.profile
                if held.is_custom:
                    slot.source, slot.chosen = "upload", held.key
                elif held.is_network:
                    slot.source, session.file.net_from, session.file.net = "name", "name", held.name
                    session.file.net_batch = held.profile.meta.batch_size or session.file.net_batch
                else:
                    # With its own anchor and latency even if the same one was chosen before.
                    slot.source, slot.sample, slot.shown = "sample", held.key, None
                st.switch_page(page_path("predict"))
            try:
                if held.is_network:
                    return
                # With the fields above.
                data = held.sample.data if held.sample else write_profile(with_answers(held))
                name = held.sample.path.name if held.sample else "profile.json"
                save_button("PROFET JSON", data, name, "application/json")
            except ProfileError as error:
                show_error(str(error))
            if held.is_custom:
                remove = partial(remove_profiles, held.key)
                st.button("Remove", key=f"{_PREFIX}:remove", icon=":material/delete:", type="tertiary", on_click=remove)
                remove_all_button(_PREFIX, "tertiary")


def _profile_fields(resources: Resources, custom: Held) -> None:
    name, anchor, latency = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
    anchor_key, latency_key = f"{_PREFIX}:anchor:{custom.key}", f"{_PREFIX}:latency:{custom.key}"
    # What was entered on Predict since then comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = custom.anchor, custom.latency_ms

    def recorded() -> None:
        set_recorded(custom.key, st.session_state[anchor_key], st.session_state[latency_key])

    def choose_anchor() -> None:
        set_aside(latency_key, custom.anchor, st.session_state[anchor_key], [latency_key])
        recorded()

    with name:
        rename_input(custom, _PREFIX)
    anchor.selectbox(
        "Anchor",
        resources.anchors,
        index=None,
        format_func=resources.anchor_labels().__getitem__,
        placeholder="Choose a GPU",
        key=anchor_key,
        on_change=choose_anchor,
    )
    number_field(latency_key, label="Latency (ms)", empty="optional", at=latency, on_change=recorded)
    aside_note(latency_key, custom.anchor, resources.gpu_words, recorded)
    step_questions(custom, _PREFIX, custom.latency_ms)


def with_answers(custom: Held) -> Profile:
    """One step of it, with the step latency and the visitor's other answers."""
    profile = counted(custom.profile, custom.latency_ms)
    return profile.with_meta(step_latency_ms=custom.latency_ms)


_TITLES = {"latency": "Latency (ms/step)", "images": "Images/s", "cost": f"Cost per {COSTED_STEPS:,} steps ($)"}
_WORDS: dict[str, Callable[[float], str]] = {"latency": format_ms, "images": format_significant, "cost": format_usd}
#: Names in exports.
_UNITS = {"latency": "latency_ms", "images": "images_per_s", "cost": f"cost_per_{COSTED_STEPS}_steps_usd"}
#: Profiles in the chart, and letters of their names there and in the table.
_MAX_PROFILES, _MAX_LETTERS = 8, 48
#: Networks that can be added by name; a color a profile, distinct for readers of any color vision and at least 3:1
#: against the light and the dark background.
_MAX_NETWORKS = 6
PROFILE_COLORS = ("#5454ee", "#b98f03", "#c13e80", "#589257", "#119bdf", "#915f1f", "#fc3f5a", "#9090b4")
#: Operations in the other chart, whose others are one bar; short names leave a phone room for the bars.
_MAX_OPERATIONS, _OPERATION_LETTERS = 12, 23
#: Labels of what the file says that are not just its field in words.
_LABELS = {
    "gpu": "GPU",
    "onednn": "oneDNN on the CPU",
    "step_latency_ms": "Step latency (ms)",
    "peak_memory_mib": "Peak memory (MiB)",
}


def show_comparison(resources: Resources, compared: Sequence[Candidate], toolbar: DeltaGenerator) -> None:
    """Show what can't be predicted and why, warnings, a chart, a table and downloads."""
    with toolbar:
        choice("compare_by")
        preset_choice()
        offer_buttons(resources)
    if refused := [candidate for candidate in compared if candidate.refusal]:
        lines = "\n".join(f"- **{plain(candidate.name)}**: {plain(candidate.refusal)}" for candidate in refused)
        st.error(f"No prediction for these profiles:\n{lines}", icon=":material/error:")
    if waiting := [candidate.name for candidate in compared if candidate.prediction is None and not candidate.refusal]:
        st.info(f"Choose the anchor of {plain(', '.join(waiting))} under *Profiles*.", icon=":material/help:")
    predicted = [candidate for candidate in compared if candidate.prediction is not None]
    if not predicted:
        return
    tables = compare_tables(resources, predicted)
    by_profile = [{plan.label: plan for plan in table} for table in tables]
    # The plan of the first profile that has one.
    first = {label: plan for plans in reversed(by_profile) for label, plan in plans.items()}
    rows = chosen_rows(first.values(), keep=session.compare_table.open)
    metric, chart_place = session.compare.compare_by, st.container()
    by_value = {label: _ends(plan, metric)[0] for label, plan in by_profile[0].items()}
    rows.sort(key=lambda row: by_value.get(row.label, math.inf), reverse=metric == "images")
    drawn = {row.label for row in drawn_rows(rows, keep=session.compare_table.open)}
    columns = [
        replace(INSTANCE, part="0"),
        *(_column(place, candidate.name, metric) for place, candidate in enumerate(predicted, start=1)),
        replace(PRICE, part="0", narrow_under="instance"),
    ]
    # A plan of the offer, and that of each profile.
    plan_rows: list[Any] = [(row, *(plans.get(row.label) for plans in by_profile)) for row in rows]
    shown = [line for line in in_order(plan_rows, columns, session.compare_table.sort) if line[0].label in drawn]
    drawn_plans = [*zip(*shown, strict=True)][1 : _MAX_PROFILES + 1]
    with chart_place:
        legend = {
            color: _cut(candidate.name.replace(" pixels", " px"), _MAX_LETTERS)
            for candidate, color in zip(predicted, PROFILE_COLORS, strict=False)
        }
        bars, title = comparison_bars(predicted, drawn_plans, metric), f"{_TITLES[metric]} per instance and profile"
        show_bars([BarAxis("compare-bars", _TITLES[metric])], bars, title, "compare", legend=legend)
    if len(predicted) > _MAX_PROFILES:
        st.caption(f"The chart shows the first {_MAX_PROFILES} profiles. The table has all {len(predicted)}.")
    result_table(
        plan_rows,
        columns,
        label="0.label",
        choices=session.compare_table,
        sorted_by="-profile_1" if metric == "images" else "profile_1",
        stem="profet-compare",
        title=f"{_TITLES[metric]} on every instance, one column per profile",
    )
    st.caption(f"{_TITLES[metric]}. {price_line(row.offer for row in rows)}")
    if warned := [candidate for candidate in compared if candidate.warnings and not candidate.refusal]:
        with st.expander(f"Warnings for {len(warned)} profile{'s' * (len(warned) > 1)}", icon=":material/warning:"):
            for candidate in warned:
                st.markdown("\n- ".join([f"**{plain(candidate.name)}**", *map(plain, candidate.warnings)]))


def compare_tables(resources: Resources, candidates: Sequence[Candidate]) -> list[CostTable]:
    """Of each profile, every offer that the filter leaves and it is predicted on."""
    tables = []
    for candidate in candidates:
        if (prediction := candidate.prediction) is not None:
            batch_size = candidate.held.profile.meta.batch_size or 1
            tables.append(offered_plans(resources, prediction, batch_size))
    return tables


def _ends(plan: Plan, metric: str) -> tuple[float, float | None, float | None]:
    """Milliseconds, images per second or US dollars, and both ends of the interval; None without one."""
    value, ends = value_of(plan.per(Period.STEP), metric)
    return value, *(ends or (None, None))


def _column(place: int, name: str, metric: str) -> Column:
    """One profile's values; exports have both ends and what they are based on."""
    unit = _UNITS[metric]
    ends = {f"{name}: {end}{unit}": _end_of(number, metric) for number, end in enumerate(("", "low_", "high_"))}
    return Column(
        f"profile_{place}",
        _cut(name, _MAX_LETTERS),
        _end_of(0, metric),
        lambda plan: TableCell(_WORDS[metric](_ends(plan, metric)[0]), beneath=plan.basis.word),
        read="",
        exports={**ends, f"{name}: basis": "basis.value"},
        part=str(place),
    )


def _end_of(number: int, metric: str) -> Callable[[Plan], float | None]:
    return lambda plan: _ends(plan, metric)[number]


def comparison_bars(
    candidates: Sequence[Candidate], drawn: Sequence[Sequence[Plan | None]], metric: str
) -> list[BarRow]:
    """Return a group of bars for each instance, with a bar in each profile's color, and its interval.

    `drawn`: of each profile its plan on each instance, None where it has none.
    """
    words, rows = _WORDS[metric], list[BarRow]()
    for plans in zip(*drawn, strict=True):
        # Bars without a name belong to the one above.
        name = next((plan.name for plan in plans if plan is not None), "")
        for candidate, plan, color in zip(candidates, plans, PROFILE_COLORS, strict=False):
            if plan is not None:
                value, low, high = _ends(plan, metric)
                hover = f"{plan.name_and_code}\n{candidate.name}: {words(value)}\n{plan.basis.word}"
                bar = Bar(color=color, value=value, low=low, high=high, text=words(value), hover=hover)
                rows.append(BarRow(key=f"{plan.label}:{candidate.held.key}", name=name, bars=(bar,)))
                name = ""
    return rows


def _cut(name: str, most: int) -> str:
    """Files often differ at the end: 'resnet50-run-b64.json'."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def show_inside(resources: Resources, candidate: Candidate) -> None:
    """Show what limits the step, each operation's time, what the file says, and how the models see each one."""
    if isinstance(network := candidate.held.read, NetworkProfile) and network.counts is not None:
        counts = network.counts
        facts = {
            "Layers": counts.layers.all,
            "Parameters": counts.parameters,
            "FLOPs per image (forward)": counts.flops.all,
            "Values between layers, per image": counts.elements.all,
        }
        show_table([{"": name, "Value": plain(f"{value:,.0f}")} for name, value in facts.items()], "Network")
        return
    answer = answer_inside(resources, candidate.held.profile, candidate.held.latency_ms)
    for line in answer.warnings:
        show_warning(line)
    if (diagnosis := answer.diagnosis).kind != "no GPU":
        partly = diagnosis.gpu_busy_share is not None and diagnosis.gpu_busy_share < MOSTLY_BUSY
        show = st.warning if not diagnosis.another_gpu_helps else st.info if partly else st.success
        show(plain(diagnosis.sentence), icon=":material/speed:")
        if not diagnosis.latency_known:
            st.caption("From the profile alone. Enter its latency for a better diagnosis.")
    rows = _time_bars(answer.operations)
    show_bars([BarAxis("operations", "Operations by time (ms)")], rows, "Operations by time", "operation-bars")
    show_legend({row.bars[0].color for row in rows}, {BLUE: "GPU", ORANGE: "host", GRAY: "all others"})
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


def _time_bars(rows: Sequence[Placement]) -> list[BarRow]:
    """Return the longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    groups = [(row.operation, BLUE if row.on_device else ORANGE, [row]) for row in busy[:_MAX_OPERATIONS]]
    if rest := busy[_MAX_OPERATIONS:]:
        groups.append((f"{len(rest)} other{'s' * (len(rest) > 1)}", GRAY, rest))
    bars = []
    for operation, color, group in groups:
        time_ms, share = sum(row.time_us for row in group) / US_PER_MS, sum(row.share or 0.0 for row in group)
        name = _cut(operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX), _OPERATION_LETTERS)
        bar = Bar(color=color, value=time_ms, text=f"{share:.1%}", hover=f"{operation}: {format_ms(time_ms)}")
        bars.append(BarRow(key=operation, name=name, bars=(bar,)))
    return bars


def _fact_rows(profile: Profile) -> list[dict[str, str]]:
    """Format, steps and meta."""
    facts = {
        "Format": profile.source_format,
        "Steps": steps_words(profile) + ("" if profile.steps == 1 else "; times are of one"),
        "Operation types": f"{len(profile.operations)}",
    }
    for field, value in dataclasses.asdict(profile.meta).items():
        label = _LABELS.get(field, field.capitalize().replace("_", " "))
        if value is None or isinstance(value, bool):
            facts[label] = {None: "unknown", True: "yes", False: "no"}[value]
        else:
            facts[label] = f"{value:,}" if isinstance(value, int | float) else str(value)
    return [{"": name, "Value": plain(words)} for name, words in facts.items()]


def _place(name: str | None, is_known: bool, otherwise: str) -> str:
    """Where an operation's time went, and how if the models never saw it."""
    if name is None:
        return MISSING
    return name.removeprefix(DEVICE_PREFIX) if is_known else f"{name.removeprefix(DEVICE_PREFIX)} ({otherwise})"
