"""What is in a profile, as charts, words and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import plotly.graph_objects as go

from profet_core import Profile
from profet_core.prediction.placement import Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms
from ui.charts import GRID, PREDICTED_COLOUR, framed
from ui.inputs.steps import steps_words
from ui.tables import MISSING

HOST_COLOUR = "#e08a00"
IDLE_COLOUR = "#8b95a5"
#: Operations of their own in the chart; the others are one bar.
TOP = 20
_LABEL_LETTERS = 24

_META_WORDS = {
    "gpu": "GPU",
    "framework": "Framework",
    "precision": "Precision",
    "compiled": "Compiled",
    "onednn": "oneDNN on the CPU",
    "batch_size": "Batch size",
    "pixels": "Pixels",
    "parameters": "Parameters",
    "step_latency_ms": "Step latency",
    "peak_memory_mib": "Peak memory",
}
_UNITS = {"step_latency_ms": " ms", "peak_memory_mib": " MiB"}


def fact_rows(profile: Profile) -> list[dict[str, str]]:
    """Format, steps and meta."""
    rows = [
        ("Format", profile.source_format),
        ("Steps", steps_words(profile) + ("" if profile.steps == 1 else "; times are of one")),
        ("Operation types", f"{len(profile.operations)}"),
    ]
    for field, value in asdict(profile.meta).items():
        rows.append((_META_WORDS.get(field, field.replace("_", " ")), _words(field, value)))
    return [{"": name, "In this profile": words} for name, words in rows]


def time_bars(rows: Sequence[Placement]) -> go.Figure:
    """The longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    shown, rest = busy[:TOP], busy[TOP:]
    labels = _labels(shown)
    figure = go.Figure()
    for on_device, name, colour in ((True, "GPU", PREDICTED_COLOUR), (False, "host", HOST_COLOUR)):
        part = [(label, row) for label, row in zip(labels, shown, strict=True) if row.on_device is on_device]
        if part:
            figure.add_bar(
                name=name,
                x=[row.time_us / US_PER_MS for _, row in part],
                y=[label for label, _ in part],
                text=[f" {row.share:.1%}" for _, row in part],
                orientation="h",
                textposition="outside",
                cliponaxis=False,
                marker_color=colour,
                hovertemplate="%{y}: %{x:,.4~r} ms<extra></extra>",
            )
    if rest:
        figure.add_bar(
            name="all others",
            x=[sum(row.time_us for row in rest) / US_PER_MS],
            y=[rest_label(len(rest))],
            text=[f" {sum(row.share for row in rest):.1%}"],
            orientation="h",
            textposition="outside",
            cliponaxis=False,
            marker_color=IDLE_COLOUR,
            hovertemplate="%{y}: %{x:,.4~r} ms<extra></extra>",
        )
    order = [*labels, *([rest_label(len(rest))] if rest else [])]
    largest = max([row.time_us for row in shown] + [sum(row.time_us for row in rest)], default=1.0) / US_PER_MS
    figure.update_xaxes(title="ms", gridcolor=GRID, range=[0, largest * 1.35], fixedrange=True)
    figure.update_yaxes(
        categoryorder="array", categoryarray=order[::-1], fixedrange=True, ticksuffix="  ", automargin=True
    )
    figure.update_layout(bargap=0.25)
    return framed(figure, "", height=130 + 24 * len(order))


def _labels(rows: Sequence[Placement]) -> list[str]:
    """Short names, so that a phone keeps room for the bars; "host" is said where the GPU's rows stand beside."""
    both = len({row.on_device for row in rows}) == 2
    labels: list[str] = []
    for row in rows:
        name = row.operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
        short = name if len(name) <= _LABEL_LETTERS else f"{name[:11]}…{name[-12:]}"
        label = f"{short} (host)" if both and not row.on_device else short
        labels.append(label if label not in labels else label.replace(short, name))
    return labels


def rest_label(count: int) -> str:
    """The bar of all others."""
    return f"{count} others" if count > 1 else "1 other"


def busy_and_idle(profile: Profile) -> go.Figure:
    """Two bars, GPU and host: how much of the recorded time was work and how much was waiting."""
    figure = go.Figure()
    sides = [
        (name, *side_times_us(profile, prefix)) for name, prefix in (("host", HOST_PREFIX), ("GPU", DEVICE_PREFIX))
    ]
    sides = [(name, busy, idle) for name, busy, idle in sides if busy + idle > 0]
    for index, word, colour in ((1, "busy", PREDICTED_COLOUR), (2, "idle", IDLE_COLOUR)):
        figure.add_bar(
            name=word,
            x=[side[index] / (side[1] + side[2]) for side in sides],
            y=[side[0] for side in sides],
            customdata=[format_ms(side[index] / US_PER_MS) for side in sides],
            orientation="h",
            marker_color=colour,
            hovertemplate="%{y} " + word + ": %{x:.1%}, %{customdata}<extra></extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.3, legend={"traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1], gridcolor=GRID, fixedrange=True)
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True)
    return framed(figure, "", height=90 + 44 * len(sides))


def busy_and_idle_words(profile: Profile) -> str:
    """The same in a sentence or two."""
    said = []
    busy, idle = side_times_us(profile, DEVICE_PREFIX)
    if busy + idle:
        total, share = format_ms((busy + idle) / US_PER_MS), idle / (busy + idle)
        said.append(f"The GPU's rows add up to {total} a step, {share:.0%} of it idle.")
    else:
        said.append("There are no GPU rows.")
    busy, idle = side_times_us(profile, HOST_PREFIX)
    if busy + idle:
        said.append(
            f"The host's threads together: {format_ms(busy / US_PER_MS)} of work and {format_ms(idle / US_PER_MS)} of "
            "waiting; most threads wait all the time, which is as it should be."
        )
    return " ".join(said)


def side_times_us(profile: Profile, prefix: str) -> tuple[float, float]:
    """Busy and idle time of the GPU's or the host's rows, microseconds."""
    idle = profile.operations.get(f"{prefix}IDLE", 0.0)
    total = profile.device_total_us if prefix == DEVICE_PREFIX else profile.host_total_us
    return total - idle, idle


def table_row(row: Placement) -> dict[str, object]:
    """One operation, numbers as numbers."""
    return {
        "Operation": row.operation,
        "ms": round(row.time_us / US_PER_MS, 4),
        "% of busy time": None if row.share is None else round(100 * row.share, 2),
        "Kind": row.kind or MISSING,
        "Class": where(row.operation_class, row.class_known, "by kind"),
        "Cluster": where(row.cluster, row.cluster_known, "by likeness"),
    }


def data_row(row: Placement) -> dict[str, object]:
    """One operation with full digits, for download."""
    return asdict(row)


def where(name: str | None, known: bool, otherwise: str) -> str:
    """Where an operation's time went, and how if the models never saw it."""
    if name is None:
        return MISSING
    return name.removeprefix(DEVICE_PREFIX) if known else f"{name.removeprefix(DEVICE_PREFIX)} ({otherwise})"


def _words(field: str, value: object) -> str:
    if value is None:
        return "not told"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}{_UNITS.get(field, '')}"
    return str(value)
