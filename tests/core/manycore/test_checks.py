"""The table of checks against what was published."""

from __future__ import annotations

import pytest

from profet_core.manycore.checks import check_rows, mean_apart_percent, speedup_row


def test_all_twelve_predictions_have_the_published_digits():
    published = [row for row in check_rows() if row.published_min is not None]
    assert len(published) == 12 and all(row.same_digits for row in published)
    assert [row.published_min for row in published[:4]] == [6.6, 5.4, 4.9, 4.6]


def test_how_far_the_models_are_apart():
    """By hand, of the small network at 480 to 3,840 threads: 2.6, 1.6, 1.0 and 0.6 %."""
    rows = check_rows()
    found = [row.apart_percent for row in rows if row.network == "small" and row.threads > 240]
    assert [f"{each:.1f}" for each in found] == ["-2.6", "-1.6", "-1.0", "-0.6"]
    assert mean_apart_percent(rows, "small", extrapolated=True) == pytest.approx(-sum(found) / 4)
    assert mean_apart_percent(rows, "large", extrapolated=False) == pytest.approx(5.9, abs=0.05)
    speedup = speedup_row()
    assert (speedup.threads, speedup.speedup_a, speedup.speedup_b) == pytest.approx((244, 99.5, 115.1), abs=0.05)
