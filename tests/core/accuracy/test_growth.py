"""The report's section on other sizes, as records."""

from __future__ import annotations

import pytest

from profet_core.accuracy.validation import GrowthAccuracy
from profet_core.accuracy.validation_report import growth_accuracies

ROW = {"axis": "batch", "knots": 2, "n": 9, "mape": 11.0, "coverage_90": 90.0, "median_interval_pct": 20.0}


def test_rows_are_read_with_and_without_a_distance():
    found = list(growth_accuracies({"carried": [{**ROW, "proportional": 40.0}], "between": [{**ROW, "knots": None}]}))
    assert found == [
        GrowthAccuracy("carried", "batch", 2, 9, 11.0, 40.0, 90.0, 20.0),
        GrowthAccuracy("between", "batch", None, 9, 11.0, None, 90.0, 20.0),
    ]
    assert not list(growth_accuracies({}))


@pytest.mark.parametrize("change", [{"mape": "11"}, {"n": -1}, {"axis": 3}, {"coverage_90": float("nan")}])
def test_a_figure_that_is_none_is_refused(change):
    with pytest.raises((TypeError, ValueError)):
        list(growth_accuracies({"chain": [{**ROW, **change}]}))
