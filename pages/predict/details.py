"""One row's details in a dialog: price, step, memory, basis, a comparison, and fields to correct price and latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.predict.charts import why_not
from profet_core.answers.advise import AdviseAnswer
from profet_core.catalog.gpus import is_half
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    ON_DEMAND,
    cloud_words,
    machine_words,
    offer_name,
    price_source,
    price_words,
)
from profet_core.errors import Code
from profet_core.training.advise import OfferRow
from profet_core.training.plans import Per, Plan
from profet_core.training.recommend import compare, others_of_gpus
from profet_core.training.words import breakdown_line, comparison_sentences
from profet_core.units import format_ms, format_usd, format_usd_range
from ui.fields import choice, number_field, select
from ui.predicted import Predicted
from ui.resources import Resources
from ui.session import DEFAULT_METHOD, USUAL_PLAN, Field, Network, Offers, PredictView, session
from ui.words import plain, sentence, unbroken

#: Other offers of the same GPU that are named; the table has them all.
_ALSO_NAMED = 8


#: The prediction, the training, and the rows that show.
Answered = tuple[Predicted, AdviseAnswer, Sequence[OfferRow]]


def opened_row(rows: Sequence[OfferRow], label: str) -> OfferRow | None:
    """The row of a label; a price of the visitor's own changes an on-demand row's label, which is its instance."""
    by_label = {row.offer.name: row for row in reversed(rows)} | {row.label: row for row in rows}
    return by_label.get(label)


def show_details(
    resources: Resources, opened: OfferRow, per: Per, ask: Callable[[], Answered], write_link: Callable[[], None]
) -> None:
    """Open the dialog of one row. It asks again after each number typed in it; closing it draws the page."""
    name = opened.plan.name if opened.plan else offer_name(opened.offer)

    @st.dialog(name, width="large", on_dismiss=session.predict_table.choose)
    def dialog() -> None:
        network, _, rows = ask()
        write_link()
        row = opened_row(rows, opened.label) or opened_row(rows, opened.offer.name) or opened
        plans = [one.plan for one in rows if one.plan is not None]
        st.caption(plain(machine_words(row.offer)))
        if row.plan is None:
            st.info(plain(f"No number: {why_not(row)}."), icon=":material/info:")
        else:
            facts = _facts(network, plans, row, row.plan)
            unit = per.unit(plans)
            # As on its card and its bars.
            shown = per.share_of(row.plan)
            time, cost = unit.words(shown.total_s), f"{format_usd(shown.total_usd)}{per.cost_suffix}"
            if (ends := shown.interval) is not None:
                time += f" ({unit.range_words(*ends.seconds)})"
                cost += f" ({format_usd_range(*ends.usd)})"
            facts = {PredictView.per.options[per]: plain(f"{time}, {cost}")} | facts
            st.markdown("\n".join(f"- **{title}**: {words}" for title, words in facts.items() if words))
        _corrections(resources, row)
        if row.plan is not None:
            _against(plans, row.plan)
            if lines := _computed(resources, network, row, row.plan):
                with st.expander("How was this computed?"):
                    st.markdown("\n".join(f"- {line}" for line in lines))

    dialog()


def _corrections(resources: Resources, row: OfferRow) -> None:
    """A price of the visitor's own, and a latency they measured there."""
    price, measured = st.columns(2, gap="medium")
    name, listed = row.offer.name, format_usd(resources.catalog[row.offer.name].usd_per_hour)
    tip = "Replaces the list price. Empty: the list price."
    with price:
        _number_there("Your price ($/h)", Offers.price, name, f"list price: {listed}", tip)
    if not row.is_anchor:
        tip = "A step latency of this network that you measured there. It corrects the prediction for this GPU."
        with measured:
            _number_there("Measured latency (ms/step)", Network.measured, name, "not measured", tip)
            if session.network.second and name in session.network.measured:
                choice("Measured at", Network.measured_at)


def _number_there(label: str, field: Field[Mapping[str, float]], instance: str, empty: str, tip: str) -> None:
    """The visitor's number for one instance."""
    key = f"{field.key}_{instance}"
    st.session_state[key] = st.session_state[field.key].get(instance)

    def take() -> None:
        numbers = st.session_state[field.key] | {instance: st.session_state[key]}
        st.session_state[field.key] = {name: number for name, number in numbers.items() if number is not None}

    number_field(label, key, empty=empty, tip=tip, on_change=take)


def _facts(network: Predicted, plans: Sequence[Plan], row: OfferRow, plan: Plan) -> dict[str, str]:
    offer = plan.offer
    retired = ", retired" if offer.status == "retired" else ""
    each = "" if offer.gpu_count == 1 else f" for {offer.gpu_count} GPUs, {format_usd(offer.usd_per_gpu_hour)} each"
    step = format_ms(plan.latency_ms)
    if network.batch_size is not None:
        step += f" at batch size {plan.batch_size}, {plan.images_per_s:,.0f} images/s"
    # 'Estimated from the specs and published training speeds of B200, in TF32.'
    source = next((part for part in plan.row.note.split("; ") if part.startswith("from ")), None)
    corrected = (note for note in network.training.warnings if note.code is Code.CORRECTED)
    return {
        "Price": f"{plain(f'{format_usd(offer.usd_per_hour)}/h{each}')} ({price_source(offer)}{retired})",
        "Step": plain(step),
        "Basis": plain(f"{plan.basis.words if source is None else f'{plan.basis.word} {source}'}."),
        "All costs": plain(breakdown_line(plan)),
        "Measured there": _measured_line(network, plan.instance),
        "Corrected": " ".join(plain(note) for note in corrected if note.values["instance"] == plan.instance),
        "Memory": "" if row.fit is None else plain(sentence(row.fit.description)),
        "Also at": plain(_also_at(plans, plan)),
        "Note": plain(sentence("; ".join(filter(None, (plan.node_note, plan.loading_note))))),
    }


def _computed(resources: Resources, network: Predicted, row: OfferRow, plan: Plan) -> list[str]:
    """What the step and the memory verdict are computed from."""
    prediction = network.training.prediction
    lines = [sentence(part) for part in plan.row.note.split("; ") if part]
    rows = [one for one in prediction.predictions if one.instance == plan.instance and one.members]
    method = resources.models.method(prediction.method)
    rule = method.rules[prediction.anchor_latency_ms is not None]
    if members := ", ".join(f"{name} {format_ms(ms)}" for one in rows for name, ms in one.members.items()):
        lines.append(f"Models, at the profile's size: {members} ({rule.words})")
    if row.fit is not None:
        lines.append(f"Memory: {row.fit.why}")
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
        or session.network.method != DEFAULT_METHOD
    ):
        return ""
    predicted_ms = (sample.left_out_without_latency_ms if given_ms is None else sample.left_out_ms)[instance]
    measured_ms = sample.measured_ms[instance]
    off = f"{100 * (predicted_ms / measured_ms - 1):+.1f}%"
    return unbroken(
        f"{format_ms(measured_ms)}/step; models that never saw {sample.model} predict {format_ms(predicted_ms)} ({off})"
    )


def _against(plans: Sequence[Plan], plan: Plan) -> None:
    """The plan beside another one: the cheapest, until another is chosen."""
    others = sorted((one for one in plans if one != plan), key=lambda one: one.total_usd)
    if not others:
        return
    by_label = {USUAL_PLAN: others[0], **{one.label: one for one in others[1:]}}
    if session.predict.against not in by_label:
        session.predict.against = USUAL_PLAN
    select("Compare with", PredictView.against, {label: one.name_and_code for label, one in by_label.items()})
    found = compare(plan, by_label[session.predict.against or USUAL_PLAN])
    st.markdown("\n".join(f"- {unbroken(line)}" for line in comparison_sentences(found)))
