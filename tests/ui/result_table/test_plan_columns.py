"""The columns that tables of plans share: as read, as sorted, and every digit of them for export."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pages.estimate.columns import estimate_columns
from pages.scale_out.columns import OUT_COLUMNS
from pages.sizes.columns import SIZE_COLUMNS
from profet_core.advice.plans import Plan
from profet_core.latency import Interval
from profet_core.memory.fit import FitAnswer, Verdict
from tests.made.step_times import offer, planned, row
from ui.charts.gpu_look import gpu_look
from ui.tables import (
    IMAGES,
    INSTANCE,
    MEMORY,
    STEP,
    TRAINING_COST,
    Cell,
    Column,
    confidence_column,
    exported_rows,
    step_range_column,
)


@dataclass(frozen=True)
class Row:
    plan: Plan
    fit: FitAnswer | None = None
    ends: Interval | None = None


FITS = Row(
    planned(row("slow", 200, 0.05), offer("slow", 0.5, gpu="Tesla T4", provider="aws")),
    FitAnswer(Verdict.FITS, 0.99, 512, "it ran there"),
    Interval(180, 220),
)
TOO_SMALL = Row(planned(row("fast", 50), offer("fast", 4.8)), FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "too small"))
ROWS = (FITS, TOO_SMALL)
COLUMNS: tuple[Column[Row], ...] = (
    INSTANCE,
    STEP,
    step_range_column(lambda one: one.ends),
    IMAGES,
    TRAINING_COST,
    MEMORY,
    confidence_column("latency_ms"),
)


def test_a_row_as_it_is_read():
    assert [column.drawn(FITS) for column in COLUMNS] == [
        Cell("slow", beneath="T4, AWS", colour=gpu_look("Tesla T4").colour),
        Cell("200 ms"),
        Cell("180–220 ms"),
        Cell("320"),
        Cell("$1.00"),
        Cell("fits, ≤ 512"),
        Cell("good", mark="●●●"),
    ]
    assert INSTANCE.drawn(TOO_SMALL).beneath.endswith(", does not fit")
    assert [column.drawn(TOO_SMALL).text for column in COLUMNS[2:]] == ["–", "1,280", "$2.40", "does not fit", "good"]


def test_exports_have_every_digit_and_leave_what_is_not_known_empty():
    first, second = exported_rows(ROWS, COLUMNS)
    assert first == {
        "instance": "slow",
        "gpu": "Tesla T4",
        "provider": "aws",
        "batch_size": 64,
        "latency_ms": 200,
        "latency_low_ms": 180,
        "latency_high_ms": 220,
        "images_per_s": 320,
        "training_usd": pytest.approx(1.0),
        "fits_in_memory": "fits",
        "largest_batch": 512,
        "confidence": "good",
    }
    unknown = ("latency_low_ms", "latency_high_ms", "largest_batch")
    assert {name: second[name] for name in unknown} == dict.fromkeys(unknown)
    assert list(first) == list(second)


@pytest.mark.parametrize("columns", [SIZE_COLUMNS, OUT_COLUMNS, estimate_columns(compared=True)])
def test_no_page_has_a_column_twice_and_each_range_stands_beneath_a_column_there(columns):
    keys = [column.key for column in columns]
    assert len(set(keys)) == len(keys)
    assert {column.narrow_under for column in columns if column.narrow_under} <= set(keys)
