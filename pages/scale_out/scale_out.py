"""Scale out: a training on 1 to 64 GPUs, over their number on one machine and on every offer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st
from msgspec.structs import replace

from profet_core.answers.predict import NO_BATCH
from profet_core.answers.scaleout import HowMany, ScaledTraining, scaleout_plans
from profet_core.catalog.instance import offer_name, price_line
from profet_core.errors import InputError
from profet_core.questions import ScaleoutQuestion, TrainingQuestion, ask
from profet_core.training.advise import Preset
from profet_core.training.memory import does_not_fit
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import CurveRow, ScaledEpoch, WholeNodePlan, scaling_notes
from profet_profiles.units import format_significant, format_time, format_usd, shared_time_unit
from ui.charts import COLORS, GRAY, show_chart
from ui.columns import DOTS, out_columns
from ui.curves import LATENCY, Curve, Look, Shown, count_axis, curves
from ui.custom import profile_in_slot
from ui.fields import (
    aside_note,
    choice,
    chosen_parameters,
    more_options,
    number_field,
    number_fields,
    parameters_input,
    select,
    set_aside,
    toggle,
)
from ui.frame import run_page
from ui.offers import chosen_rows, offer_buttons, offer_values, preset_choice
from ui.predicted import current_network
from ui.profile import latency_question, network_input, show_notices
from ui.resources import Resources
from ui.session import LINKED, STRATEGIES, session
from ui.tables import result_table
from ui.words import page_path, plain

_NETWORK_TIP = (
    "Each offer's own where its cloud publishes it. Otherwise it counts as 10 to 100 Gb/s, or 100 to 1,600 Gb/s with "
    "NVSwitch, and the intervals over several machines are wide."
)
_KEPT_TIP = "Per-GPU batch: a step has more images with more GPUs. Global batch: the GPUs share one batch."


def sidebar(resources: Resources) -> None:
    """Everything but the offers."""
    choice("one_gpu")
    if session.scale_out.one_gpu == "typed":
        number_fields("step_ms", "one_gpu_batch", empty="measured")
        gpus = sorted({offer.gpu for offer in resources.catalog.values()}, key=str.casefold)
        before, key = session.scale_out.one_gpu_on, "step_ms"
        more: dict[str, Any] = {"index": None, "placeholder": "which GPU?"}
        more |= {"on_change": lambda: set_aside(key, before, session.scale_out.one_gpu_on, [key])}
        select("one_gpu_on", gpus, **more)
        aside_note(key, session.scale_out.one_gpu_on, str)
        parameters_input(None)
    else:
        network_input(resources)
        # Until they are known, the main area asks for them.
        meta = profile_in_slot(resources, session.profile).profile.meta
        if session.training.network or chosen_parameters(meta) is not None:
            parameters_input(meta)
    choice("gradients")
    choice("batch_kept", help=_KEPT_TIP)
    if session.scale_out.batch_kept == "all":
        number_field("global_batch", empty="batch of one GPU")
    select("strategy")
    number_field("total_gpus", empty="one machine")
    select("machine_network", help=_NETWORK_TIP)
    number_fields("images", "epochs")
    number_fields("deadline_hours", "budget_usd")
    more_options("scale_out", _other_inputs)


def _other_inputs() -> None:
    toggle("exchanges", help="All of them in the chart.")
    number_field("validation_images")


_SHOWN = {
    "speed_up": Shown("Speed-up", format_significant),
    "step": LATENCY,
    "time": Shown("Epoch time", format_time, in_time=True),
    "cost": Shown("Epoch cost", format_usd, prefix="$"),
}
_DASHES = dict(zip(STRATEGIES, ("solid", "dash", "dashdot", "longdash"), strict=True))
_LAST_PAYING = "Beyond this, more GPUs cost more than they save"
_TICKS = (1, 2, 4, 8, 16, 32, 64)
#: The curve ends at so many machines, or at the number of GPUs that was asked for or is recommended.
_MACHINES = 4


def main(resources: Resources) -> None:
    """Draw the page."""
    first = st.container()
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="toolbar"):
        choice("out_shows")
        preset_choice()
        offer_buttons(resources)
    asked = _question(resources)
    if asked is None:
        return
    question, training = asked
    answering = scaleout_plans(resources, question, training)
    if not answering.plans:
        raise InputError(_why_none(question))
    how_many = answering.how_many
    if how_many is not None:
        with first:
            _answer(how_many)
    # The opened row, else the answer's.
    keep = session.scale_out_table.open or (answering.best.label if answering.best else "")
    # Where a step doesn't fit, only among all offers.
    fitting = [plan for plan in answering.plans if not does_not_fit(plan.fit) or plan.label == keep]
    every = answering.plans if session.offers.preset == "all" or not fitting else fitting
    by_offer = {plan.offer.offer_key: plan for plan in every}
    chosen_plans = chosen_rows([plan.plan for plan in every], keep=keep, every_node=True)
    rows = [by_offer[plan.offer.offer_key] for plan in chosen_plans]
    if not rows:
        st.info("No machine here has these GPUs. Choose *All*.", icon=":material/info:")
        return
    chosen = next((row for row in rows if row.label == keep), rows[0])
    _chart(answering.on(chosen.label), chosen, how_many.gpus if how_many else 1)
    gpus = question.total_gpus
    result_table(
        rows,
        out_columns(shared_time_unit(row.epoch_s for row in rows)),
        choices=session.scale_out_table,
        sorted_by="epoch_usd",
        stem="profet-scale-out",
        title="Machines with several GPUs" if gpus is None else f"Machines with {gpus} GPUs together",
    )
    each = "One row per GPU: its machine with the cheapest epoch. " if session.offers.preset == Preset.GPUS else ""
    st.caption(
        f"{each}Select a row to see its curve. Estimated by formulas fitted to published benchmarks. {DOTS} "
        f"{price_line(row.offer for row in rows)}"
    )
    st.page_link(page_path("accuracy"), label="Accuracy", icon=":material/rule:", query_params={"part": "Several GPUs"})


def _question(resources: Resources) -> tuple[ScaleoutQuestion, TrainingQuestion | None] | None:
    """Return the settings as a question, with one GPU's; None while something is missing, which the page asks for."""
    state = session.scale_out
    values = {
        **session.training.answers(ScaleoutQuestion),
        **state.answers(ScaleoutQuestion),
        **offer_values(resources),
        **session.training.shared,
        "network_gbit_per_s": None if state.machine_network == "own" else float(state.machine_network),
        # Each is of some of what can be chosen here.
        "step_ms": None,
        "global_batch": None,
    }
    question = ask(ScaleoutQuestion, values)
    training = None
    if state.one_gpu == "typed":
        if state.step_ms is None or state.one_gpu_on is None:
            st.info("Enter the latency of a step on one GPU, and the GPU, in the sidebar.")
            return None
        meta, batch_size = None, state.one_gpu_batch
        question = replace(question, step_ms=state.step_ms, batch=batch_size, gpu=(state.one_gpu_on,))
    else:
        predicted = current_network(resources)
        latency_question(predicted)
        show_notices(predicted)
        meta, batch_size = predicted.training.profile.meta, predicted.question.at_batch or predicted.batch_size or 0
        if not batch_size:
            raise InputError(NO_BATCH)
        training = predicted.question
    if chosen_parameters(meta) is None:
        if state.one_gpu != "typed" and not session.training.network:
            parameters_input(meta)
        st.info("Choose the network or enter its number of parameters: GPUs exchange a gradient for each parameter.")
        return None
    if state.batch_kept == "all":
        question = replace(question, global_batch=state.global_batch or batch_size)
    return question, training


def _answer(how_many: HowMany) -> None:
    """How many GPUs, first of all; below it what the batch is, and what that does to the learning rate."""
    st.markdown(f"## {plain(how_many.sentence)}")
    if how_many.batch_sentences:
        st.caption(plain(" ".join(how_many.batch_sentences)))


def _why_none(question: ScaleoutQuestion) -> str:
    """Why no offer has a plan, and what to do."""
    if question.global_batch is not None:
        return (
            f"No machine can share a global batch of {question.global_batch}: each GPU needs a whole number of images, "
            "16 or more. Choose another batch or fewer GPUs."
        )
    if (gpus := question.total_gpus) is not None:
        return f"No offer has {gpus} GPUs in whole machines: choose another number or clear the filter."
    return "None of these offers has several GPUs and a prediction: enter a number of GPUs, or clear the filter."


def _chart(answer: ScaledTraining, chosen: WholeNodePlan, recommended: int) -> None:
    """One offer over the number of GPUs, with its interval; all exchanges of gradients if chosen."""
    most = max(_MACHINES * chosen.offer.gpu_count, recommended, session.scale_out.total_gpus or 1)
    curve = [row for row in answer.curve if row.step.gpus <= most]
    state, links, offer = session.scale_out, answer.interconnect, chosen.offer
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        # 'PCIe' of 'PCIe through host memory'.
        link = re.split(" through | between ", links.link.words)[0]
        st.markdown(f"**{plain(f'{offer_name(offer, offer.gpu_count)}, {link}')}**", width="content")
        with st.popover("Link assumptions", type="tertiary"):
            assumed = f" Assumed: {links.assumed}." if links.assumed else ""
            st.markdown(plain(f"{links.words}.{assumed} You pay for whole machines."))
    if notes := scaling_notes((row.step for row in curve), links):
        st.caption(plain(" ".join(map(str, notes))))
    shows = state.out_shows
    drawn = [strategy for strategy in STRATEGIES if state.exchanges or strategy == answer.question.strategy]
    color = COLORS[chosen.plan.basis.word]
    rows = [_curve(curve, strategy, color, shows, chosen=strategy == answer.question.strategy) for strategy in drawn]
    counts = rows[0].sizes
    if shows == "speed_up":
        rows.append(Curve(label="Ideal", look=Look(GRAY, "dot"), sizes=counts, values=counts))
    last, chosen_values = answer.last_paying, next(row.values for row in rows if row.chosen)
    paying = dict(zip(counts, chosen_values, strict=True)).get(last) if last else None
    figure = curves(
        rows,
        _SHOWN[shows],
        count_axis("GPUs", counts[0], counts[-1], _TICKS),
        at=state.total_gpus if state.total_gpus in counts else None,
        crossed=((last, paying), _LAST_PAYING) if last and paying else None,
    )
    show_chart(figure, "scale-out")


def _curve(rows: Sequence[CurveRow], strategy: Strategy, color: str, shows: str, *, chosen: bool) -> Curve:
    epochs = [row.others[strategy] for row in rows]
    points = [_value(epoch, shows) for epoch in epochs]
    ends = [span for _, span in points if span is not None]
    return Curve(
        label=LINKED["strategy"].options[strategy],
        look=Look(color, _DASHES[strategy]),
        sizes=[epoch.step.gpus for epoch in epochs],
        values=[value for value, _ in points],
        ends=ends if chosen and len(ends) == len(epochs) else None,
        chosen=chosen,
    )


def _value(epoch: ScaledEpoch, shows: str) -> tuple[float, tuple[float, float] | None]:
    """Return times as fast as one GPU, milliseconds, seconds or US dollars of an epoch, with both ends.

    One GPU's speed-up is 1, and its measured step is exact.
    """
    step, shares = epoch.step, epoch.shares
    if shows == "speed_up":
        return step.speed_up, step.speed_up_range or (step.speed_up, step.speed_up)
    value = {"step": step.latency_ms, "time": epoch.epoch_s, "cost": epoch.epoch_usd or 0.0}[shows]
    low, high = shares or (1.0, 1.0)
    return value, (value * low, value * high) if shares or step.gpus == 1 else None


run_page(
    "Training on 1 to 64 GPUs",
    main,
    lambda: (*session.prediction_inputs, session.training, session.scale_out, session.offers, session.scale_out_table),
    sidebar,
)
