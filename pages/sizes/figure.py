"""The curves of Sizes as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from pages.sizes.rows import SizeRow
from profet_core.units import MS_PER_S
from ui.charts.curves import Curve, curves
from ui.tables import gpu_cell


def size_curves(
    rows: Mapping[str, Sequence[SizeRow]],
    sizes: Sequence[int],
    axis: str,
    shows: str,
    *,
    largest_fit: Mapping[str, int],
    chosen: str,
) -> go.Figure:
    """One curve an instance over the sizes of an axis.

    Parameters
    ----------
    largest_fit : instance -> the largest of the sizes that may fit in its memory; absent where all may.
    chosen : the instance whose interval is drawn.
    """
    return curves(
        [_curve(name, by_size, sizes, shows, largest_fit, chosen) for name, by_size in rows.items()], axis, shows
    )


def _curve(
    name: str, rows: Sequence[SizeRow], sizes: Sequence[int], shows: str, largest_fit: Mapping[str, int], chosen: str
) -> Curve:
    ends = [_ends(row, shows) for row in rows]
    known = [pair for pair in ends if pair is not None]
    return Curve(
        label=gpu_cell(rows[0].plan.offer),
        gpu=rows[0].plan.offer.gpu,
        sizes=sizes,
        values=[_value(row, shows) for row in rows],
        ends=known if len(known) == len(ends) else None,
        largest_fit=largest_fit.get(name),
        chosen=name == chosen,
    )


def _value(row: SizeRow, shows: str) -> float:
    """Milliseconds a step, images a second, seconds or US dollars of the training."""
    return {
        "latency": row.plan.latency_ms,
        "images": row.plan.images_per_s,
        "time": row.plan.total_s,
        "cost": row.plan.total_usd,
    }[shows]


def _ends(row: SizeRow, shows: str) -> tuple[float, float] | None:
    """Both ends of its interval, the smaller first."""
    if row.ends_ms is None or row.plan.interval is None:
        return None
    (low_ms, high_ms), interval = row.ends_ms, row.plan.interval
    return {
        "latency": (low_ms, high_ms),
        "images": (row.plan.batch_size / high_ms * MS_PER_S, row.plan.batch_size / low_ms * MS_PER_S),
        "time": (interval.low_s, interval.high_s),
        "cost": (interval.low_usd, interval.high_usd),
    }[shows]
