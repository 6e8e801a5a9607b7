"""What the accuracy page shows of the default method, by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from profet_lab.validation.default import default_report, fastest_report, scatter

pytestmark = pytest.mark.training


def hand_made() -> pd.DataFrame:
    """Two networks of two equal workloads on four instances; AlexNet takes twice as long as VGG16.

    Predictions are 1.1 and 0.8 times the truth, but from b to a AlexNet is predicted to take 50 ms in place of 20.
    """
    rows = []
    true_ms = {"a": 10.0, "b": 20.0, "c": 30.0, "d": 40.0}
    for anchor in true_ms:
        for target in (name for name in true_ms if name != anchor):
            for model, longer, factor in (("VGG16", 1, 1.1), ("AlexNet", 2, 0.8)):
                for batch_size in (16, 32):
                    true = longer * true_ms[target]
                    factor_here = 2.5 if (anchor, target, model) == ("b", "a", "AlexNet") else factor
                    row = {"anchor": anchor, "target": target, "model": model, "pixels": 32, "batch_size": batch_size}
                    row |= {"repeat": 1, "true_ms": true}
                    for case in ("with_latency", "without_latency"):
                        row |= {
                            case: factor_here * true,
                            f"{case}_and_sizes": 1.05 * true,
                            f"{case}_family": 1.3 * true,
                            f"{case}_half": math.log(1.15),
                            f"{case}_family_half": math.log(1.25 if model == "VGG16" else 1.5),
                        }
                    # VGG16 held out, the trees weigh a fifth; AlexNet held out, two fifths or nothing.
                    row |= {"with_latency_tree_weight": 0.2 if model == "VGG16" else 0.4}
                    row |= {"without_latency_tree_weight": 0.2 if model == "VGG16" else 0.0}
                    rows.append(row)
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def report() -> dict:
    return default_report(hand_made())


def test_a_pairs_figures_by_hand(report):
    rows = {(row["anchor"], row["target"]): row for row in report["pairs"]}
    assert len(rows) == 12
    one = rows["a", "b"]
    # 20 ms as 22, 40 ms as 32: 10 and 20 % off; 15 % hold 22 but not 32.
    assert one["n"] == 4
    assert one["mape_with_latency"] == pytest.approx(15)
    assert one["mape_with_latency_and_sizes"] == pytest.approx(5)
    assert one["rmse_ms"] == pytest.approx(math.sqrt((2**2 + 8**2) / 2))
    assert one["r2"] == pytest.approx(1 - 68 / 200)
    assert one["coverage_90"] == pytest.approx(50)
    assert one["median_interval_pct"] == pytest.approx(100 * (1.15 - 1 / 1.15) / 2)
    assert rows["b", "a"]["mape_with_latency"] == pytest.approx((10 + 150) / 2)


def test_means_and_the_worst_pair_by_hand(report):
    assert report["mean"]["mape_with_latency"] == pytest.approx((11 * 15 + 80) / 12)
    assert report["mean"]["coverage_90_without_latency"] == pytest.approx(50)
    assert report["worst_pair"] == pytest.approx({"with_latency": 80, "without_latency": 80})


def test_architectures_and_families_by_hand(report):
    assert report["by_model"]["VGG16"]["mape_with_latency"] == pytest.approx(10)
    assert report["by_model"]["AlexNet"]["mape_with_latency"] == pytest.approx((11 * 20 + 150) / 12)
    assert report["by_model"]["VGG16"]["coverage_90_with_latency"] == pytest.approx(100)
    assert report["by_model"]["AlexNet"]["coverage_90_with_latency"] == pytest.approx(0)
    # 1.3 times the truth: a quarter does not hold it, a half does.
    assert {name: row["coverage_90_with_latency"] for name, row in report["by_family"].items()} == {
        "VGG": 0.0,
        "AlexNet": 100.0,
    }
    assert report["family"]["mape_with_latency"] == pytest.approx(30)
    assert report["family"]["coverage_90_without_latency"] == pytest.approx(50)
    # AlexNet alone has no near twin.
    assert report["without_twin"]["mape_with_latency"] == report["by_model"]["AlexNet"]["mape_with_latency"]


def test_the_weights_of_the_trees_by_hand(report):
    assert report["weights"] == {
        "with_latency": pytest.approx({"trees_mean": 0.3, "trees_min": 0.2, "trees_max": 0.4}),
        "without_latency": pytest.approx({"trees_mean": 0.1, "trees_min": 0.0, "trees_max": 0.2}),
    }


def test_the_fastest_instance_by_hand():
    """From b, AlexNet is thought fastest on b itself (40 ms), though a takes 20 ms."""
    found = fastest_report(hand_made())
    assert {name: row["right_percent"] for name, row in found["by_anchor"].items()} == {
        "a": 100.0,
        "b": 50.0,
        "c": 100.0,
        "d": 100.0,
    }
    assert found["by_anchor"]["b"]["regret_percent"] == pytest.approx(50)
    assert (found["right_percent"], found["regret_percent"]) == pytest.approx((87.5, 12.5))


def test_a_part_of_the_pairs_has_no_fastest_instance():
    assert default_report(hand_made().query("target != 'a'"))["fastest"] is None


def test_the_scatter_has_one_point_a_workload():
    points = scatter(hand_made())
    assert len(points) == 12 * 4
    first = points[0]
    assert (first["anchor"], first["target"], first["model"]) == ("a", "b", "AlexNet")
    assert (first["measured_ms"], first["predicted_ms"]) == (40, 32)
    assert (first["low_ms"], first["high_ms"]) == (round(32 / 1.15, 3), round(32 * 1.15, 3))
