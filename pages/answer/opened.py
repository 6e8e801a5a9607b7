"""One plan opened: its memory, what its numbers rest on, where its price turns, and how it stands to another."""

from __future__ import annotations

import streamlit as st

from profet_core.advice.advise import Advice
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import basis_caveats, comparison_sentences
from profet_core.advice.headline import plan_summary
from profet_core.advice.plans import Plan
from profet_core.advice.shortlist import others_of_gpus
from profet_core.artifacts.samples import Sample
from profet_core.catalog import Instance
from profet_core.catalog.instance import ON_DEMAND, OWN_PROVIDER
from profet_core.catalog.naming import cloud_words
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_ms, format_usd, listed_price
from ui.memory import fit_sentence, fits_of
from ui.phrases import joined_phrase
from ui.predicted.network import Network
from ui.state.resources import Resources
from ui.state.settings import DEFAULT_METHOD, USUAL_PLAN
from ui.surer import can_be_surer, surer_link, surer_sentence
from ui.tables import price_source, price_words
from ui.texts import plain, unbroken

#: Other offers of the same GPU that are named; the table has them all.
_ALSO_NAMED = 8


def show_opened(resources: Resources, network: Network, advice: Advice, plan: Plan) -> None:
    """Everything there is to say about one plan."""
    with st.container(border=True):
        st.subheader(plain(plan_summary(plan)), anchor="opened")
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown("\n".join(f"- {line}" for line in _facts(resources, network, advice, plan)))
            if can_be_surer(plan.basis):
                surer_link()
        with right:
            _against(advice, plan)


def _facts(resources: Resources, network: Network, advice: Advice, plan: Plan) -> list[str]:
    offer, batch_size = plan.offer, advice.request.workload.batch_size
    retired = ", retired" if offer.status == "retired" else ""
    found = [
        f"**Price**: {plain(_price_line(offer))} ({price_source(offer)}{retired})",
        f"**Step**: {_step_line(plan)}",
        f"**Rests on**: {plain(plan.basis.words)}{f': {plain(plan.latency_note)}' if plan.latency_note else ''}",
    ]
    if can_be_surer(plan.basis):
        found.append(f"**Surer**: {surer_sentence(resources)}")
    fits = fits_of(resources, network.outcome, [plan.instance], batch_size, network.chosen_pixels, network.second)
    fit = fits.get(plan.instance)
    if fit is not None:
        found.append(f"**Memory**: {plain(fit_sentence(fit))}")
    if also := _also_at(advice, plan):
        found.append(f"**Also at**: {plain(also)}")
    if plan.note:
        found.append(f"**Keep in mind**: {plain(plan.note)}")
    row = _predicted_on(network, plan.instance)
    if row is not None and row.members:
        members = ", ".join(f"{name} {format_ms(latency_ms)}" for name, latency_ms in row.members.items())
        joined = joined_phrase(resources.models, network.outcome.prediction)
        found.append(f"**Members, as profiled** ({joined}): {plain(members)}")
    measured = _measured_line(network, plan.instance)
    return [*found, *([measured] if measured else [])]


def _price_line(offer: Instance) -> str:
    """'$21.96 an hour for 8 GPUs, $2.74 each'."""
    price = f"{listed_price(offer.usd_per_hour)} an hour"
    if offer.gpu_count == 1:
        return price
    return f"{price} for {offer.gpu_count} GPUs, {format_usd(offer.usd_per_gpu_hour)} each"


def _also_at(advice: Advice, plan: Plan) -> str:
    """Who else rents out as many of these GPUs, and for how much an hour, the cheapest first."""
    others = sorted((other.offer for other in others_of_gpus(advice.plans, plan)), key=lambda offer: offer.usd_per_hour)
    named = [f"{_renter(offer)} {price_words(offer)}" for offer in others[:_ALSO_NAMED]]
    more = len(others) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _renter(offer: Instance) -> str:
    """'GCP', 'GCP spot'; of one's own its name."""
    who = offer.name if offer.provider == OWN_PROVIDER else cloud_words(offer.provider)
    return who if offer.market == ON_DEMAND else f"{who} {offer.market}"


def _step_line(plan: Plan) -> str:
    images = f"{plan.images_per_s:,.0f} images a second"
    return plain(f"{format_ms(plan.latency_ms)} at batch size {plan.batch_size}, {images}")


def _predicted_on(network: Network, instance: str) -> InstancePrediction | None:
    rows = network.outcome.prediction.predictions
    return next((row for row in rows if row.instance == instance), None)


def _measured_line(network: Network, instance: str) -> str:
    """For a sample whose truth is known: what was measured there, beside models that never saw its architecture."""
    sample = network.outcome.held.sample
    if sample is None or not _is_unchanged(network, sample) or instance not in sample.measured_ms:
        return ""
    given = network.outcome.prediction.anchor_latency_ms is not None
    predicted_ms = (sample.left_out_ms if given else sample.left_out_without_latency_ms)[instance]
    measured_ms = sample.measured_ms[instance]
    off = f"{100 * (predicted_ms / measured_ms - 1):+.1f} %"
    return unbroken(
        f"Measured there: {format_ms(measured_ms)} a step; models that never saw {sample.model} say "
        f"{format_ms(predicted_ms)} ({off})"
    )


def _is_unchanged(network: Network, sample: Sample) -> bool:
    prediction = network.outcome.prediction
    return (
        prediction.anchor == sample.anchor
        and prediction.anchor_latency_ms in (None, sample.latency_ms)
        and st.session_state["method"] == DEFAULT_METHOD
    )


def _against(advice: Advice, plan: Plan) -> None:
    """The plan beside another one: the one next to it, until another is chosen."""
    others = {one.label: one for one in advice.plans if one != plan}
    if not others:
        return
    if st.session_state["against"] not in others:
        st.session_state["against"] = USUAL_PLAN
    usual = _next_to(advice, plan)
    names = {label: f"{one.title} ({one.gpu_words})" for label, one in others.items()}
    labels = {USUAL_PLAN: names[usual.label]} | {label: names[label] for label in others if label != usual.label}
    st.selectbox("Against", tuple(labels), format_func=labels.__getitem__, key="against", persist_state="session")
    chosen = others.get(st.session_state["against"], usual)
    # What either rests on stands in its own row.
    said_there = set(basis_caveats((plan, chosen)))
    for line in comparison_sentences(compare(plan, chosen, advice.request.interval_level)):
        if line not in said_there:
            st.markdown(unbroken(line))


def _next_to(advice: Advice, plan: Plan) -> Plan:
    """The answer; of the answer itself the plan that it is least surely better than."""
    if plan != advice.answer:
        return advice.answer
    rival = advice.cheapest.rival
    if plan == advice.cheapest.plan and rival is not None:
        return rival.plan
    return next(one for one in advice.plans if one != plan)
