"""What a choice of GPU costs is counted on measured steps, at the cheapest price."""

from __future__ import annotations

from math import sqrt

import pandas as pd
import pytest

from profet_core.catalog import load_shipped
from profet_lab.savings import COLUMNS, cheapest_usd_per_hour, measured_cells, savings

T4, A100, H100 = "Tesla T4", "A100-SXM4-80GB", "H100-SXM5-80GB"
#: Predictions pick the A100 in the first training, which is right, and the H100 in the second, which is twice as dear.
STEPS = pd.DataFrame(
    [
        (0, T4, True, 100.0, 110.0),
        (0, A100, True, 10.0, 10.0),
        (0, H100, True, 9.0, 9.0),
        (1, A100, True, 20.0, 10.0),
        (1, H100, True, 8.0, 10.0),
        (2, A100, True, 1.0, 1.0),
        (3, "TITAN V", True, 1.0, 1.0),
        (3, A100, True, 1.0, 1.0),
    ],
    columns=list(COLUMNS),
)


def test_a_rule_costs_what_its_gpus_took_relative_to_the_predicted_choice():
    prices = {T4: 0.5, A100: 1.0, H100: 2.0}
    by_rule = {row["rule"]: row for row in savings(STEPS, prices)}
    assert {row["groups"] for row in by_rule.values()} == {2}, "one GPU, or one with a price, is no choice"
    # 18 and 20 beside 10 and 20; 55 and 10; 10 and 10.
    more = {
        "the newest GPU": sqrt(1.8 * 1.0),
        "the lowest price per hour": sqrt(5.5 * 0.5),
        "the most TFLOPS per dollar": sqrt(1.8 * 1.0),
        "the best in hindsight": sqrt(1.0 * 0.5),
    }
    assert {rule: row["more_percent"] for rule, row in by_rule.items()} == pytest.approx(
        {rule: 100 * (times - 1) for rule, times in more.items()}
    )
    assert by_rule["the lowest price per hour"]["dearer_percent"] == 50


def test_a_gpu_s_price_is_its_cheapest_that_can_be_rented_on_demand():
    prices = cheapest_usd_per_hour(load_shipped())
    assert prices["Tesla V100-SXM2-16GB"] == 0.1381 and "Tesla K80" not in prices


def test_of_measured_cells_the_anchor_s_own_step_is_known_and_time_counts_twice_where_asked():
    """The V100 is three times as fast as the T4, at six times its price; from the T4 it is expected to be slower."""
    workload = {"model": "VGG16", "pixels": 32, "batch_size": 16}
    points = [
        {"anchor": "t4", "target": "v100", "measured_ms": 10.0, "predicted_ms": 40.0, **workload},
        {"anchor": "v100", "target": "t4", "measured_ms": 30.0, "predicted_ms": 31.0, **workload},
    ]
    v100 = "Tesla V100-SXM2-16GB"
    steps = measured_cells(points, {"t4": T4, "v100": v100})
    assert sorted(zip(steps["gpu"], steps["predicted_ms"], strict=True)) == [(T4, 30), (T4, 31), (v100, 10), (v100, 40)]
    (cost, double) = ({row["rule"]: row for row in savings(steps, {T4: 0.5, v100: 3.0}, power)} for power in (1, 2))
    assert cost["the best in hindsight"]["more_percent"] == pytest.approx(0)
    # From the T4 the pick is the T4, at 1.5 times the V100's time x cost.
    assert double["the best in hindsight"]["more_percent"] == pytest.approx(100 * (sqrt(1 / 1.5) - 1))
    assert double["the lowest price per hour"]["dearer_percent"] == 50
