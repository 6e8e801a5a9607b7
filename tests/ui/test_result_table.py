"""The table on a page: its order, columns and open row are the session's, and its exports are what it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.result_table.show import result_table
    from ui.state.session import Table
    from ui.tables import Cell, Column

    plans = (("slow", 900.5, 0.2), ("<b>fast</b>", 90.0, None), ("middle", 450.0, 1.5))
    opened = result_table(
        plans,
        (
            Column[tuple](key="plan", title="Plan", cell=lambda plan: Cell(plan[0], "GPU"), value=lambda plan: plan[0]),
            Column[tuple](
                key="total_s",
                title="Time",
                cell=lambda plan: f"{plan[1]:.0f} s",
                value=lambda plan: plan[1],
                data=lambda plan: {"total_s": plan[1]},
            ),
            Column[tuple](
                key="total_usd",
                title="Cost",
                cell=lambda plan: "–" if plan[2] is None else f"${plan[2]}",
                value=lambda plan: plan[2],
                by_default=False,
            ),
        ),
        choices=Table("made"),
        stem="made-plans",
        title="Made plans",
        row_key=lambda plan: plan[0],
    )
    st.text(f"open: {opened and opened[0]}")


def drawn(app: AppTest) -> dict[str, Any]:
    (table,) = app.get("bidi_component")
    return json.loads(table.proto.json)


def texts(app: AppTest) -> list[list[str]]:
    return [[cell["text"] for cell in row["cells"]] for row in drawn(app)["rows"]]


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page)


def test_the_session_s_order_and_columns_are_shown(app):
    app.session_state["made_sort"] = "-total_usd"
    app.session_state["made_columns"] = ["total_usd"]
    app.run()
    assert texts(app) == [["middle", "$1.5"], ["slow", "$0.2"], ["<b>fast</b>", "–"]]
    assert [column["sorted"] for column in drawn(app)["columns"]] == ["none", "descending"]


def test_columns_are_chosen_and_the_usual_ones_leave_nothing_in_the_link(app):
    chooser = app.run().pills[0]
    assert chooser.value == ["total_s"]
    chooser.set_value(["total_s", "total_usd"]).run()
    assert [column["title"] for column in drawn(app)["columns"]] == ["Plan", "Time", "Cost"]
    assert app.session_state["made_columns"] == ["total_s", "total_usd"]
    app.pills[0].set_value(["total_s"]).run()
    assert app.session_state["made_columns"] == []
