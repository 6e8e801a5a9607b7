"""A table's rows in order and its exports, as pure functions of records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from ui.tables import Column, chosen_columns, exported_rows, sorted_rows


@dataclass(frozen=True)
class Plan:
    name: str
    total_s: float | None
    usd: float = 1.0


PLANS = [Plan("b", 100.0), Plan("C", 20.0), Plan("none", None), Plan("a", 3.0), Plan("nan", math.nan)]
NAME = Column[Plan](key="name", title="Name", cell=lambda plan: plan.name, value=lambda plan: plan.name)
TIME = Column[Plan](key="total_s", title="Time", cell=lambda plan: f"{plan.total_s}", value=lambda plan: plan.total_s)
COST = Column[Plan](
    key="usd",
    title="Cost",
    cell=lambda plan: f"${plan.usd}",
    value=lambda plan: plan.usd,
    data=lambda plan: {"usd_low": plan.usd / 2, "usd_high": plan.usd * 2},
    by_default=False,
)
COLUMNS = (NAME, TIME, COST)


def names(rows: list[Plan]) -> list[str]:
    return [row.name for row in rows]


def test_numbers_are_sorted_as_numbers_and_what_is_missing_comes_last_both_ways():
    assert names(sorted_rows(PLANS, COLUMNS, "total_s")) == ["a", "C", "b", "none", "nan"]
    assert names(sorted_rows(PLANS, COLUMNS, "-total_s")) == ["b", "C", "a", "none", "nan"]


def test_words_are_sorted_whatever_their_case_and_equals_stay_as_they_came():
    assert names(sorted_rows(PLANS, COLUMNS, "name")) == ["a", "b", "C", "nan", "none"]
    assert names(sorted_rows(PLANS, COLUMNS, "-usd")) == names(PLANS)
    assert sorted_rows(PLANS, COLUMNS, "") == sorted_rows(PLANS, COLUMNS, "gone") == PLANS


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
    assert [column.key for column in chosen_columns(COLUMNS, asked)] == shown


def test_exports_have_every_digit_and_units_in_their_names():
    rows = [Plan("a", 0.1 + 0.2, 3.0), Plan("b", None)]
    assert exported_rows(rows, COLUMNS) == [
        {"name": "a", "total_s": 0.1 + 0.2, "usd_low": 1.5, "usd_high": 6.0},
        {"name": "b", "total_s": None, "usd_low": 0.5, "usd_high": 2.0},
    ]
