"""What Predict shows: cards, the paired bar charts, the scatter chart, and the details of one instance."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from profet_core.answers.advise import AdviseAnswer
from profet_core.answers.by_layers import NetworkPrediction
from profet_core.catalog.collection import is_custom
from profet_core.catalog.gpus import is_half
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    ON_DEMAND,
    RETIRED_MARK,
    cloud_words,
    gpu_words,
    price_source,
    price_words,
)
from profet_core.catalog.launch import Launch, launch_of
from profet_core.errors import Code
from profet_core.latency import BasisWord
from profet_core.prediction.scaler import axis_range
from profet_core.training.memory import does_not_fit
from profet_core.training.plans import COSTED_STEPS, Limits, Period, Plan
from profet_core.training.recommend import (
    Goal,
    Recommendation,
    Recommended,
    compare,
    frontier,
    others_of_gpus,
)
from profet_core.training.words import (
    alternative_sentence,
    breakdown_line,
    card_title,
    closest_sentence,
    comparison_sentences,
    skipped_sentence,
)
from profet_profiles.units import (
    S_PER_HOUR,
    TimeUnit,
    format_certainty,
    format_duration,
    format_ms,
    format_significant,
    format_usd,
    format_usd_range,
    shared_time_unit,
)
from ui.bars import Bar, BarAxis, BarRow, show_bars
from ui.charts import (
    COLORS,
    GRAY,
    RED,
    Figure,
    Part,
    framed,
    line_at,
    no_markup,
    show_chart,
    show_legend,
    text_color,
)
from ui.curves import Shown
from ui.fields import choice, number_field, select
from ui.first_paint import keep_bars
from ui.predicted import Predicted
from ui.resources import Resources
from ui.session import DEFAULT_METHOD, LINKED, USUAL_PLAN, session
from ui.words import plain, sentence, unbroken

Ends = tuple[float, float] | None
Words = Callable[..., str]
#: A limit this many times beyond all plans is not drawn: it would leave no room for them.
_IN_SIGHT = 3.0
#: Pixels of a side of the plot on a phone and of its vertical axis, and of a label's letter and line, letters at most.
_PHONE_PX, _AXIS_PX, _LETTER_PX, _LINE_PX, _MAX_LETTERS = 265, 60, 6, 12, 24
#: Where a label stands beside its point: to its left or right, and lines above. Nothing lies below and left of the
#: frontier.
_PLACES = {"bottom left": (-1, -1), "middle left": (-1, 0), "bottom right": (1, -1), "top right": (1, 1)}


def trade_off(
    plans: Sequence[Plan],
    best: Collection[str],
    named: Collection[str] = (),
    deadline_s: float | None = None,
    budget_usd: float | None = None,
) -> Figure:
    """Time against cost on logarithmic axes, one color per basis; a line joins the Pareto frontier.

    `plans`: with time and cost of the period that is shown. `best`: labels of the plans on the frontier. `named`: of
    more plans whose GPU is written beside them.
    """
    # Time and cost move with one latency, so an interval is a line.
    ends = [(plan.total_s, plan.total_usd) for plan in plans]
    spans = [plan.interval for plan in plans if plan.interval]
    ends += [end for span in spans for end in ((span.low_s, span.low_usd), (span.high_s, span.high_usd))]
    unit = shared_time_unit(plan.total_s for plan in plans)
    seconds = unit.seconds
    times, dollars = [time_s / seconds for time_s, _ in ends], [usd for _, usd in ends]
    _, x = Shown(f"Time ({unit.name})", format_significant).axis(times)
    _, y = Shown("Cost ($)", format_usd, prefix="$").axis(dollars)
    # Labels of the frontier stand to the left of their marks.
    x["range"] = [math.log10(min(times)) - 0.2, math.log10(max(times)) + 0.1]
    frontier = sorted((plan for plan in plans if plan.label in best), key=lambda plan: plan.total_s)
    across, up = _PHONE_PX / np.ptp(x["range"]), _PHONE_PX / np.ptp(np.log10(dollars))
    places, taken = dict.fromkeys(named, "top right"), list[tuple[float, float, float]]()
    # The endpoints first; where a label would lie on another's on a phone, it goes elsewhere or is left to hovering.
    for plan in (*frontier[:1], *frontier[-1:], *frontier[1:-1]):
        x_px, y_px = across * math.log10(plan.total_s / seconds), up * math.log10(plan.total_usd)
        width = _LETTER_PX * len(_gpu_of(plan))
        for place, (side, lines_up) in _PLACES.items():
            left, height = x_px - width * (side < 0), y_px + _LINE_PX * lines_up
            is_cut = left < across * x["range"][0] - _AXIS_PX
            if not is_cut and all(
                abs(height - at) >= _LINE_PX or left > end or left + width < start for start, end, at in taken
            ):
                taken.append((left, left + width, height))
                places[plan.label] = place
                break
    lines = [
        _line(
            "90% prediction interval",
            [value for span in spans for value in (span.low_s / seconds, span.high_s / seconds, None)],
            [value for span in spans for value in (span.low_usd, span.high_usd, None)],
            {"color": "rgba(128,128,128,0.35)", "width": 1},
        )
    ]
    if len(frontier) > 1:
        name = "Pareto frontier: nothing is both faster and cheaper"
        time, cost = [plan.total_s / seconds for plan in frontier], [plan.total_usd for plan in frontier]
        lines.append(_line(name, time, cost, {"color": GRAY, "width": 1.5, "dash": "dot"}))
    by_basis = {word: [plan for plan in plans if plan.basis.word is word] for word in COLORS}
    return framed(
        [*lines, *(_marks(points, unit, word, best, places) for word, points in by_basis.items() if points)],
        x=x,
        y=y,
        height=440,
        name="Time against cost, one point per instance",
        layout={
            "hovermode": "closest",
            "shapes": [
                *_limit("x", "deadline", deadline_s and deadline_s / seconds, times),
                *_limit("y", "budget", budget_usd, dollars),
            ],
        },
    )


def _limit(axis: str, name: str, limit: float | None, values: Sequence[float]) -> list[Part]:
    """Return a line across one axis with its name, where it leaves the plans their room."""
    if limit is None or not min(values) / _IN_SIGHT < limit < max(values) * _IN_SIGHT:
        return []
    label = {"text": name, "textposition": "end", "textangle": 0, "font": {"color": text_color()}}
    line = {"color": RED, "width": 1.5, "dash": "dash"}
    return [line_at(**{axis: limit}, line=line) | {"label": label}]


def _line(name: str, x: Sequence[float | None], y: Sequence[float | None], line: Part) -> Part:
    return {"type": "scatter", "name": name, "x": x, "y": y, "mode": "lines", "line": line, "hoverinfo": "skip"}


def _gpu_of(plan: Plan) -> str:
    name = plan.name.partition(" · ")[0]
    # All of it is under the pointer; on a phone it would leave the chart.
    return no_markup(name if len(name) <= _MAX_LETTERS else f"{name[: _MAX_LETTERS - 1].rstrip()}…")


def _marks(
    points: Sequence[Plan], unit: TimeUnit, word: BasisWord, best: Collection[str], places: Mapping[str, str]
) -> Part:
    """Return the points of a basis; `places`: label -> where its GPU is written."""
    return {
        "type": "scatter",
        "name": word,
        "x": [plan.total_s / unit.seconds for plan in points],
        "y": [plan.total_usd for plan in points],
        "text": [_gpu_of(plan) if plan.label in places else "" for plan in points],
        "textposition": [places.get(plan.label, "top right") for plan in points],
        "mode": "markers+text",
        "marker": {
            "color": COLORS[word],
            "size": [13 if plan.label in best else 9 for plan in points],
            "opacity": 1,
        },
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "customdata": [plan.label for plan in points],
        "hovertext": [
            f"{no_markup(plan.name_and_code)}<br>{unit.words(plan.total_s)}<br>{format_usd(plan.total_usd)}"
            for plan in points
        ],
        "hoverinfo": "text",
    }


def show_cards(recommended: Recommended, per: Period) -> None:
    """One card per recommended plan, and which plans were skipped."""
    if recommended.none_meets:
        st.warning(plain(closest_sentence(recommended)), icon=":material/timer_off:")
    unit = per.unit(recommended.plans)
    for column, card in zip(st.columns(len(Goal)), recommended.cards, strict=False):
        is_choice = Goal.BALANCE in card.goals and len(recommended.choices) > 1
        help_text = "The lowest product of time and cost." if is_choice else None
        text = "  \n".join(_lines(recommended, card, per, unit))
        column.container(border=True, height="stretch").markdown(text, help=help_text)
    lines = [skipped_sentence(plan, recommended.limits, _totals(plan, per, unit)) for plan in recommended.skipped]
    if lines:
        st.caption(plain(" ".join(lines)))


def _totals(plan: Plan, per: Period, unit: TimeUnit) -> str:
    return f"{unit.words(plan.per(per).total_s)}, {format_usd(plan.per(per).total_usd)}{per.cost_suffix}"


def _lines(recommended: Recommended, card: Recommendation, per: Period, unit: TimeUnit) -> list[str]:
    plan, shown = card.plan, card.plan.per(per)
    ends, likely, limited = shown.interval, plan.within_limits, recommended.limits.given and not recommended.none_meets
    time, cost = unit.words(shown.total_s), f"{format_usd(shown.total_usd)}{per.cost_suffix}"
    numbers = [
        _number(cost, ends and format_usd_range(*ends.usd).removeprefix("$")),
        _number(time, ends and unit.range_words(*ends.seconds).removesuffix(f" {unit.name}")),
    ]
    if card.goals[0] is Goal.FASTEST:
        numbers.reverse()
    # The other unit of a long training.
    days = format_duration(shown.total_s) if shown.total_s >= _DAYS_FROM_S and unit.seconds == S_PER_HOUR else ""
    price = f"{format_usd(plan.offer.usd_per_hour)}/h"
    small = [" · ".join([f"{days} at {price}" if days else price, plan.code])]
    if card.alternative is not None:
        small.append(alternative_sentence(card, _totals(card.alternative, per, unit)))
    if limited and likely is not None:
        small.append(f"Meets your limits: {format_certainty(likely)} likely")
    small += [sentence(note) for note in (plan.loading_note, plan.fit_note) if note]
    return [
        f"{card_title(recommended, card)}: **{plain(plan.name)}**",
        " · ".join(numbers),
        *(f":small[{unbroken(line)}]" for line in small),
    ]


def _number(words: str, ends: str | None) -> str:
    """Return a number, and behind it its range, in its unit."""
    return f"**{plain(words)}**" + (f" :small[({plain(ends)})]" if ends else "")


def show_none(rows: Sequence[Plan], batch_size: int | None) -> None:
    """Why no row has a number; where memory is the reason, the largest batch that fits and a button that sets it."""
    batches = [row.fit.largest_batch or 0 for row in rows if row.fit is not None and does_not_fit(row.fit)]
    largest = max(batches, default=0)
    if len(batches) < len(rows) or batch_size is None or largest < axis_range("batch")[0]:
        st.info("No instance here has a number. Choose another preset or widen the filter.", icon=":material/info:")
        return
    gpus = dict.fromkeys(gpu_words(row.offer) for row in rows if row.fit and row.fit.largest_batch == largest)
    text = f"At batch {batch_size:,} nothing here fits in memory; the largest is {largest:,} ({', '.join(gpus)})."
    st.info(plain(text), icon=":material/memory:")
    st.button(f"Use batch {largest:,}", on_click=partial(setattr, session.training, "at_batch", largest))


#: From two days on, hours are written as days too.
_DAYS_FROM_S = 48 * S_PER_HOUR
_TIME = {Period.STEP: "Latency per step", Period.EPOCH: "Time per epoch", Period.TRAINING: "Training time"}
_COST = {
    Period.STEP: f"Cost per {COSTED_STEPS:,} steps",
    Period.EPOCH: "Cost per epoch",
    Period.TRAINING: "Training cost",
}
#: What an anchor's latency is, whoever measured it.
_ANCHOR = f"{BasisWord.MEASURED} (anchor)"
#: Rows that show before all are asked for, beside the anchor and the visitor's own.
_FEW_ROWS = 10


def show_plan_bars(
    rows: Sequence[Plan],
    recommended: Recommended,
    profiled: Mapping[str, Plan],
    per: Period,
    limits: Limits,
    level: float,
) -> None:
    """Cost and time of each row side by side, the recommended rows above the others.

    `profiled`: label -> plan at the profiled size, where another one is shown.
    """
    plans = [row for row in rows if row.has_number]
    unit = per.unit(plans)
    tags = {} if len(recommended.choices) == 1 else {card.plan.label: _tag(card.goals) for card in recommended.cards}
    ordered = sorted(rows, key=lambda row: row.label not in tags)
    names, drawn = [row.name for row in ordered], list[BarRow]()
    for number, (row, name) in enumerate(zip(ordered, names, strict=True)):
        bars: tuple[Bar, ...] = (Bar(text=why_not(row)),) * 2
        if row.has_number:
            bars = _pair(row, name, profiled.get(row.label), per, unit)
        is_own = row.is_anchor or is_custom(row.offer)
        marks = (
            *([RETIRED_MARK.strip()] if RETIRED_MARK in name else []),
            # The machine's code where the name does not tell two rows apart.
            *([row.code] if names.count(name) > 1 else []),
            *(["(anchor)"] if row.is_anchor else []),
        )
        tag, is_kept = tags.get(row.label, ""), number < _FEW_ROWS or is_own
        drawn.append(
            BarRow(
                key=row.label,
                name=name.removesuffix(RETIRED_MARK),
                bars=bars,
                marks=marks,
                tag=tag,
                bold=bool(tag) or row.is_anchor,
                first=bool(tag),
                kept=is_kept,
            )
        )
    limited = per is Period.TRAINING
    axes = (
        BarAxis("cost-bars", f"{_COST[per]} ($)", "$", limits.budget_usd if limited else None, "budget"),
        BarAxis(
            "latency-bars",
            f"{_TIME[per]} ({unit.name})",
            limit=limits.deadline_s / unit.seconds if limited and limits.deadline_s else None,
            limit_name="deadline",
        ),
    )
    keep_bars(axes, drawn)
    show_bars(axes, drawn, f"{_COST[per]} and {_TIME[per].lower()} per instance", "bars", session.predict_table.choose)
    words = {color: f"{word}: {word.words}" for word, color in COLORS.items()}
    if all(plan.is_anchor for plan in plans if plan.basis.is_exact):
        words[COLORS[BasisWord.MEASURED]] = _ANCHOR
    more = [f"├─┤ {level:.0%} prediction interval", *(["│ at the profiled size"] if profiled else [])]
    more += ["▨ waits for data"] if any(plan.waiting for plan in plans) else []
    more += ["▧ may not fit in memory"] if any(plan.fit_chance < limits.certainty for plan in plans) else []
    shown = {row.bars[0].color for row in drawn if row.bars[0].value is not None}
    show_legend(shown, words, *(text.replace(" ", "\N{NO-BREAK SPACE}") for text in more))


def _tag(goals: Sequence[Goal]) -> str:
    """Say what a row is recommended for."""
    return "Best" if len(goals) == len(Goal) else ", ".join(goals).capitalize()


def _pair(plan: Plan, name: str, profiled: Plan | None, per: Period, unit: TimeUnit) -> tuple[Bar, ...]:
    """Return the bars of cost and time that a period has of a plan; `profiled`: it at the profiled size."""
    shown, usual = plan.per(per), profiled and profiled.per(per)
    offer, ends, basis = plan.offer, shown.interval, plan.basis.word
    # A sample's latency on its anchor was measured by others than the visitor.
    basis_words = _ANCHOR if plan.is_anchor and basis is BasisWord.MEASURED else basis
    date = f"{offer.as_of}, {offer.market}" if offer.as_of else offer.market
    facts = [f"{format_usd(offer.usd_per_hour)}/h ({date})", basis_words, plan.note]
    title, usual_ends = f"{name} ({plan.code})", usual and usual.interval

    def bar(value: float, ends: Ends, words: Words, range_words: Words, before: Sequence[float], seconds: float) -> Bar:
        text = words(value)
        return Bar(
            color=COLORS[basis],
            value=value / seconds,
            low=ends and ends[0] / seconds,
            high=ends and ends[1] / seconds,
            text=text,
            dimmed=plan.table.excess.item(plan.number) > 1,
            waiting=plan.waiting,
            doubtful=plan.fit_chance < plan.table.limits.certainty,
            hover="\n".join(filter(None, [title, f"{text} ({range_words(*ends)})" if ends else text, *facts])),
            usual=before[0] / seconds if before[0] else None,
            usual_end=before[1] / seconds,
        )

    times, costs = (0.0, 0.0), (0.0, 0.0)
    if usual is not None:
        times = usual.total_s, usual_ends.high_s if usual_ends else usual.total_s
        costs = usual.total_usd, usual_ends.high_usd if usual_ends else usual.total_usd
    return (
        bar(shown.total_usd, ends and ends.usd, format_usd, format_usd_range, costs, 1.0),
        bar(shown.total_s, ends and ends.seconds, unit.words, unit.range_words, times, unit.seconds),
    )


def show_scatter(rows: Sequence[Plan], per: Period, limits: Limits) -> None:
    """Time against cost; the frontier is explained in the legend."""
    plans = [row for row in rows if row.has_number]
    if plans:
        best = {plan.label for plan in frontier(plans)}
        anchors = {row.label for row in rows if row.is_anchor}
        limited = (limits.deadline_s, limits.budget_usd) if per is Period.TRAINING else ()
        figure = trade_off([plan.per(per) for plan in plans], best, anchors, *limited)
        show_chart(figure, "trade-off", session.predict_table.choose)


def why_not(row: Plan) -> str:
    """Why a row has no number: "doesn't fit; largest batch 48"."""
    if row.fit is not None and does_not_fit(row.fit):
        return row.fit.description
    return "Enter a step time (3) to see this GPU" if row.is_anchor else row.reason


#: Other offers of the same GPU that are named; the table has them all.
_ALSO_NAMED = 8


#: The prediction, the training, and the rows that show.
Answered = tuple[Predicted, AdviseAnswer, Sequence[Plan]]


def opened_row(rows: Sequence[Plan], label: str) -> Plan | None:
    """Return the row of a label; a price of the visitor's own changes an on-demand row's, which is its instance."""
    by_label = {row.offer.name: row for row in reversed(rows)} | {row.label: row for row in rows}
    return by_label.get(label)


def show_details(
    resources: Resources, opened: Plan, per: Period, ask: Callable[[], Answered], write_link: Callable[[], None]
) -> None:
    """Open the dialog of one row. It asks again after each number typed in it; closing it draws the page."""

    @st.dialog(opened.name, width="large", on_dismiss=session.predict_table.choose)
    def dialog() -> None:
        network, _, rows = ask()
        write_link()
        row = opened_row(rows, opened.label) or opened_row(rows, opened.offer.name) or opened
        plans = [row for row in rows if row.has_number]
        st.caption(plain(row.code))
        if not row.has_number:
            st.info(plain(f"No number: {why_not(row)}."), icon=":material/info:")
        else:
            facts = _facts(network, plans, row)
            unit = per.unit(plans)
            # As on its card and its bars.
            shown = row.per(per)
            time, cost = unit.words(shown.total_s), f"{format_usd(shown.total_usd)}{per.cost_suffix}"
            if (ends := shown.interval) is not None:
                time += f" ({unit.range_words(*ends.seconds)})"
                cost += f" ({format_usd_range(*ends.usd)})"
            facts = {LINKED["per"].options[per]: plain(f"{time}, {cost}")} | facts
            st.markdown("\n".join(f"- **{title}**: {words}" for title, words in facts.items() if words))
        _corrections(resources, network, row)
        if row.has_number:
            _against(plans, row)
            with st.expander("Rent it"):
                _rent(launch_of(row.offer, resources.gpus.get(row.offer.gpu)))
            if lines := _computed(resources, network, row):
                with st.expander("How was this computed?"):
                    st.markdown("\n".join(f"- {line}" for line in lines))

    dialog()


def _rent(launch: Launch) -> None:
    """Show the provider's page, what is known of the offer, and a task to copy."""
    link = f"[The provider's page]({launch.page}) · " if launch.page else ""
    st.markdown(f"{link}{plain(sentence(launch.availability))}. {launch.checklist}".strip())
    tasks = {"SkyPilot": launch.skypilot, "dstack": launch.dstack}
    for name, task in tasks.items():
        if task:
            st.caption(f"{name} task")
            st.code(task, language="yaml")


def _corrections(resources: Resources, network: Predicted, row: Plan) -> None:
    """Ask for a price of the visitor's own, and a latency they measured there."""
    price, measured = st.columns(2, gap="medium")
    name, listed = row.offer.name, format_usd(resources.catalog[row.offer.name].usd_per_hour)
    tip = "Replaces the list price. Empty: the list price."
    with price:
        _number_there("Your price ($/h)", "price", name, f"list price: {listed}", tip)
    if not row.is_anchor:
        tip = "It replaces the prediction there, and corrects this GPU's at other sizes and on other machines."
        second = session.network.second and session.network.measured_at == "other"
        batch_size, pixels = network.training.predictions[-1 if second else 0].sizes
        size = ", ".join([f"batch {batch_size:,}"] * bool(batch_size) + [f"{pixels} px"] * bool(pixels))
        with measured:
            label = f"Your step time{size and f' at {size}'} (ms)"
            _number_there(label, "measured", name, "not measured", tip)
            if session.network.second and name in session.network.measured:
                choice("measured_at")


def _number_there(label: str, numbers: str, instance: str, empty: str, tip: str) -> None:
    """Ask for the visitor's number for one instance; `numbers`: key of those for all."""
    key = f"{numbers}_{instance}"
    st.session_state[key] = st.session_state[numbers].get(instance)

    def take() -> None:
        given = st.session_state[numbers] | {instance: st.session_state[key]}
        st.session_state[numbers] = {name: number for name, number in given.items() if number is not None}

    number_field(key, label=label, empty=empty, help=tip, on_change=take)


def _facts(network: Predicted, plans: Sequence[Plan], plan: Plan) -> dict[str, str]:
    offer = plan.offer
    per_gpu = "" if offer.gpu_count == 1 else f" for {offer.gpu_count} GPUs, {format_usd(offer.usd_per_gpu_hour)} each"
    step = format_ms(plan.latency_ms)
    if network.batch_size is not None:
        step += f" at batch size {plan.batch_size}, {plan.images_per_s:,.0f} images/s"
    # 'Estimated from the specs and published training speeds of B200, in TF32.'
    source = next((part for part in plan.row.note.split("; ") if part.startswith("from ")), None)
    corrected = (note for note in network.training.warnings if note.code is Code.CORRECTED)
    return {
        "Price": f"{plain(f'{format_usd(offer.usd_per_hour)}/h{per_gpu}')} ({price_source(offer)})",
        "Step": plain(step),
        "Basis": plain(f"{plan.basis.words if source is None else f'{plan.basis.word} {source}'}."),
        "All costs": plain(breakdown_line(plan)),
        "Measured there": _measured_line(network, plan.instance),
        "Corrected": " ".join(plain(note) for note in corrected if note.values["instance"] == plan.instance),
        "Memory": "" if plan.fit is None else plain(sentence(plan.fit.description)),
        "Also at": plain(_also_at(plans, plan)),
        "Note": plain(sentence("; ".join(filter(None, (plan.node_note, plan.loading_note))))),
    }


def _computed(resources: Resources, network: Predicted, plan: Plan) -> list[str]:
    """Return what the step and the memory verdict are computed from."""
    prediction = network.training.prediction
    lines = [sentence(part) for part in plan.row.note.split("; ") if part]
    if isinstance(prediction, NetworkPrediction):
        lines += [] if plan.fit is None else [f"Memory: {plan.fit.why}"]
        return [plain(f"{line}.") for line in lines]
    rows = [step for step in prediction.predictions if step.instance == plan.instance and step.members]
    method = resources.models.method(prediction.method)
    rule = method.rules[prediction.anchor_latency_ms is not None]
    if members := ", ".join(f"{name} {format_ms(ms)}" for step in rows for name, ms in step.members.items()):
        lines.append(f"Models, at the profile's size: {members} ({rule.words})")
    if plan.fit is not None:
        lines.append(f"Memory: {plan.fit.why}")
    return [plain(f"{line}.") for line in lines]


def _also_at(plans: Sequence[Plan], plan: Plan) -> str:
    """Who else offers as many of these GPUs, and for how much an hour, the cheapest first."""
    others = sorted((other.offer for other in others_of_gpus(plans, plan)), key=lambda offer: offer.usd_per_hour)
    named = []
    for offer in others[:_ALSO_NAMED]:
        who = offer.name if offer.provider == CUSTOM_PROVIDER else cloud_words(offer.provider)
        market = "" if offer.market == ON_DEMAND else f" {offer.market}"
        named.append(f"{who}{market} {price_words(offer)}")
    return ", ".join(named) + (f" and {len(others) - _ALSO_NAMED} more" if len(others) > _ALSO_NAMED else "")


def _measured_line(network: Predicted, instance: str) -> str:
    """For a sample with known truth: what was measured there, beside models that never saw its architecture."""
    sample, prediction = network.held.sample, network.training.prediction
    given_ms = prediction.anchor_latency_ms
    if (
        sample is None
        or instance not in sample.left_out_ms
        or prediction.anchor != sample.anchor
        or given_ms not in (None, sample.latency_ms)
        or is_half(prediction.precision)
        or session.how.method != DEFAULT_METHOD
    ):
        return ""
    predicted_ms = (sample.left_out_without_latency_ms if given_ms is None else sample.left_out_ms)[instance]
    measured_ms = sample.measured_ms[instance]
    off = f"{100 * (predicted_ms / measured_ms - 1):+.1f}%"
    return unbroken(
        f"{format_ms(measured_ms)}/step; models that never saw {sample.model} predict {format_ms(predicted_ms)} ({off})"
    )


def _against(plans: Sequence[Plan], plan: Plan) -> None:
    """Show the plan beside another one: the cheapest, until another is chosen."""
    others = sorted((other for other in plans if other != plan), key=lambda other: other.total_usd)
    if not others:
        return
    by_label = {USUAL_PLAN: others[0], **{other.label: other for other in others[1:]}}
    if session.predict.against not in by_label:
        session.predict.against = USUAL_PLAN
    select("against", {label: other.name_and_code for label, other in by_label.items()})
    comparison = compare(plan, by_label[session.predict.against or USUAL_PLAN])
    st.markdown("\n".join(f"- {unbroken(line)}" for line in comparison_sentences(comparison)))
