"""What advice assumes of errors is what the shipped report measures; the measuring itself, by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from profet_core import load_models
from profet_core.advice.certainty import CAME_TRUE_80_TO_90, ERROR_CORRELATION
from profet_lab.reports import load_validation
from profet_lab.validation.advice_calibration import (
    came_true,
    comparison_claims,
    error_correlations,
    held_out_table,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def shipped() -> pd.DataFrame:
    return held_out_table(load_validation(load_models())["scatter"])


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
