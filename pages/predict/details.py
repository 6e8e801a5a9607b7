"""One row's details in a dialog: price, step, memory, basis, a comparison, and fields to correct price and latency."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.predict.charts import why_not
from profet_core.advice.advise import OfferRow
from profet_core.advice.certainty import compare
from profet_core.advice.plans import Plan, Request
from profet_core.advice.recommend import others_of_gpus
from profet_core.advice.words import basis_caveats, comparison_sentences
from profet_core.artifacts.samples import Sample
from profet_core.catalog import Instance
from profet_core.catalog.instance import ON_DEMAND, OWN_PROVIDER
from profet_core.catalog.naming import cloud_words
from profet_core.precision.names import is_half
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_ms, format_usd, listed_price
from ui.inputs.fields import choice, number_field, select
from ui.notices import MEASURE_IT, UNMEASURED, custom_gpu_link
from ui.predicted import Predicted
from ui.state.resources import Resources
from ui.state.session import DEFAULT_METHOD, MEASURED, PRICE, USUAL_PLAN, Network, PredictView, session
from ui.tables import fit_sentence, plan_gpus, price_source, price_words
from ui.words import FOUR_WORDS, joined_phrase, plain, unbroken

#: Other offers of the same GPU that are named; the table has them all.
_ALSO_NAMED = 8


def show_details(
    resources: Resources, network: Predicted, request: Request, rows: Sequence[OfferRow], row: OfferRow
) -> None:
    """Open the dialog of one row; closing it draws the page with what was corrected."""
    title = f"{row.label} · {plan_gpus(row.plan) if row.plan else row.offer.gpu}"

    @st.dialog(title, width="large", on_dismiss=session.predict_table.close)
    def dialog() -> None:
        if row.plan is None:
            st.info(plain(f"No number: {why_not(row)}."), icon=":material/info:")
        else:
            plans = [one.plan for one in rows if one.plan is not None]
            st.markdown("\n".join(f"- {line}" for line in _facts(resources, network, plans, row, row.plan)))
            if row.plan.basis in UNMEASURED:
                custom_gpu_link()
        _corrections(resources, row)
        if row.plan is not None:
            _against(request, plans, row.plan)

    dialog()


def _corrections(resources: Resources, row: OfferRow) -> None:
    """A price of the visitor's own, and a latency they measured there."""
    price, measured = st.columns(2, gap="medium")
    with price:
        listed = resources.catalog[row.offer.name].usd_per_hour
        number_field(
            "Your price ($/h)",
            PRICE.key(row.offer.name),
            empty=f"list price: {listed_price(listed)}",
            tip="Replaces the list price. Empty: the list price.",
        )
    with measured:
        if not row.is_anchor:
            number_field(
                "I measured this (ms/step)",
                MEASURED.key(row.offer.name),
                empty="not measured",
                tip="A step latency of this network that you measured there. It corrects the prediction for this GPU.",
            )
            if session.network.second and st.session_state[MEASURED.key(row.offer.name)] is not None:
                choice("Measured at", Network.measured_at)


def _facts(resources: Resources, network: Predicted, plans: Sequence[Plan], row: OfferRow, plan: Plan) -> list[str]:
    offer = plan.offer
    retired = ", retired" if offer.status == "retired" else ""
    note = f": {plain(plan.latency_note)}" if plan.latency_note else ""
    found = [
        f"**Price**: {plain(_price_line(offer))} ({price_source(offer)}{retired})",
        f"**Step**: {_step_line(network, plan)}",
        f"**Basis**: {FOUR_WORDS[plan.basis].lower()}, {plain(plan.basis.words)}{note}",
    ]
    if plan.basis in UNMEASURED:
        found.append(f"**More accurate**: {MEASURE_IT}")
    if row.fit is not None:
        found.append(f"**Memory**: {plain(fit_sentence(row.fit))}")
    if also := _also_at(plans, plan):
        found.append(f"**Also at**: {plain(also)}")
    if plan.note:
        found.append(f"**Note**: {plain(plan.note)}")
    predicted = _predicted_on(network, plan.instance)
    if predicted is not None and predicted.members:
        members = ", ".join(f"{name} {format_ms(latency_ms)}" for name, latency_ms in predicted.members.items())
        joined = joined_phrase(resources.models, network.outcome.prediction)
        found.append(f"**Members, at the profile's size** ({joined}): {plain(members)}")
    measured = _measured_line(network, plan.instance)
    return [*found, *([measured] if measured else [])]


def _price_line(offer: Instance) -> str:
    """'$21.96/h for 8 GPUs, $2.74 each'."""
    price = f"{listed_price(offer.usd_per_hour)}/h"
    if offer.gpu_count == 1:
        return price
    return f"{price} for {offer.gpu_count} GPUs, {format_usd(offer.usd_per_gpu_hour)} each"


def _also_at(plans: Sequence[Plan], plan: Plan) -> str:
    """Who else offers as many of these GPUs, and for how much an hour, the cheapest first."""
    others = sorted((other.offer for other in others_of_gpus(plans, plan)), key=lambda offer: offer.usd_per_hour)
    named = [f"{_renter(offer)} {price_words(offer)}" for offer in others[:_ALSO_NAMED]]
    more = len(others) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _renter(offer: Instance) -> str:
    """'GCP', 'GCP spot'; of a custom instance its name."""
    who = offer.name if offer.provider == OWN_PROVIDER else cloud_words(offer.provider)
    return who if offer.market == ON_DEMAND else f"{who} {offer.market}"


def _step_line(network: Predicted, plan: Plan) -> str:
    if network.batch_size is None:
        return plain(format_ms(plan.latency_ms))
    images = f"{plan.images_per_s:,.0f} images/s"
    return plain(f"{format_ms(plan.latency_ms)} at batch size {plan.batch_size}, {images}")


def _predicted_on(network: Predicted, instance: str) -> InstancePrediction | None:
    rows = network.outcome.prediction.predictions
    return next((row for row in rows if row.instance == instance), None)


def _measured_line(network: Predicted, instance: str) -> str:
    """For a sample with known truth: what was measured there, beside models that never saw its architecture."""
    sample = network.outcome.held.sample
    if sample is None or not _is_unchanged(network, sample) or instance not in sample.left_out_ms:
        return ""
    given = network.outcome.prediction.anchor_latency_ms is not None
    predicted_ms = (sample.left_out_ms if given else sample.left_out_without_latency_ms)[instance]
    measured_ms = sample.measured_ms[instance]
    off = f"{100 * (predicted_ms / measured_ms - 1):+.1f}%"
    return unbroken(
        f"Measured there: {format_ms(measured_ms)}/step; models that never saw {sample.model} predict "
        f"{format_ms(predicted_ms)} ({off})"
    )


def _is_unchanged(network: Predicted, sample: Sample) -> bool:
    prediction = network.outcome.prediction
    return (
        prediction.anchor == sample.anchor
        and prediction.anchor_latency_ms in (None, sample.latency_ms)
        and not is_half(prediction.precision)
        and session.network.method == DEFAULT_METHOD
    )


def _against(request: Request, plans: Sequence[Plan], plan: Plan) -> None:
    """The plan beside another one: the cheapest, until another is chosen."""
    others = {one.label: one for one in plans if one != plan}
    if not others:
        return
    if session.predict.against not in others:
        session.predict.against = USUAL_PLAN
    usual = min(others.values(), key=lambda one: one.total_usd)
    names = {label: f"{one.title} ({one.gpu_words})" for label, one in others.items()}
    labels = {USUAL_PLAN: names[usual.label]} | {label: names[label] for label in others if label != usual.label}
    select("Compare with", PredictView.against, labels)
    chosen = others.get(session.predict.against, usual)
    # What either is based on is said in its own details.
    said_there = set(basis_caveats((plan, chosen)))
    for line in comparison_sentences(compare(plan, chosen, request.interval_level)):
        if line not in said_there:
            st.markdown(unbroken(line))
