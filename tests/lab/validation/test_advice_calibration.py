"""What advice assumes of errors is measured here, on the held-out predictions of the shipped report."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from profet_core import load_models
from profet_core.advice.recommend import CAME_TRUE_80_TO_90, ERROR_CORRELATION, chance_less
from profet_core.latency import Interval, log_sd_of, sd_of_ratio
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.reports import load_validation

ROOT = Path(__file__).resolve().parents[3]
#: At which two instances are compared: 1/16 to 16, four to a doubling. None depends on the truth.
PRICE_RATIOS = 2.0 ** (np.arange(-16, 17) / 4)
BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@pytest.fixture(scope="module")
def held_out() -> list[pd.DataFrame]:
    """By anchor, a row a workload and target: the report's `scatter`, `sd` of the log error, and that error over it."""
    table = pd.DataFrame(load_validation(load_models())["scatter"])
    ends = zip(table["low_ms"], table["high_ms"], strict=True)
    table["sd"] = [log_sd_of(Interval(low, high).log_half_width) for low, high in ends]
    table["z"] = np.log(table["measured_ms"] / table["predicted_ms"]) / table["sd"]
    return [part for _, part in table.groupby("anchor")]


def test_the_correlation_in_the_core_is_the_measured_one(held_out):
    errors = [part.pivot(index=WORKLOAD, columns="target", values="z").corr() for part in held_out]
    measured = [table.loc[a, b] for table in errors for a, b in combinations(table, 2)]
    assert len(measured) == 12 and np.mean(measured) == pytest.approx(ERROR_CORRELATION, abs=0.05)


def test_claims_come_true_about_as_often_as_they_say(held_out):
    """That A is cheaper than B at a price ratio; with less than 50 % confidence, that it isn't."""
    claims = []
    for part in held_out:
        by_target = dict(iter(part.groupby("target")))
        for a, b in combinations(by_target, 2):
            for one in by_target[a].merge(by_target[b], on=WORKLOAD, suffixes=("", "_b")).to_dict("records"):
                sd = sd_of_ratio(one["sd"], one["sd_b"], ERROR_CORRELATION)
                for ratio in PRICE_RATIOS:
                    chance = chance_less(ratio * one["predicted_ms"] / one["predicted_ms_b"], sd)
                    right = ratio * one["measured_ms"] < one["measured_ms_b"]
                    claims.append((chance, right) if chance >= 0.5 else (1 - chance, not right))
    said, right = np.array(claims).T
    ranges = np.searchsorted(BOUNDS, said, side="right") - 1
    found = pd.DataFrame({"said": said, "right": right}).groupby(ranges).mean()
    assert list(found.index) == list(range(len(BOUNDS)))
    assert (found["right"] - found["said"]).abs().max() < 0.09 and found["right"].is_monotonic_increasing
    # One figure in the report, the core and the documents.
    assert round(found.loc[BOUNDS.index(0.8), "right"], 2) == CAME_TRUE_80_TO_90
    text = " ".join((ROOT / "docs" / "ACCURACY.md").read_text(encoding="utf-8").split())
    assert f"advice calls 80 to 90% certain, {CAME_TRUE_80_TO_90:.0%} came true on held-out networks" in text
