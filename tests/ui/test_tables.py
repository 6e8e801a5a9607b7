"""A table's rows in order, its cells as read, every digit for export; on a page as the session has it."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from profet_core.catalog import load_gpus
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import Period, Plan
from profet_profiles.units import format_ms_range, time_unit
from tests.made.step_times import offer, plans_of, row
from ui.columns import BASIS, INSTANCE, MEMORY, STEP, STEP_RANGE, out_columns, predict_columns, size_columns
from ui.tables import Column, TableCell, as_csv, as_json, chosen_columns, exported_rows, in_order

ROWS = [*zip(("b", "C", "none", "a", "nan"), (100.0, 20.0, None, 3.0, math.nan), strict=True)]
NAME = Column("name", "Name", "0")
TIME = Column("total_s", "Time", "1")
COST = Column(
    "usd", "Cost", lambda row: 1.0, "${}".format, exports={"usd": lambda row: 1.0, "times_two": "1"}, by_default=False
)
MADE_COLUMNS = (NAME, TIME, COST)


def test_numbers_are_sorted_as_numbers_words_whatever_their_case_and_what_is_missing_comes_last():
    def names(order: str) -> list[str]:
        return [name for name, _ in in_order(ROWS, MADE_COLUMNS, order)]

    assert names("total_s") == ["a", "C", "b", "none", "nan"]
    assert names("-total_s") == ["b", "C", "a", "none", "nan"]
    assert names("name") == ["a", "b", "C", "nan", "none"]
    assert names("-usd") == names("") == names("gone") == [name for name, _ in ROWS]


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
    assert exported_rows([ROWS[3], ROWS[2]], MADE_COLUMNS) == [
        {"name": "a", "total_s": 3.0, "usd": 1.0, "times_two": 3.0},
        {"name": "none", "total_s": None, "usd": 1.0, "times_two": None},
    ]
    assert [cell.text for cell in TIME.drawn(ROWS)][:3] == ["100.0", "20.0", "–"]


def made_plans() -> list[Plan]:
    """One that fits, and one that doesn't and has no interval."""
    return plans_of(
        (row("slow", 200, 0.05), offer("slow", 0.5, gpu="Tesla T4", provider="aws")),
        (row("fast", 50, None), offer("fast", 4.8)),
        fits=[
            FitAnswer(Verdict.FITS, 0.99, 512, "it ran there"),
            FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "too small"),
        ],
    )


COLUMNS = (INSTANCE, STEP, STEP_RANGE, next(one for one in size_columns(time_unit(1)) if one.key == "training_usd"))
COLUMNS += (MEMORY, BASIS)


def test_a_row_as_it_is_read():
    first, second = zip(*(column.drawn(made_plans()) for column in COLUMNS), strict=True)
    assert list(first) == [
        TableCell("T4 · AWS", beneath="slow"),
        TableCell("200 ms"),
        TableCell("184–217 ms"),
        TableCell("$1.00"),
        TableCell("Fits (up to batch 512)"),
        TableCell("Predicted", mark="●●●"),
    ]
    assert second[0].beneath.endswith(", doesn't fit")
    assert [cell.text for cell in second[2:]] == ["–", "$2.40", "Doesn't fit", "Predicted"]
    assert format_ms_range(190.2, 205.4) == "190–205 ms"


def test_exports_have_every_digit_and_leave_what_is_not_known_empty():
    first, second = exported_rows(made_plans(), COLUMNS)
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


@pytest.mark.parametrize(
    "columns", [size_columns(HOURS), out_columns(HOURS), predict_columns(Period.EPOCH, HOURS, load_gpus())]
)
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
    from ui.tables import Column, TableCell, result_table

    opened = result_table(
        [("slow", 900.5, 0.2), ("<b>fast</b>", 90.0, None), ("middle", 450.0, 1.5)],
        (
            Column("plan", "Plan", "0", lambda name: TableCell(name, "GPU")),
            Column("total_s", "Time", "1", "{:.0f} s".format),
            Column("total_usd", "Cost", "2", "${}".format, by_default=False),
        ),
        label="0",
        choices=Table("made"),
        stem="made-plans",
        title="Made plans",
    )
    st.text(f"open: {opened}")


def drawn(app: AppTest) -> dict[str, Any]:
    (table,) = app.get("bidi_component")
    return json.loads(table.proto.json)


def texts(app: AppTest) -> list[list[str]]:
    return [[cell["text"] for cell in row["cells"]] for row in drawn(app)["rows"]]


def test_the_session_s_order_and_columns_are_shown_and_chosen():
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["made_sort"] = "-total_usd"
    app.session_state["made_columns"] = ["total_usd"]
    app.run()
    assert texts(app) == [["middle", "$1.5"], ["slow", "$0.2"], ["<b>fast</b>", "–"]]
    assert [column["sorted"] for column in drawn(app)["columns"]] == ["none", "descending"]
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["made:columns:open"] = True
    app.run()
    chooser = app.pills[0]
    assert chooser.value == ["total_s"]
    chooser.set_value(["total_s", "total_usd"]).run()
    assert [column["title"] for column in drawn(app)["columns"]] == ["Plan", "Time", "Cost"]
    assert app.session_state["made_columns"] == ["total_s", "total_usd"]
    app.pills[0].set_value(["total_s"]).run()
    assert app.session_state["made_columns"] == []
