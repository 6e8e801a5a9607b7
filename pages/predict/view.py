"""A prediction as bars and rows: what the Predict page shows of each instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core import Catalog, InstancePrediction, Prediction
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_ms, format_usd
from ui.basis import SHORT_BASIS, marked
from ui.charts.bars import Bar
from ui.memory import fit_cell
from ui.tables import MISSING, format_range_ms, gpu_cell, or_missing, price_source, speedup_cell
from ui.texts import plain


@dataclass(frozen=True, slots=True)
class Predicted:
    """A prediction with what stands beside it.

    Attributes
    ----------
    fits : instance -> whether a step fits in its memory; empty where the models can't tell.
    """

    catalog: Catalog
    prediction: Prediction
    fits: Mapping[str, FitAnswer]


def latency_bars(prediction: Prediction) -> list[Bar]:
    """Latency of one step, where it is known."""
    return [
        Bar(
            label=marked(_label(prediction, row), row.basis),
            value=latency_ms,
            text=format_ms(latency_ms),
            retired=row.status == "retired",
            ends=(row.interval.low_ms, row.interval.high_ms) if row.interval else None,
            rough=row.basis.is_rough,
        )
        for row in prediction.predictions
        if (latency_ms := row.latency_ms) is not None
    ]


def cost_bars(prediction: Prediction) -> list[Bar]:
    """Cost of a thousand steps, where it is known."""
    return [
        Bar(
            label=marked(_label(prediction, row), row.basis),
            value=cost_usd,
            text=format_usd(cost_usd),
            retired=row.status == "retired",
            rough=row.basis.is_rough,
        )
        for row in prediction.predictions
        if (cost_usd := row.cost_per_1000_steps_usd) is not None
    ]


def text_rows(predicted: Predicted) -> list[dict[str, str]]:
    """One row an instance, as the page's table shows it."""
    return [_text_row(predicted, row) for row in predicted.prediction.predictions]


def data_rows(predicted: Predicted) -> list[dict[str, object]]:
    """One row an instance with full digits, for download."""
    return [_data_row(predicted, row) for row in predicted.prediction.predictions]


def _label(prediction: Prediction, row: InstancePrediction) -> str:
    return f"{row.instance} (anchor)" if row.instance == prediction.anchor else row.instance


def _speedup(prediction: Prediction, row: InstancePrediction) -> float | None:
    if prediction.anchor_latency_ms is None or row.latency_ms is None:
        return None
    return prediction.anchor_latency_ms / row.latency_ms


def _text_row(predicted: Predicted, row: InstancePrediction) -> dict[str, str]:
    prediction, fits, entry = predicted.prediction, predicted.fits, predicted.catalog[row.instance]
    level = prediction.interval_level
    return {
        "Instance": _label(prediction, row),
        "Step latency": or_missing(row.latency_ms, format_ms),
        **({} if level is None else {f"{level:.0%} interval": _interval_cell(row)}),
        "Latency is": MISSING if row.latency_ms is None else SHORT_BASIS[row.basis],
        "GPU": gpu_cell(entry),
        **({"Memory (batch)": fit_cell(fits.get(row.instance))} if fits else {}),
        "Speed-up": speedup_cell(_speedup(prediction, row)),
        "Cost of 1,000 steps": or_missing(row.cost_per_1000_steps_usd, lambda usd: plain(format_usd(usd))),
        "Price per hour": plain(format_usd(row.usd_per_hour)),
        "Price from": price_source(entry),
        "Status": row.status,
    }


def _interval_cell(row: InstancePrediction) -> str:
    return format_range_ms(row.interval.low_ms, row.interval.high_ms) if row.interval else MISSING


def _data_row(predicted: Predicted, row: InstancePrediction) -> dict[str, object]:
    prediction, entry = predicted.prediction, predicted.catalog[row.instance]
    fit, interval = predicted.fits.get(row.instance), row.interval
    ends = {"low_ms": interval and interval.low_ms, "high_ms": interval and interval.high_ms}
    return {
        "instance": row.instance,
        "anchor": row.instance == prediction.anchor,
        "gpu": entry.gpu,
        "gpu_count": entry.gpu_count,
        "latency_ms": row.latency_ms,
        **({} if prediction.interval_level is None else ends),
        "speedup": _speedup(prediction, row),
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "usd_per_hour": row.usd_per_hour,
        "price_as_of": entry.as_of,
        "region": entry.region,
        "status": row.status,
        "basis": row.basis,
        "note": row.note,
        **({"memory": fit and fit.verdict, "largest_batch": fit and fit.largest_batch} if predicted.fits else {}),
    }
