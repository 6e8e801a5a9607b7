"""A read-off as curves and rows: what the Scale page shows at one size and at every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pages.scale.figures import Curve
from profet_core import Catalog
from profet_core.scaling.axes import axis_range
from profet_core.units import MS_PER_S, format_ms, format_significant
from ui.basis import SHORT_BASIS
from ui.charts.style import instance_colours
from ui.predicted.scale_ends import Ends, size_words
from ui.state.resources import Resources


@dataclass(frozen=True, slots=True)
class ReadOff:
    """Latencies at one size between the ends.

    Attributes
    ----------
    latencies_ms : instance -> milliseconds a step.
    """

    ends: Ends
    at: int
    latencies_ms: Mapping[str, float]


def curve_rows(resources: Resources, ends: Ends, latencies_ms: Mapping[str, Sequence[float]]) -> list[Curve]:
    """One curve an instance; each keeps its colour whichever are shown."""
    colours = instance_colours(list(dict.fromkeys((*resources.models.instances, *latencies_ms))))
    predictions = ends.predictions
    return [
        Curve(name, values, colours[name], name in predictions and predictions[name].basis.is_rough)
        for name, values in latencies_ms.items()
    ]


def text_rows(catalog: Catalog, read_off: ReadOff) -> list[dict[str, str]]:
    """One row an instance, as the page's table shows it."""
    return [_text_row(catalog, read_off, name, latency_ms) for name, latency_ms in read_off.latencies_ms.items()]


def data_rows(read_off: ReadOff) -> list[dict[str, object]]:
    """One row an instance with full digits, for download."""
    ends, predictions = read_off.ends, read_off.ends.predictions
    return [
        {
            "instance": name,
            **({"ends_basis": predictions[name].basis} if name in predictions else {}),
            "axis": ends.axis,
            "min_ms": ends.min_ms[name],
            "max_ms": ends.max_ms[name],
            "at": read_off.at,
            "latency_ms": latency_ms,
        }
        for name, latency_ms in read_off.latencies_ms.items()
    ]


def _text_row(catalog: Catalog, read_off: ReadOff, name: str, latency_ms: float) -> dict[str, str]:
    ends, entry = read_off.ends, catalog[name]
    smallest, largest = axis_range(ends.axis)
    row = {
        "Instance": name,
        "GPU": entry.gpu_model,
        f"At {size_words(ends.axis, smallest)}": format_ms(ends.min_ms[name]),
        f"At {size_words(ends.axis, read_off.at)} (slider)": format_ms(latency_ms),
        f"At {size_words(ends.axis, largest)}": format_ms(ends.max_ms[name]),
    }
    if ends.axis == "batch":
        row["Images per second"] = format_significant(read_off.at / latency_ms * MS_PER_S)
    if name in ends.predictions:
        row["Ends are"] = SHORT_BASIS[ends.predictions[name].basis]
    return {**row, "Status": entry.status}
