"""The model card says what the report says: another report is another card."""

from __future__ import annotations

import pytest

from profet_lab.cards.cards import model_card, real_section
from tests.lab.cards.conftest import number_paths, one_more

pytestmark = pytest.mark.training

CASES = ("with_latency", "without_latency")
MANIFEST = {
    "default_method": "classes",
    "seed": 7,
    "methods": {
        "classes": {
            "kind": "classes",
            "with_latency": {"members": ["one", "two", "three"], "weights": [0.11, 0.57, 0.32]},
            "without_latency": {"members": ["one", "two", "three"], "weights": [0.23, 0.64, 0.13]},
        }
    },
    "versions": {"python": "3.11.99"},
    "training_data": {
        "source": "made up",
        "rows_per_instance": 4321,
        "architectures": ["VGG16", "AlexNet"],
        "sha256": {"profiles.parquet": "abc123"},
    },
}


def both(start: float, name: str = "mape") -> dict:
    return {f"{name}_{case}": start + 0.5 * number for number, case in enumerate(CASES)}


def figures(start: float) -> dict:
    return {**both(start), **both(start + 80, "coverage_90"), **both(start + 5, "median_interval_pct")}


def small_report() -> dict:
    """Every figure is another number."""
    pair = {"anchor": "slow", "target": "fast"}
    sizes = {f"mape_{case}_and_sizes": 6.1 + 0.5 * number for number, case in enumerate(CASES)}
    mean = {
        **both(7.01),
        **sizes,
        "coverage_90": 90.11,
        "median_interval_pct": 13.21,
        "coverage_90_without_latency": 90.91,
        "median_interval_pct_without_latency": 15.31,
    }
    fastest = {
        "by_anchor": {"slow": {"right_percent": 98.7, "regret_percent": 0.2}},
        "right_percent": 97.6,
        "regret_percent": 0.43,
    }
    setting = {"overall": {"n": 1234}, "mean_mape": 4.87}
    return {
        "models_checksum": "0123456789abcdef" * 4,
        "made": "2031-02-03",
        "noise_percent": {"slow": 1.23},
        "default": {
            "mean": mean,
            "worst_pair": dict(zip(CASES, (9.71, 9.81), strict=True)),
            "pairs": [{**pair, **mean, **both(8.31)}],
            "by_model": {"VGG16": figures(3.11), "AlexNet": figures(11.41)},
            "by_family": {"VGG": figures(5.17), "AlexNet": figures(12.19)},
            "family": {**figures(10.29), **both(14.37, "mape_without_twin")},
            "without_twin": both(9.43),
            "weights": {
                case: {"trees_mean": 0.187 + number, "trees_min": 0.01 + number, "trees_max": 0.39 + number}
                for number, case in enumerate(CASES)
            },
            "measured": both(6.47),
            "fastest": fastest,
        },
        "profet": {"mean": both(11.53), "pairs": [{**pair, **both(11.59)}]},
        "original": {
            "mean": both(11.63),
            "pairs": [{**pair, **both(16.67)}],
            "by_model": {"VGG16": both(6.73), "AlexNet": both(17.79)},
            "scaler_mape": {"batch": {"mean": 5.03}},
        },
        "scaler": {"settings": {"batch_true": setting}},
    }


def test_the_card_has_the_reports_numbers():
    card = model_card(small_report(), MANIFEST)
    for text in (
        "2031-02-03",
        "`0123456789abcdef`",
        "| 9.43 | 9.93 |",
        "| slow | fast | 8.31 | 8.81 | 11.59 | 12.09 | 16.67 | 17.17 | 90.1 | 13.21 |",
        "| VGG16 | 3.11 | 3.61 | 6.73 | 7.23 | 83.1 | 8.11 |",
        "| AlexNet | 12.19 | 12.69 | 92.2 | 17.19 |",
        "97.6%",
        "4321 profiles",
        "`abc123`",
        "| with latency | 0.11 | 0.57 | 0.32 |",
        "with latency 0.187 (0.01 to 0.39); without latency 1.187 (1.01 to 1.39).",
        "two steps and is divided by two",
        "python 3.11.99",
        "seed 7",
    ):
        assert text in card
    assert not any(wrong in card.lower() for wrong in ("count twice", "counts twice", "counted twice"))


#: Tables of pairs, networks and families are short: these details are on the accuracy page alone.
LEFT_TO_THE_APP = {
    "coverage_90_without_latency",
    "median_interval_pct_without_latency",
    "mape_with_latency_and_sizes",
    "mape_without_latency_and_sizes",
    "regret_percent",
}
SHORT = {"pairs", "by_model", "by_family", "by_anchor"}


def test_another_number_is_another_card():
    card, paths = model_card(small_report(), MANIFEST), number_paths(small_report(), float)
    shown = [path for path in paths if not SHORT & set(path) or path[-1] not in LEFT_TO_THE_APP]
    assert len(shown) > 60
    assert [path for path in shown if model_card(one_more(small_report(), path), MANIFEST) == card] == []


def test_the_shipped_card_is_that_of_the_shipped_reports(repository, models):
    from profet_lab.reports import CARD_NAME, load_real_report, load_validation

    card = model_card(load_validation(models), models.manifest, real_section(load_real_report(models)))
    assert (repository / "models" / CARD_NAME).read_text() == card
