"""A comparison of profiles as a chart and as rows for a table and for download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from pages.compare.candidates import Compared
from profet_core import InstancePrediction, Prediction
from profet_core.units import format_ms, format_significant, format_usd
from ui.basis import MARK
from ui.charts import GRID, framed, instance_colours

LATENCY, COST = "latency", "cost"
METRICS = {LATENCY: "Step latency", COST: "Cost of 1,000 steps"}
#: What fits a phone's width.
_LABEL_LETTERS = 44


def instances_of(compared: Sequence[Compared]) -> list[str]:
    """Every instance that one of them has a row for: those of the training data first."""
    rows = [row for one in compared for row in one.prediction.predictions]
    carried = {row.instance: row.basis.is_rough for row in rows}
    return sorted(carried, key=lambda name: (carried[name], list(carried).index(name) if carried[name] else name))


def dots(compared: Sequence[Compared], metric: str, instances: Sequence[str]) -> go.Figure:
    """One line of dots a profile, one colour and shape an instance, logarithmic; the first profile on top."""
    figure = go.Figure()
    colours = instance_colours(instances)
    labels = _labels([row.candidate.name for row in compared])
    for name in instances:
        rows = [(label, row, _row_of(row, name)) for label, row in zip(labels, compared, strict=True)]
        rows = [(label, row, found) for label, row, found in rows if found and value_of(found, metric) is not None]
        if not rows:
            continue
        retired = rows[0][2].status == "retired"
        shape = "diamond" if any(found.basis.is_rough for _, _, found in rows) else "circle"
        figure.add_scatter(
            x=[value_of(found, metric) for _, _, found in rows],
            y=[label for label, _, _ in rows],
            text=[_hover(row, found, metric) for _, row, found in rows],
            name=name,
            mode="markers",
            marker={"color": colours[name], "size": 12, "symbol": f"{shape}-open" if retired else shape}
            | ({"line": {"width": 2.5}} if retired else {}),
            hovertemplate="%{text}<extra></extra>",
        )
    title = "ms per step" if metric == LATENCY else "US dollars per 1,000 steps"
    values = [value for trace in figure.data for value in trace.x]
    # Over many decades a label at 2 and 5 as well would leave no room between them on a phone.
    step = 1 if max(values, default=1.0) > 30 * min(values, default=1.0) else "D2"
    figure.update_xaxes(
        title=title, type="log", gridcolor=GRID, fixedrange=True, tickformat=",~r", dtick=step, tickangle=0
    )
    # Names stand above their lines: beside them they would take half of a phone's width.
    figure.update_yaxes(
        fixedrange=True,
        showticklabels=False,
        gridcolor=GRID,
        categoryorder="array",
        categoryarray=labels[::-1],
        type="category",
        range=[-0.5, len(labels) - 0.3],
    )
    for label in labels:
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=label, yanchor="bottom", yshift=6, text=label, showarrow=False
        )
    return framed(figure, "", height=200 + 46 * len(compared))


def table_row(compared: Compared, metric: str, instances: Sequence[str]) -> dict[str, object]:
    """Numbers as numbers, so that a click on a column sorts it."""
    candidate, prediction = compared.candidate, compared.prediction
    values = {row.instance: value_of(row, metric) for row in prediction.predictions}
    # Of two with one GPU, the one that costs less: never a node of eight for the speed of one.
    rentable = {
        row.instance: (values[row.instance], row.cost_per_1000_steps_usd)
        for row in prediction.predictions
        if row.status == "available" and values[row.instance] is not None
    }
    return {
        "Profile": candidate.name,
        "Recorded on": prediction.anchor,
        "Lowest to rent": _marked(prediction, min(rentable, key=rentable.get)) if rentable else "",
        **{name: None if values.get(name) is None else _rounded(values[name]) for name in instances},
        "Batch": candidate.profile.meta.batch_size,
        "Pixels": candidate.profile.meta.pixels,
        "Like the data": "" if prediction.likeness is None else prediction.likeness.words,
    }


def _marked(prediction: Prediction, instance: str) -> str:
    rough = any(row.instance == instance and row.basis.is_rough for row in prediction.predictions)
    return f"{instance}{MARK}" if rough else instance


def data_rows(compared: Compared) -> list[dict[str, object]]:
    """One row an instance, with full digits."""
    candidate, prediction = compared.candidate, compared.prediction
    return [
        {
            "profile": candidate.name,
            "anchor": prediction.anchor,
            "anchor_latency_ms": prediction.anchor_latency_ms,
            "batch_size": candidate.profile.meta.batch_size,
            "pixels": candidate.profile.meta.pixels,
            "instance": row.instance,
            "latency_ms": row.latency_ms,
            "low_ms": row.interval and row.interval.low_ms,
            "high_ms": row.interval and row.interval.high_ms,
            "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
            "usd_per_hour": row.usd_per_hour,
            "status": row.status,
            "basis": row.basis,
            "warnings": len(compared.warnings),
        }
        for row in prediction.predictions
    ]


def value_of(row: InstancePrediction, metric: str) -> float | None:
    """The figure that is compared."""
    return row.latency_ms if metric == LATENCY else row.cost_per_1000_steps_usd


def words_of(row: InstancePrediction, metric: str) -> str:
    """The figure with its unit."""
    value = value_of(row, metric)
    return format_ms(value) if metric == LATENCY else format_usd(value)


def _row_of(compared: Compared, instance: str) -> InstancePrediction | None:
    rows: Mapping[str, InstancePrediction] = {row.instance: row for row in compared.prediction.predictions}
    return rows.get(instance)


def _hover(compared: Compared, row: InstancePrediction, metric: str) -> str:
    retired = " (retired)" if row.status == "retired" else ""
    name = compared.candidate.name.replace("&", "&amp;").replace("<", "&lt;")
    return f"{name}<br>{row.instance}{retired}: {words_of(row, metric)}"


def _labels(names: Sequence[str]) -> list[str]:
    """Short names, still told apart, as text and not as markup."""
    short: list[str] = []
    for name in names:
        # What tells files apart is as often at the end: "resnet50-run-b64.json".
        text = name if len(name) <= _LABEL_LETTERS else f"{name[:21]}…{name[-22:]}"
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        count = sum(other == text or other.startswith(f"{text} #") for other in short)
        short.append(f"{text} #{count + 1}" if count else text)
    return short


def _rounded(value: float) -> float:
    return float(format_significant(value).replace(",", ""))
