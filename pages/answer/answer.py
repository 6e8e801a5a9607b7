"""Answer: a profile and a training in, what to rent out: one sentence, time against money, one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from pages.answer.columns import answer_columns
from pages.answer.inputs import answer_inputs
from pages.answer.opened import show_opened
from pages.answer.rows import Per, answer_rows, plan_key
from pages.answer.trade_off import points
from profet_core import InputError
from profet_core.advice.advise import Advice, ExcludedInstance, advise
from profet_core.advice.headline import headline
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits, Workload
from profet_core.advice.whole_nodes import Gradients, WholeNodes, whole_nodes
from profet_core.advice.words import answer_sentences, named_plans
from profet_core.answers.narrowed import narrowed_rows
from profet_core.catalog import Instance
from profet_core.catalog.naming import gpu_words
from profet_core.energy.regions import load_regions
from profet_core.memory.fit import FitAnswer
from profet_core.training.steps import TrainingSteps
from ui.charts.style import show_chart
from ui.charts.trade_off import trade_off
from ui.errors import show_error, show_errors
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.narrowing import chosen_narrowing, narrowing_input
from ui.inputs.network import size_questions
from ui.inputs.offers import chosen_offers, offers_input
from ui.inputs.parameters import chosen_gradients
from ui.inputs.recorded import latency_question
from ui.inputs.table_rows import plans_with_a_mark, plans_with_a_row, rows_choice
from ui.memory import fits_of
from ui.notices import show_notices
from ui.phrases import likeness_sentence, profile_phrase
from ui.predicted.network import Network, current_network
from ui.report import report_button
from ui.result_table.show import result_table
from ui.state.page_keys import answer_keys
from ui.state.resources import Resources
from ui.state.settings import ANSWER_TABLE
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT
from ui.sureness import sureness_explained
from ui.texts import plain, unbroken

_PER_LABELS = {
    "training": "Training",
    "epoch": "Epoch",
    "1000_steps": "1,000 steps",
    "step": "Step",
}

#: More instances are named by their GPUs.
_NAMED = 3


def body(resources: Resources) -> None:
    """Draw the page."""
    with st.sidebar:
        answer_inputs(resources)
    st.title("Which cloud GPU should train it?")
    network = current_network(resources)
    latency_question(resources, PROFILE_SLOT, network.outcome)
    if network.second is not None:
        latency_question(resources, SECOND_SLOT, network.second)
    size_questions(network.outcome.held, pixels_too=st.session_state["pixels"] is not None)
    if network.batch_size is None:
        # There will be no numbers; what the profile is, is known all the same.
        show_notices(network)
    steps = network.steps(resources)
    show_errors(steps.problems)
    # What is chosen below the answer stays there where nothing is left to choose from.
    answer, choices = st.container(), st.container()
    with choices:
        _choices(resources)
    fits = fits_of(
        resources, network.outcome, steps.latencies_ms, steps.batch_size, network.chosen_pixels, network.second
    )
    shared = _shared(network)
    offers = chosen_offers(resources, ANSWER_TABLE.open_row, every_node=shared is not None)
    advice = _advice(resources, network, steps, offers, fits, shared)
    kept = _kept(advice, network.outcome.prediction.anchor)
    with answer:
        _say(network, advice)
        show_notices(network)
        limits = advice.request.limits
        marked = plans_with_a_mark(advice.plans, kept)
        show_chart(trade_off(points(advice, marked), limits.deadline_s, limits.budget_usd), "trade-off")
    _table(resources, network, advice, fits, plans_with_a_row(advice.plans, kept))


def _advice(
    resources: Resources,
    network: Network,
    steps: TrainingSteps,
    offers: Sequence[Instance],
    fits: Mapping[str, FitAnswer],
    shared: Gradients | None,
) -> Advice:
    state, names = st.session_state, {offer.name for offer in offers}
    nodes = WholeNodes(steps.step_times, {})
    if shared is not None and resources.models.scaleout is not None:
        nodes = whole_nodes(resources.models.scaleout, steps.step_times, offers, shared, steps.batch_size)
    rows = narrowed_rows(nodes.rows, chosen_narrowing(resources), names, network.outcome.prediction.anchor)
    advice = advise(
        [row for row in rows if row.instance in names],
        offers,
        Workload(state["images"], steps.batch_size, state["epochs"], state["validation_images"], state["loading"]),
        Limits(state["deadline_h"], state["budget_usd"], state["certainty"] / 100),
        include_retired=state["retired"],
        interval_level=network.outcome.prediction.interval_level,
        fits=fits,
        nodes=nodes.nodes,
    )
    return replace(advice, excluded=(*advice.excluded, *_without_data_sheet(resources, steps, offers)))


def _shared(network: Network) -> Gradients | None:
    """What all GPUs of a node share where they are to train; None: one of them counts."""
    if not st.session_state["whole_nodes"]:
        return None
    try:
        return chosen_gradients(network.outcome.held.profile.meta, network.chosen_pixels)
    except InputError as error:
        show_error(str(error))
        return None


def _without_data_sheet(
    resources: Resources, steps: TrainingSteps, offers: Sequence[Instance]
) -> Iterator[ExcludedInstance]:
    """Offers whose GPU nothing is known of, such as instances on an own GPU that was removed."""
    predicted = {row.instance for row in steps.step_times}
    for offer in {offer.name: offer for offer in offers if offer.name not in predicted}.values():
        if not resources.gpus.named(offer.gpu):
            yield ExcludedInstance(offer.name, f"no data sheet of its {offer.gpu}")


def _say(network: Network, advice: Advice) -> None:
    """The answer in one sentence, and what it is for; how sure it is on request."""
    st.header(unbroken(headline(advice)), anchor="answer")
    work = advice.request.workload
    epochs = "1 epoch" if work.epochs == 1 else f"{work.epochs:,} epochs"
    batch = "" if work.batch_size == network.batch_size else f" at batch size {work.batch_size}"
    pixels = "" if network.chosen_pixels == network.pixels else f" at {network.chosen_pixels} pixels"
    st.caption(
        f"For {profile_phrase(network.outcome)}{batch}{pixels}: {work.images:,} images, {epochs}. "
        "Change it in the sidebar (»)."
    )
    with st.popover("How sure is that?", icon=":material/help:"):
        for line in (*answer_sentences(advice), likeness_sentence(network.outcome.prediction)):
            st.markdown(unbroken(line))
        st.markdown(sureness_explained())


def _choices(resources: Resources) -> None:
    """What the table shows, and which offers count."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice("Per", "per", tuple(_PER_LABELS), _PER_LABELS, tip="What time and cost are of.")
        st.toggle(
            "Loading",
            key="loading",
            persist_state="session",
            help="Adds what measured epochs took beyond their steps: 6 % to 9 %.",
        )
        narrowing_input(resources)
        offers_input(resources)


def _kept(advice: Advice, anchor: str) -> list[Plan]:
    """What has a row in any case: what the sentence names, the anchor to compare with, and the open row."""
    labels = {plan.label for plan in named_plans(advice)} | {ANSWER_TABLE.open_row}
    return [plan for plan in advice.plans if plan.label in labels or plan.instance == anchor]


def _table(
    resources: Resources, network: Network, advice: Advice, fits: Mapping[str, FitAnswer], plans: Sequence[Plan]
) -> None:
    per = Per(st.session_state["per"])
    rows_choice(advice.plans)
    rows = answer_rows(advice, resources.gpus, load_regions(), fits, per, plans=plans)
    opened = result_table(
        rows,
        answer_columns(per),
        key="answer",
        stem="profet-answer",
        title=f"{_PER_LABELS[per]}: time and cost",
        row_key=plan_key,
        beside=lambda: report_button(resources, network.outcome, advice),
    )
    if left_out := _left_out(resources, advice):
        st.caption(plain(f"Left out: {left_out}."))
    if opened is not None:
        show_opened(resources, network, advice, opened.plan)


def _left_out(resources: Resources, advice: Advice) -> str:
    """What no plan can be made for, and why: the instances of each reason, or their GPUs where they are many."""
    found = advice.excluded_by_reason
    return "; ".join(f"{_names(resources, instances)}: {reason}" for reason, instances in found.items())


def _names(resources: Resources, instances: Sequence[str]) -> str:
    if len(instances) <= _NAMED:
        return ", ".join(instances)
    return ", ".join(dict.fromkeys(gpu_words(resources.catalog[name]) for name in instances))


run_page(body, answer_keys)
