"""Measure what advice assumes: correlation of errors, and calibration of its confidence.

`python -m profet_lab.validation.advice_calibration` reads the held-out predictions of `models/validation.json` (every
workload predicted by models that never saw its architecture, the anchor's latency given), so it takes seconds.
A statement is "A is cheaper than B" at a price ratio, for every two targets of an anchor and ratios from 1/16 to 16
in steps of a quarter doubling: none depends on the truth. Errors of one architecture are correlated: all counts come
from 15 architectures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from profet_core.advice.certainty import (
    ERROR_CORRELATION,
    chance_less,
)
from profet_core.artifacts.models import load_models
from profet_core.latency import Interval, log_sd_of, sd_of_ratio
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.reports import load_validation

#: Price ratios at which two instances are compared: 1/16 to 16, four to a doubling.
PRICE_RATIOS = 2.0 ** (np.arange(-16, 17) / 4)
#: Ranges of confidence.
BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def held_out_table(points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a workload and pair: the report's `scatter`, `deviation` and the standardized log error `z`."""
    table = pd.DataFrame(points)
    ends = zip(table["low_ms"], table["high_ms"], strict=True)
    table["deviation"] = [log_sd_of(Interval(low, high).log_half_width) for low, high in ends]
    table["z"] = np.log(table["measured_ms"] / table["predicted_ms"]) / table["deviation"]
    return table


def error_correlations(table: pd.DataFrame) -> pd.Series:
    """Correlation of the standardized errors of every two targets of an anchor, indexed by (anchor, A, B)."""
    found: dict[tuple[str, str, str], float] = {}
    for anchor, part in table.groupby("anchor"):
        errors = part.pivot(index=WORKLOAD, columns="target", values="z").corr()
        found |= {(str(anchor), a, b): errors[b][a] for a, b in combinations(errors.columns, 2)}
    return pd.Series(found)


def comparison_claims(table: pd.DataFrame, correlation: float) -> pd.DataFrame:
    """Confidence (0.5 to 1) of every "A is cheaper than B", and whether it was right."""
    rows = []
    for _, part in table.groupby("anchor"):
        by_target = dict(iter(part.groupby("target")))
        for a, b in combinations(by_target, 2):
            both = by_target[a].merge(by_target[b], on=WORKLOAD, suffixes=("", "_b"))
            for one in both.to_dict("records"):
                deviation = sd_of_ratio(one["deviation"], one["deviation_b"], correlation)
                for ratio in PRICE_RATIOS:
                    chance = chance_less(ratio * one["predicted_ms"] / one["predicted_ms_b"], deviation)
                    rows.append((one["model"], chance, ratio * one["measured_ms"] < one["measured_ms_b"]))
    claims = pd.DataFrame(rows, columns=["model", "certainty", "right"])
    # A statement below 50 % confidence counts as its opposite.
    against = claims["certainty"] < 0.5
    claims.loc[against, "certainty"] = 1 - claims.loc[against, "certainty"]
    claims.loc[against, "right"] = ~claims.loc[against, "right"]
    return claims


def came_true(claims: pd.DataFrame) -> pd.DataFrame:
    """Per range of confidence: statements, architectures, mean confidence and share that was right.

    Columns n, architectures, said (the mean certainty) and right.
    """
    ranges = np.searchsorted(BOUNDS, claims["certainty"], side="right") - 1
    found = claims.groupby(ranges).agg(
        n=("right", "size"), architectures=("model", "nunique"), said=("certainty", "mean"), right=("right", "mean")
    )
    found.index = [f"{BOUNDS[i]:.0%} - {(*BOUNDS[1:], 1.0)[i]:.0%}" for i in found.index]
    return found


def main() -> None:
    """Print both measurements."""
    table = held_out_table(load_validation(load_models())["scatter"])
    pairs = error_correlations(table)
    print("Correlation of the errors on two targets of one anchor")
    print(pairs.round(2).to_string())
    print(f"mean {pairs.mean():.2f}, lowest {pairs.min():.2f}, highest {pairs.max():.2f}")
    for correlation in (0.0, ERROR_CORRELATION):
        print(f"\nCheaper or not, correlation {correlation}")
        print(came_true(comparison_claims(table, correlation)).round(3).to_string())


if __name__ == "__main__":
    main()
