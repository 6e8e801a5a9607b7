"""A table's rows in order, its cells as read, every digit for export; on a page as the session has it."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import Plan
from profet_profiles.units import format_ms_range, time_unit
from tests.made.step_times import offer, planned, row
from ui.columns import (
    IMAGES,
    INSTANCE,
    MEMORY,
    STEP,
    STEP_RANGE,
    TRAINING_COST,
    basis_column,
    out_columns,
    size_columns,
)
from ui.curves import gpu_look
from ui.tables import Cell, Column, as_csv, as_json, chosen_columns, exported_rows, sorted_rows


@dataclass(frozen=True)
class Made:
    name: str
    total_s: float | None
    usd: float = 1.0


PLANS = [Made("b", 100.0), Made("C", 20.0), Made("none", None), Made("a", 3.0), Made("nan", math.nan)]
NAME = Column[Made](key="name", title="Name", cell=lambda plan: plan.name, value=lambda plan: plan.name)
TIME = Column[Made](key="total_s", title="Time", cell=lambda plan: f"{plan.total_s}", value=lambda plan: plan.total_s)
COST = Column[Made](
    key="usd",
    title="Cost",
    cell=lambda plan: f"${plan.usd}",
    value=lambda plan: plan.usd,
    data=lambda plan: {"usd_low": plan.usd / 2, "usd_high": plan.usd * 2},
    by_default=False,
)
MADE_COLUMNS = (NAME, TIME, COST)


def names(rows: list[Made]) -> list[str]:
    return [row.name for row in rows]


def test_numbers_are_sorted_as_numbers_words_whatever_their_case_and_what_is_missing_comes_last():
    assert names(sorted_rows(PLANS, MADE_COLUMNS, "total_s")) == ["a", "C", "b", "none", "nan"]
    assert names(sorted_rows(PLANS, MADE_COLUMNS, "-total_s")) == ["b", "C", "a", "none", "nan"]
    assert names(sorted_rows(PLANS, MADE_COLUMNS, "name")) == ["a", "b", "C", "nan", "none"]
    assert names(sorted_rows(PLANS, MADE_COLUMNS, "-usd")) == names(PLANS)
    assert sorted_rows(PLANS, MADE_COLUMNS, "") == sorted_rows(PLANS, MADE_COLUMNS, "gone") == PLANS


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ([], ["name", "total_s"]),
        (["usd"], ["name", "usd"]),
        (["usd", "total_s"], ["name", "total_s", "usd"]),
        (["gone"], ["name", "total_s"]),
        (["name"], ["name"]),
    ],
)
def test_the_first_column_is_always_there_and_unknown_ones_are_ignored(asked, shown):
    assert [column.key for column in chosen_columns(MADE_COLUMNS, asked)] == shown


def test_exports_have_every_digit_and_units_in_their_names():
    rows = [Made("a", 0.1 + 0.2, 3.0), Made("b", None)]
    assert exported_rows(rows, MADE_COLUMNS) == [
        {"name": "a", "total_s": 0.1 + 0.2, "usd_low": 1.5, "usd_high": 6.0},
        {"name": "b", "total_s": None, "usd_low": 0.5, "usd_high": 2.0},
    ]


@dataclass(frozen=True)
class Row:
    plan: Plan
    fit: FitAnswer | None = None


FITS = Row(
    planned(row("slow", 200, 0.05), offer("slow", 0.5, gpu="Tesla T4", provider="aws")),
    FitAnswer(Verdict.FITS, 0.99, 512, "it ran there"),
)
TOO_SMALL = Row(
    planned(row("fast", 50, None), offer("fast", 4.8)), FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "too small")
)
ROWS = (FITS, TOO_SMALL)
COLUMNS: tuple[Column[Row], ...] = (
    INSTANCE,
    STEP,
    STEP_RANGE,
    IMAGES,
    TRAINING_COST,
    MEMORY,
    basis_column("latency_ms"),
)


def test_a_row_as_it_is_read():
    assert [column.drawn(FITS) for column in COLUMNS] == [
        Cell("T4 · AWS", beneath="slow", color=gpu_look("Tesla T4").color),
        Cell("200 ms"),
        Cell("184–217 ms"),
        Cell("320"),
        Cell("$1.00"),
        Cell("fits, ≤ 512"),
        Cell("Predicted", mark="●●●"),
    ]
    assert INSTANCE.drawn(TOO_SMALL).beneath.endswith(", does not fit")
    drawn = [column.drawn(TOO_SMALL).text for column in COLUMNS[2:]]
    assert drawn == ["–", "1,280", "$2.40", "does not fit", "Predicted"]
    assert format_ms_range(190.2, 205.4) == "190–205 ms"


def test_exports_have_every_digit_and_leave_what_is_not_known_empty():
    first, second = exported_rows(ROWS, COLUMNS)
    assert first == {
        "name": "T4 at AWS",
        "instance": "slow",
        "gpu": "Tesla T4",
        "gpu_count": 1,
        "provider": "aws",
        "market": "on-demand",
        "price_as_of": "2026",
        "batch_size": 64,
        "step_ms": 200,
        "step_low_ms": pytest.approx(184.2, abs=0.05),
        "step_high_ms": pytest.approx(217.1, abs=0.05),
        "images_per_s": 320,
        "training_usd": pytest.approx(1.0),
        "training_low_usd": pytest.approx(0.921, abs=0.001),
        "training_high_usd": pytest.approx(1.086, abs=0.001),
        "fits_in_memory": "fits",
        "largest_batch": 512,
        "basis": "measured",
        "basis_word": "Predicted",
        "basis_note": "",
        "confidence": "good",
    }
    unknown = ("step_low_ms", "step_high_ms", "largest_batch")
    assert {name: second[name] for name in unknown} == dict.fromkeys(unknown)
    assert list(first) == list(second)


HOURS = time_unit(36_000)


@pytest.mark.parametrize("columns", [size_columns(HOURS), out_columns(HOURS)])
def test_no_page_has_a_column_twice_and_each_range_stands_beneath_a_column_there(columns):
    keys = [column.key for column in columns]
    assert len(set(keys)) == len(keys)
    assert {column.narrow_under for column in columns if column.narrow_under} <= set(keys)


DATA = [
    {"instance": "g4dn.xlarge", "latency_ms": 203.295, "speedup": None, "anchor": True},
    {"instance": "p3.2xlarge", "latency_ms": 0.1 + 0.2, "speedup": 2.5, "anchor": False},
]


def test_downloads_keep_every_digit_and_no_text_is_a_formula_to_a_spreadsheet():
    assert json.loads(as_json(DATA)) == DATA
    read = list(csv.DictReader(io.StringIO(as_csv(DATA))))
    assert [row["latency_ms"] for row in read] == ["203.295", repr(0.1 + 0.2)]
    assert read[0]["speedup"] == ""
    texts = ["=1+1", "+1", "-1", "@a", "\t=1", " =cmd|'/c calc'!A0", "\uff1d1", "a=1", "5 - 3"]
    rows = [{"=cmd|x.json (ms)": text, "usd": -1.5} for text in texts]
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["'=cmd|x.json (ms)"] for row in read] == [*(f"'{text}" for text in texts[:-2]), *texts[-2:]]
    assert {row["usd"] for row in read} == {"-1.5"}


def page() -> None:
    import streamlit as st

    from ui.session import Table
    from ui.tables import Cell, Column, result_table

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
    )
    st.text(f"open: {opened and opened[0]}")


def drawn(app: AppTest) -> dict[str, Any]:
    (table,) = app.get("bidi_component")
    return json.loads(table.proto.json)


def texts(app: AppTest) -> list[list[str]]:
    return [[cell["text"] for cell in row["cells"]] for row in drawn(app)["rows"]]


def test_the_session_s_order_and_columns_are_shown_and_chosen():
    app = AppTest.from_function(page)
    app.session_state["made_sort"] = "-total_usd"
    app.session_state["made_columns"] = ["total_usd"]
    app.run()
    assert texts(app) == [["middle", "$1.5"], ["slow", "$0.2"], ["<b>fast</b>", "–"]]
    assert [column["sorted"] for column in drawn(app)["columns"]] == ["none", "descending"]
    app = AppTest.from_function(page)
    app.session_state["made:columns:open"] = True
    app.run()
    chooser = app.pills[0]
    assert chooser.value == ["total_s"]
    chooser.set_value(["total_s", "total_usd"]).run()
    assert [column["title"] for column in drawn(app)["columns"]] == ["Plan", "Time", "Cost"]
    assert app.session_state["made_columns"] == ["total_s", "total_usd"]
    app.pills[0].set_value(["total_s"]).run()
    assert app.session_state["made_columns"] == []
