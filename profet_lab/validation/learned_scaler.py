"""The default scaler on architectures it has not seen, from true and from predicted end latencies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from profet_core.scaling.axes import KNOTS
from profet_core.scaling.learned import LearnedScaler
from profet_lab.measurements.tables import Measurements
from profet_lab.scalers.documented import AXIS_COLUMN, curves_of
from profet_lab.scalers.learned import curve_rows, held_out_scalers

_KEYS = ["anchor", "instance", "model", "other_size"]


class OutOfFoldScalers:
    """One scaler for each architecture of the measurements, fitted without it.

    Attributes
    ----------
    rows : `curve_rows` of the axis.
    scalers : architecture -> the scaler that never saw it.
    """

    def __init__(self, measurements: Measurements, axis: str) -> None:
        self.axis = axis
        self.rows = curve_rows(measurements, axis)
        self.scalers: Mapping[str, LearnedScaler] = dict(held_out_scalers(self.rows, axis))

    def from_true_ends(self, *, informed: bool) -> pd.DataFrame:
        """Inner sizes of every curve, once for each other instance the head's share may be known from.

        `informed` False uses both latencies only. Columns instance, model, size, true_ms and scaled_ms.
        """
        smallest, largest = KNOTS[self.axis][0], KNOTS[self.axis][-1]
        return self._table(self.rows.assign(low_ms=self.rows[smallest], high_ms=self.rows[largest]), informed)

    def from_predicted_ends(self, predictions: pd.DataFrame, predicted: str, *, informed: bool) -> pd.DataFrame:
        """As `from_true_ends`, from the ends in column `predicted` of out-of-fold predictions.

        Falling endpoints are refused when serving; here they count as level at the smaller size.
        """
        parts = []
        for (anchor, target), part in predictions.groupby(["anchor", "target"]):
            true, ends = (curves_of(part, value, self.axis) for value in ("true_ms", predicted))
            known = true.assign(
                low_ms=ends.iloc[:, 0], high_ms=ends.iloc[:, -1], anchor=str(anchor), instance=str(target)
            )
            parts.append(known.rename_axis(index=["model", "other_size"], columns=None).reset_index())
        known = pd.concat(parts, ignore_index=True)
        known["high_ms"] = np.maximum(known["high_ms"], known["low_ms"] * (1 + 1e-9))
        return self._table(known.merge(self.rows[[*_KEYS, "head_share"]], on=_KEYS, how="left"), informed)

    def _table(self, rows: pd.DataFrame, informed: bool) -> pd.DataFrame:
        parts = []
        for model, part in rows.groupby("model"):
            context = part[["other_size", "head_share"]].astype(float)
            context = context if informed else context * np.nan
            scaled_ms = self.scalers[str(model)].inner_ms(
                part["instance"].tolist(),
                part["low_ms"].to_numpy(float),
                part["high_ms"].to_numpy(float),
                *context.to_numpy().T,
            )
            for column, size in enumerate(KNOTS[self.axis][1:-1]):
                known = part[["instance", "model"]].assign(true_ms=part[size], scaled_ms=scaled_ms[:, column])
                parts.append(known.assign(**{AXIS_COLUMN[self.axis]: size}))
        return pd.concat(parts, ignore_index=True)
