"""What advice assumes of errors is what the shipped report measures; the measuring itself, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from profet_core import load_models
from profet_core.advice.certainty import CAME_TRUE_80_TO_90, ERROR_CORRELATION
from profet_lab.reports import load_validation
from profet_lab.validation.advice_calibration import (
    PRICE_RATIOS,
    came_true,
    comparison_claims,
    error_correlations,
    held_out_table,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def shipped() -> pd.DataFrame:
    return held_out_table(load_validation(load_models())["scatter"])


def point(target: str, model: str, measured_ms: float, half: float = 1.2) -> dict[str, object]:
    """Predicted at 100 ms, with an interval of `half` either way."""
    workload = {"model": model, "pixels": 32, "batch_size": 16}
    predicted = {"predicted_ms": 100, "low_ms": 100 / half, "high_ms": 100 * half}
    return {"anchor": "anchor", "target": target, **workload, "measured_ms": measured_ms, **predicted}


def test_the_correlation_in_the_core_is_the_measured_one(shipped):
    measured = error_correlations(shipped)
    assert len(measured) == 12
    assert measured.mean() == pytest.approx(ERROR_CORRELATION, abs=0.05)


def test_claims_come_true_about_as_often_as_they_say(shipped):
    found = came_true(comparison_claims(shipped, ERROR_CORRELATION))
    assert list(found.index) == ["50% - 60%", "60% - 70%", "70% - 80%", "80% - 90%", "90% - 95%", "95% - 99%",
                                 "99% - 100%"]  # fmt: skip
    assert (found["right"] - found["said"]).abs().max() < 0.09
    assert found["right"].is_monotonic_increasing
    # One figure in the report, the core and the documents.
    assert round(found.loc["80% - 90%", "right"], 2) == CAME_TRUE_80_TO_90
    text = " ".join((ROOT / "docs" / "ACCURACY.md").read_text(encoding="utf-8").split())
    assert f"advice calls 80 to 90% certain, {CAME_TRUE_80_TO_90:.0%} came true on held-out networks" in text


def test_errors_that_go_together_correlate():
    table = held_out_table(
        [
            *(point("a", name, value) for name, value in (("x", 90), ("y", 100), ("z", 110))),
            *(point("b", name, value) for name, value in (("x", 95), ("y", 100), ("z", 105))),
            *(point("c", name, value) for name, value in (("x", 110), ("y", 100), ("z", 90))),
        ]
    )
    assert table["z"][0] == pytest.approx(math.log(0.9) / (math.log(1.2) / 1.6448536))
    found = error_correlations(table)
    assert found["anchor", "a", "b"] > 0.99 and found["anchor", "a", "c"] < -0.99


def test_a_claim_less_likely_than_not_is_its_opposite():
    table = held_out_table([point("a", "x", 100), point("b", "x", 100)])
    claims = comparison_claims(table, 0.0)
    assert len(claims) == len(PRICE_RATIOS)
    # Equals at a price ratio of 1 are a toss-up that counts as "not cheaper"; all else is right.
    assert claims["certainty"].min() == 0.5 and claims["right"].sum() == len(PRICE_RATIOS) - 1
