"""The model card says what the report says: another report is another card."""

from __future__ import annotations

import pytest

from profet_lab.cards.cards import model_card, real_section
from profet_lab.reports import CARD_NAME, load_real_report, load_validation
from tests.lab.cards.conftest import number_paths, one_more

pytestmark = pytest.mark.training

#: Tables of pairs, networks and families are short: these details are in the report alone.
LEFT_TO_THE_REPORT = {
    "r2",
    "rmse_ms",
    "coverage_90_without_latency",
    "median_interval_pct_without_latency",
    "mape_with_latency_and_sizes",
    "mape_without_latency_and_sizes",
    "regret_percent",
}
SHORT = {"pairs", "by_model", "by_family", "by_anchor"}


@pytest.fixture(scope="module")
def report(models) -> dict:
    return {name: part for name, part in load_validation(models).items() if name != "scatter"}


def is_shown(path) -> bool:
    if path[0] == "scaler" or "scaler_mape" in path:
        return path[-1] in ("mean_mape", "mean")
    if path[0] != "default" and path[1] != "growth":
        # Of other methods errors of means, pairs and, of the original, networks.
        known = "by_model" not in path if path[0] == "profet" else True
        return known and "pooled" not in path and path[-1] in ("mape_with_latency", "mape_without_latency")
    if path[-1] in ("r2", "rmse_ms") or "by_model" in path[3:]:
        return False
    return not SHORT & set(path) or path[-1] not in LEFT_TO_THE_REPORT


def test_another_number_is_another_card(report, models):
    card = model_card(report, models.manifest)
    shown = [path for path in number_paths(report, float) if is_shown(path)]
    assert len(shown) > 150
    assert [path for path in shown if model_card(one_more(report, path), models.manifest) == card] == []


def test_the_shipped_card_is_that_of_the_shipped_reports(repository, models):
    card = model_card(load_validation(models), models.manifest, real_section(load_real_report(models)))
    assert (repository / "models" / CARD_NAME).read_text() == card
    default = load_validation(models)["default"]
    row = next(row for row in default["pairs"] if (row["anchor"], row["target"]) == ("g4dn.xlarge", "p3.2xlarge"))
    figures = f"{row['mape_with_latency']:.2f} | {row['mape_without_latency']:.2f}"
    assert f"| g4dn.xlarge | p3.2xlarge | {figures} |" in card
    assert f"python {models.manifest['versions']['python']}" in card
