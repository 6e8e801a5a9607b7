"""Predict: one profile in, step latency and cost on every instance out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from pages.predict.intervals import interval_title, likeness_lines, say_interval
from pages.predict.members import method_phrase, show_members
from profet_core import InputError, InstancePrediction, Prediction
from profet_core.advice.advise import Advice, advise
from profet_core.advice.picks import Pick
from profet_core.advice.request import Workload
from profet_core.advice.words import pick_line
from profet_core.memory.fit import FitAnswer
from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from profet_core.prediction.input_wait import input_wait_warning
from profet_core.units import format_ms, format_significant, format_usd
from ui.basis import BADGES, MARK, SHORT_BASIS, say_basis
from ui.charts import Bar, bars, measured_and_predicted
from ui.errors import plain, show_error, show_warning
from ui.frame import run_page
from ui.inputs.measured import measured_input
from ui.inputs.method import method_input, tf32_input
from ui.inputs.profile import profile_input
from ui.inputs.recorded import anchor_input, latency_input, latency_question
from ui.inputs.steps import besides_steps
from ui.memory import fit_cell, fits_of, say_fits
from ui.paths import page_path
from ui.phrases import profile_phrase
from ui.predicted.measured import predict_measured
from ui.predicted.outcome import Outcome
from ui.state.own_profiles import own_profiles
from ui.state.page_keys import predict_keys
from ui.state.resources import Resources
from ui.state.settings import DEFAULT_METHOD
from ui.state.slots import PREDICT_SLOT
from ui.tables import MISSING, download_buttons, format_price, format_range_ms, price_source, show_table


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Which cloud GPU should train this network?")
    st.markdown(
        "Give the profile of one training step on a GPU you have; see what a step takes and costs on the others."
    )
    with st.container(border=True):
        left, right = st.columns(2, gap="medium")
        with left:
            profile_input(resources, PREDICT_SLOT, "Profile")
            _further_links()
        with right:
            anchor_input(resources, PREDICT_SLOT.anchor_key)
            latency_input(PREDICT_SLOT)
            method_input(resources)
            tf32_input()
    measured_input(resources)
    outcome = predict_measured(resources)
    latency_question(resources, PREDICT_SLOT, outcome)
    _warnings(outcome)
    _answer(resources, outcome)
    _left_out_fold(resources, outcome)


def _further_links() -> None:
    with st.container(horizontal=True, gap="medium"):
        st.page_link(page_path("inspect"), label="What is in it?", icon=":material/troubleshoot:")
        count = len(own_profiles())
        if count > 1:
            st.page_link(page_path("compare"), label=f"Compare all {count}", icon=":material/compare_arrows:")


def _warnings(outcome: Outcome) -> None:
    if outcome.unused_measurement:
        show_error(outcome.unused_measurement)
    for line in besides_steps(outcome.prediction.warnings, outcome.held.profile, outcome.held.own):
        show_warning(line)
    _what_waits(outcome)
    for note in outcome.held.profile.ignored:
        st.caption(f"Left out: {plain(note)}.")


def _what_waits(outcome: Outcome) -> None:
    """What of the step another GPU doesn't change."""
    profile = outcome.held.profile
    found = diagnose(profile, outcome.prediction.anchor_latency_ms)
    if found.kind == "input" and input_wait_warning(profile):
        # Said among the warnings, with what the numbers leave out.
        return
    if not found.another_gpu_helps:
        st.info(plain(found.sentence), icon=":material/hourglass_empty:")
    elif found.gpu_busy_share < MOSTLY_BUSY:
        st.caption(plain(found.sentence))


def _answer(resources: Resources, outcome: Outcome) -> None:
    prediction = outcome.prediction
    known = [row for row in prediction.predictions if row.latency_ms is not None]
    st.subheader("Latency and cost per instance", anchor="answer")
    st.caption(f"{method_phrase(resources.models, prediction)} For {profile_phrase(outcome)}.")
    fits = fits_of(resources, outcome, [row.instance for row in prediction.predictions])
    _callouts(resources, prediction, fits)
    likeness_lines(prediction)
    say_fits(fits)
    left, right = st.columns(2, gap="medium")
    left.plotly_chart(
        bars(
            [_latency_bar(prediction, row) for row in known],
            f"Latency of one step{interval_title(prediction)}",
        ),
        config={"displayModeBar": False},
        key="latency-bars",
    )
    right.plotly_chart(
        bars([_cost_bar(prediction, row) for row in known], "Cost of 1,000 steps"),
        config={"displayModeBar": False},
        key="cost-bars",
    )
    say_interval(resources, prediction)
    rows = prediction.predictions
    show_table([_text_row(resources, prediction, row, fits) for row in rows], "Prediction per instance")
    say_basis(prediction.predictions)
    _say_what_has_no_number(resources, prediction)
    download_buttons([_data_row(resources, prediction, row, fits) for row in rows], "profet-prediction")
    show_members(resources.models, prediction)
    st.page_link(
        page_path("guide"), label="How these numbers are made, and what they can't tell", icon=":material/menu_book:"
    )


def _callouts(resources: Resources, prediction: Prediction, fits: Mapping[str, FitAnswer]) -> None:
    """The best instances, each with how sure it is that no other GPU is better; what does not fit is none of them."""
    every, rentable = (_advice(resources, prediction, fits, include_retired) for include_retired in (True, False))
    if every is None:
        return
    columns = st.columns(3 if rentable else 2, gap="medium", border=True)
    _callout(columns[0], "Fastest", prediction, every.fastest, lambda row: f"{format_ms(row.latency_ms)} a step")
    _callout(columns[1], "Cheapest", prediction, every.cheapest, _cost_line)
    if rentable:
        _callout(columns[2], "Cheapest you can rent today", prediction, rentable.cheapest, _latency_and_cost_line)
    retired = [row.instance for row in prediction.predictions if row.status == "retired"]
    if retired:
        st.caption(
            f"Grey and hatched: retired, no longer rented out, shown because they were measured ({', '.join(retired)})."
        )


def _advice(
    resources: Resources, prediction: Prediction, fits: Mapping[str, FitAnswer], include_retired: bool
) -> Advice | None:
    """What to rent for a thousand steps; None if nothing is left to choose from."""
    try:
        return advise(
            prediction.predictions,
            resources.catalog.values(),
            Workload(images=1000, batch_size=1, epochs=1),
            include_retired=include_retired,
            fits=fits,
            interval_level=prediction.interval_level,
        )
    except InputError:
        return None


def _callout(column, title: str, prediction: Prediction, pick: Pick, line: Callable[[InstancePrediction], str]) -> None:
    row = next(row for row in prediction.predictions if row.instance == pick.plan.instance)
    badges = (":gray-badge[retired]" if row.status == "retired" else "", BADGES.get(row.basis, ""))
    column.metric(title, row.instance)
    column.markdown(" ".join(part for part in (plain(line(row)), *badges) if part))
    sure = pick_line(pick)
    if sure:
        column.caption(plain(sure[0].upper() + sure[1:]))


def _cost_line(row: InstancePrediction) -> str:
    return f"{format_usd(row.cost_per_1000_steps_usd)} per 1,000 steps"


def _latency_and_cost_line(row: InstancePrediction) -> str:
    return f"{format_ms(row.latency_ms)} a step, {format_usd(row.cost_per_1000_steps_usd)} per 1,000"


def _label(prediction: Prediction, row: InstancePrediction) -> str:
    return f"{row.instance} (anchor)" if row.instance == prediction.anchor else row.instance


def _marked(prediction: Prediction, row: InstancePrediction) -> str:
    return f"{_label(prediction, row)}{MARK if row.basis.is_rough else ''}"


def _latency_bar(prediction: Prediction, row: InstancePrediction) -> Bar:
    label, text, retired = _marked(prediction, row), format_ms(row.latency_ms), row.status == "retired"
    low_ms, high_ms = (row.interval.low_ms, row.interval.high_ms) if row.interval else (None, None)
    return Bar(label, row.latency_ms, text, retired, low_ms, high_ms, row.basis.is_rough)


def _cost_bar(prediction: Prediction, row: InstancePrediction) -> Bar:
    cost_usd = row.cost_per_1000_steps_usd
    label, text, retired = _marked(prediction, row), format_usd(cost_usd), row.status == "retired"
    return Bar(label, cost_usd, text, retired, rough=row.basis.is_rough)


def _speedup(prediction: Prediction, row: InstancePrediction) -> float | None:
    if prediction.anchor_latency_ms is None or row.latency_ms is None:
        return None
    return prediction.anchor_latency_ms / row.latency_ms


def _text_row(
    resources: Resources, prediction: Prediction, row: InstancePrediction, fits: Mapping[str, FitAnswer]
) -> dict[str, str]:
    entry = resources.catalog[row.instance]
    speedup = _speedup(prediction, row)
    cost_usd = row.cost_per_1000_steps_usd
    level = prediction.interval_level
    between = format_range_ms(row.interval.low_ms, row.interval.high_ms) if row.interval else MISSING
    return {
        "Instance": _label(prediction, row),
        "Step latency": MISSING if row.latency_ms is None else format_ms(row.latency_ms),
        **({} if level is None else {f"{level:.0%} interval": between}),
        "Latency is": SHORT_BASIS[row.basis] if row.latency_ms is not None else MISSING,
        "GPU": entry.gpu_model if entry.gpu_count == 1 else f"{entry.gpu_model} (1 of {entry.gpu_count})",
        **({"Memory (batch)": fit_cell(fits.get(row.instance))} if fits else {}),
        "Speed-up": MISSING if speedup is None else f"{format_significant(speedup)}×",
        "Cost of 1,000 steps": MISSING if cost_usd is None else plain(format_usd(cost_usd)),
        "Price per hour": plain(format_price(row.usd_per_hour)),
        "Price from": price_source(entry),
        "Status": row.status,
    }


def _data_row(
    resources: Resources, prediction: Prediction, row: InstancePrediction, fits: Mapping[str, FitAnswer]
) -> dict[str, object]:
    entry = resources.catalog[row.instance]
    fit = fits.get(row.instance)
    return {
        "instance": row.instance,
        "anchor": row.instance == prediction.anchor,
        "gpu": entry.gpu,
        "gpu_count": entry.gpu_count,
        "latency_ms": row.latency_ms,
        **(
            {}
            if prediction.interval_level is None
            else {
                "low_ms": row.interval and row.interval.low_ms,
                "high_ms": row.interval and row.interval.high_ms,
            }
        ),
        "speedup": _speedup(prediction, row),
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "usd_per_hour": row.usd_per_hour,
        "price_as_of": entry.as_of,
        "region": entry.region,
        "status": row.status,
        "basis": row.basis,
        "note": row.note,
        **({"memory": fit and fit.verdict, "largest_batch": fit and fit.largest_batch} if fits else {}),
    }


def _say_what_has_no_number(resources: Resources, prediction: Prediction) -> None:
    shown = {row.instance for row in prediction.predictions}
    others = [name for name in resources.catalog if name not in shown]
    if others and prediction.method == resources.models.default_method:
        st.caption(f"A price only, as nothing is known of their GPU: {plain(', '.join(others))}.")


def _left_out_fold(resources: Resources, outcome: Outcome) -> None:
    """Predicted against measured, for a sample that still has its own anchor and latency, or none."""
    sample, prediction = outcome.held.sample, outcome.prediction
    if sample is None:
        return
    st.subheader("Predicted against measured", anchor="against-measured")
    if prediction.anchor != sample.anchor or prediction.anchor_latency_ms not in (None, sample.latency_ms):
        st.caption("Shown for a sample with its own anchor and latency; you changed one of them.")
        return
    if st.session_state["method"] != DEFAULT_METHOD:
        st.caption("Shown for the default method.")
        return
    given = prediction.anchor_latency_ms is not None
    predicted_ms = sample.left_out_ms if given else sample.left_out_without_latency_ms
    st.markdown(
        f"The truth is known for this sample. The predictions in **this** part come from models trained **without** "
        f"any {plain(sample.model)}: they never saw this architecture, as they never saw yours. "
        f"The numbers further up come from the shipped models, which were trained on all of them."
    )
    left, right = st.columns(2, gap="medium")
    left.plotly_chart(
        measured_and_predicted(sample.measured_ms, predicted_ms),
        config={"displayModeBar": False},
        key="against-measured",
    )
    with right:
        show_table(
            [_against_row(name, sample.measured_ms[name], predicted_ms[name]) for name in sample.measured_ms],
            "Measured and predicted",
        )


def _against_row(instance: str, measured_ms: float, predicted_ms: float) -> dict[str, str]:
    return {
        "Instance": instance,
        "Measured": format_ms(measured_ms),
        "Predicted, never seen": format_ms(predicted_ms),
        "Off by": f"{predicted_ms / measured_ms - 1:+.1%}",
    }


run_page(body, predict_keys)
