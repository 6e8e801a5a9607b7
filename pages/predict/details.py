"""One row's details in a dialog: price, step, memory, basis, a comparison, and fields to correct price and latency."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.predict.charts import why_not
from profet_core.advice.advise import OfferRow
from profet_core.advice.plans import Plan, Request
from profet_core.advice.recommend import compare, others_of_gpus
from profet_core.advice.words import basis_caveats, comparison_sentences
from profet_core.artifacts.samples import Sample
from profet_core.catalog import Instance
from profet_core.catalog.instance import ON_DEMAND, OWN_PROVIDER
from profet_core.catalog.naming import cloud_words
from profet_core.precision.names import is_half
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
    listed, key = resources.catalog[row.offer.name].usd_per_hour, MEASURED.key(row.offer.name)
    number_field(
        "Your price ($/h)",
        PRICE.key(row.offer.name),
        empty=f"list price: {listed_price(listed)}",
        tip="Replaces the list price. Empty: the list price.",
        at=price,
    )
    if not row.is_anchor:
        number_field(
            "Measured latency (ms/step)",
            key,
            empty="not measured",
            tip="A step latency of this network that you measured there. It corrects the prediction for this GPU.",
            at=measured,
        )
        if session.network.second and st.session_state[key] is not None:
            with measured:
                choice("Measured at", Network.measured_at)


def _facts(resources: Resources, network: Predicted, plans: Sequence[Plan], row: OfferRow, plan: Plan) -> list[str]:
    offer, prediction = plan.offer, network.training.prediction
    retired = ", retired" if offer.status == "retired" else ""
    each = "" if offer.gpu_count == 1 else f" for {offer.gpu_count} GPUs, {format_usd(offer.usd_per_gpu_hour)} each"
    price = f"{listed_price(offer.usd_per_hour)}/h{each}"
    step = format_ms(plan.latency_ms)
    if network.batch_size is not None:
        step += f" at batch size {plan.batch_size}, {plan.images_per_s:,.0f} images/s"
    note = f": {plan.latency_note}" if plan.latency_note else ""
    rows = [one for one in prediction.predictions if one.instance == plan.instance and one.members]
    members = ", ".join(f"{name} {format_ms(ms)}" for one in rows for name, ms in one.members.items())
    joined = joined_phrase(resources.models, prediction)
    found = {
        "Price": f"{plain(price)} ({price_source(offer)}{retired})",
        "Step": plain(step),
        "Basis": plain(f"{FOUR_WORDS[plan.basis].lower()}, {plan.basis.words}{note}"),
        "More accurate": MEASURE_IT if plan.basis in UNMEASURED else "",
        "Memory": "" if row.fit is None else plain(fit_sentence(row.fit)),
        "Also at": plain(_also_at(plans, plan)),
        "Note": plain(plan.note),
        "Members, at the profile's size": f"{plain(members)} ({joined})" if members else "",
        "Measured there": _measured_line(network, plan.instance),
    }
    return [f"**{name}**: {words}" for name, words in found.items() if words]


def _also_at(plans: Sequence[Plan], plan: Plan) -> str:
    """Who else offers as many of these GPUs, and for how much an hour, the cheapest first."""
    others = sorted((other.offer for other in others_of_gpus(plans, plan)), key=lambda offer: offer.usd_per_hour)
    named = [f"{_renter(offer)} {price_words(offer)}" for offer in others[:_ALSO_NAMED]]
    return ", ".join(named) + (f" and {len(others) - _ALSO_NAMED} more" if len(others) > _ALSO_NAMED else "")


def _renter(offer: Instance) -> str:
    """'GCP', 'GCP spot'; of a custom instance its name."""
    who = offer.name if offer.provider == OWN_PROVIDER else cloud_words(offer.provider)
    return who if offer.market == ON_DEMAND else f"{who} {offer.market}"


def _measured_line(network: Predicted, instance: str) -> str:
    """For a sample with known truth: what was measured there, beside models that never saw its architecture."""
    sample = network.held.sample
    if sample is None or not _is_unchanged(network, sample) or instance not in sample.left_out_ms:
        return ""
    given = network.training.prediction.anchor_latency_ms is not None
    predicted_ms = (sample.left_out_ms if given else sample.left_out_without_latency_ms)[instance]
    measured_ms = sample.measured_ms[instance]
    off = f"{100 * (predicted_ms / measured_ms - 1):+.1f}%"
    return unbroken(
        f"{format_ms(measured_ms)}/step; models that never saw {sample.model} predict {format_ms(predicted_ms)} ({off})"
    )


def _is_unchanged(network: Predicted, sample: Sample) -> bool:
    prediction = network.training.prediction
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
