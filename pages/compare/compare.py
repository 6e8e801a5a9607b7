"""Compare: many profiles in, each with its own anchor and latency; latency and cost on every instance side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from pages.compare.candidates import Candidate, Compared, compare, own_candidate, sample_candidate
from pages.compare.view import COST, METRICS, data_rows, dots, instances_of, table_row
from profet_core.prediction.steps import counted
from profet_core.units import format_ms
from ui.basis import MARK
from ui.errors import inspect_link, plain
from ui.frame import run_page
from ui.inputs.own_list import remove_all_button, rename_input
from ui.inputs.profile import method_input
from ui.inputs.questions import step_questions
from ui.inputs.steps import steps_input, steps_words
from ui.inputs.uploads import upload_input
from ui.state.own_profiles import MAX_PROFILES, OwnProfile, own_profiles, remove_own
from ui.state.resources import Resources
from ui.state.session import say_recorded
from ui.state.settings import COMPARE_KEYS
from ui.tables import download_buttons

_EXAMPLES = 3


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Several profiles side by side")
    st.markdown("Other batch sizes, other networks, other versions: each profile's step latency and cost on every GPU.")
    with st.container(border=True):
        upload_input(resources, "compare")
        st.multiselect(
            "Samples beside them",
            tuple(resources.samples),
            format_func=lambda name: resources.samples[name].title,
            key="compare_samples",
            persist_state="session",
            placeholder="none",
        )
        method_input(resources)
    _own_list(resources)
    candidates = _candidates(resources)
    if not candidates:
        _empty(resources)
        return
    _result(compare(resources, candidates, st.session_state["method"]))


def keys(_: Resources) -> Iterable[str]:
    """Settings of the page's link; a visitor's own profiles can't be in it."""
    return COMPARE_KEYS


def _own_list(resources: Resources) -> None:
    held = own_profiles()
    if not held:
        return
    st.subheader(f"Your profiles ({len(held)} of at most {MAX_PROFILES})", anchor="yours")
    for own in held.values():
        with st.container(border=True, gap="small"):
            _own_row(resources, own)
    if len(held) > 1:
        remove_all_button("compare:remove-all")


def _own_row(resources: Resources, own: OwnProfile) -> None:
    name, anchor, latency = st.columns([4, 3, 2], gap="small", vertical_alignment="bottom")
    with name:
        rename_input(own, "compare")
    anchor_key, latency_key = f"compare:anchor:{own.key}", f"compare:latency:{own.key}"
    # What Predict has been told since this field was last drawn comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = own.anchor, own.latency_ms
    anchor.selectbox(
        "Recorded on (anchor)",
        resources.models.instances,
        index=None,
        format_func=resources.instance_label,
        placeholder="where?",
        key=anchor_key,
        on_change=_recorded,
        args=(own.key, anchor_key, latency_key),
    )
    latency.number_input(
        "Step latency, ms",
        value=None,
        min_value=0.0,
        format="%g",
        step=1.0,
        placeholder="not known",
        key=latency_key,
        on_change=_recorded,
        args=(own.key, anchor_key, latency_key),
    )
    st.caption(_facts(own))
    steps_input(own, "compare", own.latency_ms)
    with st.container(horizontal=True, gap="small"):
        if own.asks_precision or own.asks_compiled:
            with st.popover("Precision, compiled?", icon=":material/help:"):
                step_questions(own, "compare")
        st.button(
            "Remove",
            key=f"compare:remove:{own.key}",
            icon=":material/delete:",
            type="tertiary",
            on_click=remove_own,
            args=(own.key,),
        )


def _facts(own: OwnProfile) -> str:
    profile, meta = counted(own.profile, own.latency_ms), own.profile.meta
    parts = (
        profile.source_format,
        None if own.asks_steps else steps_words(profile),
        meta.framework,
        meta.gpu,
        f"batch size {meta.batch_size}" if meta.batch_size else None,
        f"{meta.pixels} pixels" if meta.pixels else None,
        f"GPU rows {format_ms(profile.device_total_us / 1000)}" if profile.device_total_us else "no GPU rows",
        f"host rows {format_ms(profile.host_total_us / 1000)}",
    )
    return plain(", ".join(part for part in parts if part))


def _recorded(own_key: str, anchor_key: str, latency_key: str) -> None:
    # 0 is what an emptied field becomes on some keyboards; no step takes no time.
    say_recorded(own_key, st.session_state[anchor_key], st.session_state[latency_key] or None)


def _candidates(resources: Resources) -> list[Candidate]:
    found = [own_candidate(own) for own in own_profiles().values()]
    return found + [sample_candidate(resources, name) for name in st.session_state["compare_samples"]]


def _empty(resources: Resources) -> None:
    st.info("Nothing to compare yet: upload profiles, or begin with samples.", icon=":material/compare_arrows:")
    st.button(
        "Load three samples",
        key="compare:examples",
        type="primary",
        icon=":material/science:",
        on_click=_load_examples,
        args=(tuple(resources.samples)[:_EXAMPLES],),
    )


def _load_examples(names: Sequence[str]) -> None:
    st.session_state["compare_samples"] = list(names)


def _result(compared: Sequence[Compared]) -> None:
    _refused([row for row in compared if row.refusal])
    waiting = [row.candidate.name for row in compared if row.prediction is None and not row.refusal]
    if waiting:
        st.warning(
            f"Say above where {plain(', '.join(waiting))} "
            f"{'was' if len(waiting) == 1 else 'were'} recorded: predictions go from there.",
            icon=":material/help:",
        )
    _warnings(compared)
    done = [row for row in compared if row.prediction is not None]
    if not done:
        return
    st.subheader("On every instance", anchor="compared")
    st.segmented_control(
        "Compare", tuple(METRICS), format_func=METRICS.get, key="compare_by", required=True, persist_state="session"
    )
    metric = st.session_state["compare_by"]
    instances = instances_of(done)
    st.plotly_chart(dots(done, metric, instances), config={"displayModeBar": False}, key="compare-dots")
    rough = {one.instance for row in done for one in row.prediction.predictions if one.basis.is_rough}
    form = "$%.4f" if metric == COST else None
    st.dataframe(
        [table_row(row, metric, instances) for row in done],
        hide_index=True,
        column_config={
            "Profile": st.column_config.TextColumn(pinned=True, width=150),
            **{
                name: st.column_config.NumberColumn(f"{name}{MARK}" if name in rough else name, format=form)
                for name in instances
            },
        },
        key="compare-table",
    )
    unit = "Milliseconds a step" if metric != COST else "US dollars for 1,000 steps"
    st.caption(
        f"{unit}; empty where the anchor's latency isn't known. Circles: instances of the training data; diamonds "
        "and \\*: estimates for GPUs that nobody profiled, less sure. Hollow: retired. A click on a column's head "
        "sorts; intervals are in the downloads and on Predict."
    )
    download_buttons([line for row in done for line in data_rows(row)], "profet-compare")


def _refused(refused: Sequence[Compared]) -> None:
    if not refused:
        return
    lines = "\n".join(f"- **{plain(row.candidate.name)}**: {plain(row.refusal)}" for row in refused)
    st.error(f"Nothing is predicted from these:\n{lines}", icon=":material/error:")
    inspect_link()


def _warnings(compared: Sequence[Compared]) -> None:
    warned = [row for row in compared if row.warnings and not row.refusal]
    if not warned:
        return
    count = f"{len(warned)} profile{'s' if len(warned) > 1 else ''}"
    with st.expander(f"Before you read the numbers: warnings for {count}", expanded=True, icon=":material/warning:"):
        for row in warned:
            lines = "\n".join(f"- {plain(line)}" for line in row.warnings)
            st.markdown(f"**{plain(row.candidate.name)}**\n{lines}")


run_page(body, keys)
