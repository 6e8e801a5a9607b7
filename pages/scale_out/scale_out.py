"""Scale out: what more GPUs do to a step, to time and to money, and which real machines have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import streamlit as st

from pages.scale_out.columns import out_columns, row_key
from pages.scale_out.figure import OutCurve, out_curves
from pages.scale_out.inputs import out_inputs
from pages.scale_out.rows import OutRow, Question, counts_of, rows_of
from pages.scale_out.source import PredictedSteps, Source, typed_step
from profet_core.accuracy.scaleout import ScaleoutAccuracy
from profet_core.advice.sureness import plan_sureness
from profet_core.advice.whole_nodes import Gradients
from profet_core.answers.advise import NO_SCALEOUT
from profet_core.catalog import Instance
from profet_core.catalog.interconnects import load_interconnects
from profet_core.catalog.naming import machine_words
from profet_core.catalog.offers import NoOffersError
from profet_core.errors import ArtifactError, InputError
from profet_core.latency import StepTime
from profet_core.memory.fit import does_not_fit
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.offers import stops_paying
from profet_core.scaleout.strategies import Strategy
from ui.charts.style import show_chart
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.narrowing import chosen_narrowing, narrowing_input
from ui.inputs.network import size_questions
from ui.inputs.offers import chosen_offers
from ui.inputs.parameters import chosen_gradients
from ui.inputs.recorded import latency_question
from ui.inputs.table_rows import plans_with_a_row, rows_choice
from ui.measured_accuracy import scaleout_accuracy_of
from ui.notices import show_notices
from ui.paths import page_path
from ui.predicted.network import current_network
from ui.result_table.show import result_table
from ui.state.page_keys import scale_out_keys
from ui.state.resources import Resources
from ui.state.settings import OUT_SHOWS, SCALE_OUT_TABLE, STRATEGIES
from ui.state.slots import PROFILE_SLOT
from ui.texts import plain, unbroken

_SHOWS_LABELS = {"speed_up": "Speed-up", "step": "Step", "time": "Time", "cost": "Cost"}


def body(resources: Resources) -> None:
    """Draw the page."""
    with st.sidebar:
        out_inputs(resources)
    st.title("What do more GPUs do?")
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choice("Show", "out_shows", OUT_SHOWS, _SHOWS_LABELS)
        narrowing_input(resources)
        rows_place = st.container(width="content")
    model = resources.models.scaleout
    if model is None:
        raise InputError(NO_SCALEOUT)
    source = _source(resources)
    if source is None:
        st.info("Give a step's time on one GPU and say which, in the sidebar (»), to see what more of them do.")
        return
    gradients = chosen_gradients(source.meta, source.pixels, st.session_state["gradients"])
    if gradients is None:
        st.info("Say in the sidebar (») which network it is, or how many parameters it has: so much do GPUs share.")
        return
    question = _question(model, source, gradients)
    offers = chosen_offers(resources, every_node=True)
    rows = rows_of(question, offers, st.session_state["gpus"])
    if not rows:
        raise InputError(_why_none(question, offers))
    rows = _as_sure_as_wanted(resources, rows)
    with rows_place:
        rows_choice([row.plan for row in rows])
    opened = next((row for row in rows if row_key(row) == SCALE_OUT_TABLE.open_row), None)
    chosen = opened or rows[0]
    _show_curves(question, chosen)
    _table(resources, rows, opened)


def _source(resources: Resources) -> Source | None:
    if st.session_state["one_gpu"] == "typed":
        return typed_step()
    network = current_network(resources)
    latency_question(resources, PROFILE_SLOT, network.outcome)
    size_questions(network.outcome.held, pixels_too=st.session_state["pixels"] is not None)
    show_notices(network)
    return PredictedSteps(resources, network, st.session_state["batch"] or network.sure_batch_size)


def _question(model: ScaleoutModel, source: Source, gradients: Gradients) -> Question:
    state = st.session_state
    kept = state["batch_of_all"] or source.batch_size if state["batch_kept"] == "all" else None
    return Question(model, source, gradients, state["strategy"], kept, state["images"], state["validation_images"])


def _as_sure_as_wanted(resources: Resources, rows: Sequence[OutRow]) -> list[OutRow]:
    """Those whose time and money are as sure as the narrowing asks.

    Raises
    ------
    NoOffersError : there are none; one line that says how sure the surest is.
    """
    narrowing = chosen_narrowing(resources)
    steps = [plan_sureness(row.plan) for row in rows]
    found = [row for row, step in zip(rows, steps, strict=True) if step >= narrowing.least_sureness]
    if not found:
        raise NoOffersError(f"No number is {narrowing.sureness}: the surest is {max(steps).word}.")
    return found


def _why_none(question: Question, offers: Sequence[Instance]) -> str:
    """Why no offer has a row, and what to do."""
    gpus = st.session_state["gpus"]
    if gpus is None and all(offer.gpu_count == 1 for offer in offers):
        return "None of these offers has several GPUs: say in the sidebar how many machines' GPUs, or widen Offers."
    if gpus is not None and not any(gpus % offer.gpu_count == 0 for offer in offers):
        return f"No offer makes {gpus} GPUs of whole machines: choose another number, or widen Offers."
    if question.batch_of_all is not None:
        return (
            f"A batch of {question.batch_of_all} can't be shared that way: each GPU's part must be a whole number of "
            "images, at a size that its step is known at. Choose another batch, or fewer GPUs."
        )
    return "Nothing is known of a step on these offers: widen Offers, or choose another GPU."


def _show_curves(question: Question, row: OutRow) -> None:
    """Every strategy on one offer, over the number of GPUs; the chosen one with its interval."""
    state = st.session_state
    by_strategy = {name: _curve_rows(question, row, name) for name in STRATEGIES}
    chosen = by_strategy[state["strategy"]]
    curves = [
        _curve(name, rows, state["out_shows"], chosen=name == state["strategy"]) for name, rows in by_strategy.items()
    ]
    links = load_interconnects().of(row.offer)
    machine = plain(f"{machine_words(row.offer)}: {row.offer.gpu_count} × {row.offer.gpu}")
    assumed = f"; assumed: {links.assumed}" if links.assumed else ""
    st.markdown(f"**{machine}**. {unbroken(f'{links.words}{assumed}. Machines are paid whole.')}")
    last = stops_paying([one.plan.total_s for one in chosen], [one.plan.total_usd for one in chosen])
    pays_to, after = (None, None) if last is None else (one.step.gpus for one in chosen[last : last + 2])
    show_chart(out_curves(curves, state["out_shows"], pays_to=pays_to, gpus=state["gpus"]), "scale-out")
    if pays_to is not None:
        st.caption(
            unbroken(f"× Beyond {pays_to} more stop paying: {after} cost more by a larger factor than they are faster.")
        )


def _curve_rows(question: Question, row: OutRow, strategy: str) -> list[OutRow]:
    found = (question.row(row.offer, count, strategy) for count in counts_of(row.offer, row.step.gpus))
    return [row for row in found if row is not None]


def _curve(strategy: str, rows: Sequence[OutRow], shows: str, *, chosen: bool) -> OutCurve:
    ends = [_ends(row, shows) for row in rows]
    known = [pair for pair in ends if pair is not None]
    return OutCurve(
        strategy=strategy,
        gpus=[row.step.gpus for row in rows],
        values=[_value(row, shows) for row in rows],
        ends=known if len(known) == len(ends) else None,
        chosen=chosen,
    )


def _value(row: OutRow, shows: str) -> float:
    """Times as fast as one GPU, milliseconds, seconds or US dollars of an epoch."""
    return {
        "speed_up": row.step.speed_up,
        "step": row.step.latency_ms,
        "time": row.plan.total_s,
        "cost": row.plan.total_usd,
    }[shows]


def _ends(row: OutRow, shows: str) -> tuple[float, float] | None:
    """Both ends of its interval, the smaller first; of one GPU's speed-up there is none to doubt."""
    if shows == "speed_up":
        return row.step.speed_up_range or (row.step.speed_up, row.step.speed_up)
    if row.plan.interval is None or row.step.interval is None:
        # A measured step on one GPU is what it is.
        value = _value(row, shows)
        return (value, value) if row.one.basis.is_exact else None
    low, high = row.plan.interval, row.step.interval
    return {
        "step": (high.low_ms, high.high_ms),
        "time": (low.low_s, low.high_s),
        "cost": (low.low_usd, low.high_usd),
    }[shows]


def _table(resources: Resources, rows: Sequence[OutRow], opened: OutRow | None) -> None:
    kept = [opened.plan] if opened else []
    shown = plans_with_a_row([row.plan for row in _in_question(rows, opened)], kept)
    gpus = st.session_state["gpus"]
    result_table(
        [row for row in rows if row.plan in shown],
        out_columns(),
        key=SCALE_OUT_TABLE.table,
        stem="profet-scale-out",
        title="Real machines with several GPUs" if gpus is None else f"Real machines that make {gpus} GPUs",
        row_key=row_key,
    )
    _rests_on(resources, (opened or rows[0]).one)


def _in_question(rows: Sequence[OutRow], opened: OutRow | None) -> Sequence[OutRow]:
    """Those that may stand for others: where a step fits, as far as that is known. All rows, where they are wanted."""
    fitting = [row for row in rows if row is opened or not does_not_fit(row.fit)]
    return rows if st.session_state["rows"] == "all" or not fitting else fitting


def _rests_on(resources: Resources, one: StepTime) -> None:
    """What stands behind the numbers, and how far off such ones were."""
    said = [f"One GPU's step: {one.basis.words}."]
    # What a damaged report makes of the accuracy is About's to say.
    with suppress(ArtifactError):
        said.append(_several_rest_on(scaleout_accuracy_of(resources), Strategy(st.session_state["strategy"])))
    st.caption(unbroken(" ".join(said)))
    query = {"open": "accuracy", "part": "scaleout"}
    st.page_link(page_path("about"), label="How far off it was", icon=":material/rule:", query_params=query)


def _several_rest_on(accuracy: ScaleoutAccuracy, strategy: Strategy) -> str:
    """How far off the formulas were where gradients were shared as here: other ways are other formulas."""
    fitted, data_sets = "Several: formulas fitted on published speeds", accuracy.data_sets.values()
    found = [one for data in data_sets if (one := data.networks.by_strategy.get(strategy))]
    if not found:
        return f"{fitted}; no measurement checks {strategy.words}."
    errors, perfect = _percents(each.mape for each in found), _percents(each.perfect_mape for each in found)
    return (
        f"{fitted}; by {strategy.words}, on networks left out, one GPU's step known, their mean error was {errors} "
        f"({perfect} if scaling were perfect)."
    )


def _percents(values: Iterable[float]) -> str:
    """'5.4 % and 6.9 %', of the data sets that have any."""
    return " and ".join(f"{value:.1f} %" for value in values)


run_page(body, scale_out_keys)
