"""Compare: many profiles in, each with its own anchor and latency; latency and cost on every instance side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.compare.candidates import Candidate, Compared, compare, own_candidate, sample_candidate
from pages.compare.figures import dots
from pages.compare.own_rows import show_own_list
from pages.compare.view import COST, METRICS, Row, data_rows, instances_of, rows_of, table_row
from ui.basis import marked
from ui.charts.style import show_chart
from ui.errors import inspect_link
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.method import method_input
from ui.inputs.uploads import upload_input
from ui.state.own_profiles import own_profiles
from ui.state.page_keys import compare_keys
from ui.state.resources import Resources
from ui.state.settings import COMPARE_BY
from ui.tables import download_buttons
from ui.texts import plain

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
    show_own_list(resources)
    candidates = _candidates(resources)
    if not candidates:
        _empty(resources)
        return
    _result(compare(resources, candidates, st.session_state["method"]))


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
    rows = rows_of(compared)
    if rows:
        _on_every_instance(rows)


def _on_every_instance(rows: Sequence[Row]) -> None:
    st.subheader("On every instance", anchor="compared")
    choice("Compare", "compare_by", COMPARE_BY, METRICS)
    metric = st.session_state["compare_by"]
    instances = instances_of(rows)
    show_chart(dots(rows, metric, instances), "compare-dots")
    heads = {one.instance: marked(one.instance, one.basis) for row in rows for one in row.prediction.predictions}
    form = "$%.4f" if metric == COST else None
    st.dataframe(
        [table_row(row, metric, instances) for row in rows],
        hide_index=True,
        column_config={
            "Profile": st.column_config.TextColumn(pinned=True, width=150),
            **{name: st.column_config.NumberColumn(heads[name], format=form) for name in instances},
        },
        key="compare-table",
    )
    unit = "Milliseconds a step" if metric != COST else "US dollars for 1,000 steps"
    st.caption(
        f"{unit}; empty where the anchor's latency isn't known. Circles: instances of the training data; diamonds "
        "and \\*: estimates for GPUs that nobody profiled, less sure. Hollow: retired. A click on a column's head "
        "sorts; intervals are in the downloads and on Predict."
    )
    download_buttons([line for row in rows for line in data_rows(row)], "profet-compare")


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


run_page(body, compare_keys)
