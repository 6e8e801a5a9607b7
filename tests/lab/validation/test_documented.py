"""Reports of the out-of-fold predictions, and the reproduction of the baseline on the real folds."""

import pandas as pd
import pytest

from profet_core.sizes.axes import AXIS_RANGE, KNOTS
from profet_lab.cards.cards import SCALER_MAPE, baseline_pairs

#: How far above the baseline's figure a reproduction may lie, percentage points.
PAIR_MARGIN, SCALER_MARGIN = 1.5, 0.3
#: Largest error of the default scaler between true end latencies, percent (the documented one: 5.0, 8.0).
DEFAULT_SCALER = {"batch": 4.0, "pixels": 6.0}


def predictions(rows) -> pd.DataFrame:
    columns = ["anchor", "target", "model", "true_ms", "with_latency", "without_latency"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(line=table["true_ms"], forest=table["true_ms"], dense=2 * table["true_ms"])


def test_the_report_averages_rows_within_pairs_and_pairs_within_the_mean():
    from profet_lab.validation.documented import documented_report

    report = documented_report(
        predictions(
            [
                ("a", "b", "X", 100.0, 110.0, 150.0),
                ("a", "b", "Y", 200.0, 200.0, 200.0),
                ("b", "a", "X", 10.0, 7.0, 10.0),
                ("b", "a", "X", 20.0, 20.0, 20.0),
            ]
        )
    )
    first, second = report["pairs"]
    assert (first["anchor"], first["target"], first["n"]) == ("a", "b", 2)
    assert first["mape_with_latency"] == pytest.approx(5.0)
    assert first["mape_without_latency"] == pytest.approx(25.0)
    assert first["mape_by_member"] == {"line": 0.0, "forest": 0.0, "dense": pytest.approx(100.0)}
    assert first["by_model"]["X"]["mape_with_latency"] == pytest.approx(10.0)
    # R2 of (110, 200) against (100, 200): 1 - 100 / 5000; RMSE sqrt(100 / 2).
    assert first["r2"] == pytest.approx(0.98)
    assert first["rmse_ms"] == pytest.approx(50**0.5)
    assert second["mape_with_latency"] == pytest.approx(15.0)
    assert report["mean"]["mape_with_latency"] == pytest.approx(10.0)
    assert report["pooled"]["overall"]["n"] == 4
    assert report["pooled"]["a"]["mape_with_latency"] == pytest.approx(5.0)
    assert report["by_model"]["X"]["mape_with_latency"] == pytest.approx((10 + 30 + 0) / 3)


def test_the_scaler_reproduces_the_baseline_and_the_default_one_is_better(measurements):
    """On architectures held out."""
    from profet_lab.validation.documented import scaler_report

    report = scaler_report(measurements, None)
    settings = report["settings"]
    for axis in AXIS_RANGE:
        found = settings[f"{axis}_true"]
        assert found["mean_mape"] <= SCALER_MAPE[axis]["mean"] + SCALER_MARGIN
        for instance, row in found["by_instance"].items():
            assert row["mape"] <= SCALER_MAPE[axis][instance] + SCALER_MARGIN
            assert row["n"] % (len(KNOTS[axis]) - 2) == 0
        assert report["settings_default"][f"{axis}_true"]["mean_mape"] <= DEFAULT_SCALER[axis]


def test_one_pair_reproduces_the_baseline(measurements):
    """`profet validate` does all twelve; one of them here keeps the suite short."""
    from profet_lab.validation.documented import documented_report, documented_table

    anchor, target = "g4dn.xlarge", "p2.xlarge"
    report = documented_report(documented_table(measurements, [(anchor, target)]))
    (found,), baseline = report["pairs"], baseline_pairs().loc[(anchor, target)]
    assert found["n"] == 2763
    assert found["mape_with_latency"] <= baseline["mape_with_latency"] + PAIR_MARGIN
    assert found["mape_without_latency"] <= baseline["mape_without_latency"] + PAIR_MARGIN
