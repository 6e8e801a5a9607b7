"""All listed profiles side by side, on every GPU."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.profiles.candidates import Compared
from pages.profiles.compare.figures import dots
from pages.profiles.compare.view import COST, METRICS, Row, data_rows, instances_of, one_a_gpu, rows_of, table_row
from ui.basis import marked
from ui.charts.style import show_chart
from ui.inputs.fields import choice
from ui.state.resources import Resources
from ui.state.settings import COMPARE_BY
from ui.tables import download_buttons
from ui.texts import plain


def show_comparison(resources: Resources, compared: Sequence[Compared]) -> None:
    """What can't be predicted and why, warnings, a chart, a table and downloads."""
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
        _on_every_instance(resources, rows)


def _on_every_instance(resources: Resources, rows: Sequence[Row]) -> None:
    choice("By", "compare_by", COMPARE_BY, METRICS)
    metric = st.session_state["compare_by"]
    instances = one_a_gpu(resources.catalog, instances_of(rows), resources.models.instances)
    gpus = {name: resources.catalog[name].gpu for name in instances}
    show_chart(dots(rows, metric, gpus), "compare-dots")
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
    st.caption(f"{unit}. Of each GPU the cheapest to rent. \\*: GPUs that nobody profiled, less sure. Hollow: retired.")
    download_buttons([line for row in rows for line in data_rows(row)], "profet-compare")


def _refused(refused: Sequence[Compared]) -> None:
    if not refused:
        return
    lines = "\n".join(f"- **{plain(row.candidate.name)}**: {plain(row.refusal)}" for row in refused)
    st.error(f"Nothing is predicted from these:\n{lines}", icon=":material/error:")


def _warnings(compared: Sequence[Compared]) -> None:
    warned = [row for row in compared if row.warnings and not row.refusal]
    if not warned:
        return
    count = f"{len(warned)} profile{'s' if len(warned) > 1 else ''}"
    with st.expander(f"Before you read the numbers: warnings for {count}", expanded=True, icon=":material/warning:"):
        for row in warned:
            lines = "\n".join(f"- {plain(line)}" for line in row.warnings)
            st.markdown(f"**{plain(row.candidate.name)}**\n{lines}")
