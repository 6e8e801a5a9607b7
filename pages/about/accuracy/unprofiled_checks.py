"""A GPU left out as anchor, and published tables: each check in a table."""

from __future__ import annotations

from collections.abc import Mapping

from pages.about.accuracy.percents import format_percent
from pages.about.accuracy.unprofiled_words import Unprofiled, reach
from profet_core.accuracy.left_out_anchors import AnchorFigures
from profet_core.accuracy.published import PublishedTable
from ui.tables import show_table
from ui.texts import plain


def show_anchors(shown: Unprofiled) -> None:
    """One row a direction, then the mean."""
    anchors, known = shown.accuracy.anchors, shown.latency_known
    rows = [
        {"Left out": shown.gpu(row.anchor), "To": shown.gpu(row.target), **_cells(row.figures, known)}
        for row in anchors.directions
    ]
    rows.append({"Left out": "All", "To": "Mean", **_cells(anchors.mean, known)})
    show_table(rows, "Errors from a GPU left out as anchor")


def _cells(figures: Mapping[bool, AnchorFigures], latency_known: bool) -> dict[str, str]:
    row = figures[latency_known]
    return {
        "Off by": format_percent(row.mape),
        "Leaning": f"{row.bias:+.1f} %",
        "Missed": format_percent(row.missed_90),
        "Interval": reach(row.median_interval_pct),
        "Law alone": format_percent(row.mape_law_alone),
    }


def show_tables(shown: Unprofiled) -> None:
    """One row a GPU and table."""
    show_table([_table(row) for row in shown.accuracy.tables], "Errors against published tables")


def _table(row: PublishedTable) -> dict[str, str]:
    return {
        "GPU": plain(row.gpu),
        "Table": plain(row.table.partition(",")[0]),
        "Held back": "yes" if row.held_back else "no: without ResNet-50",
        "Networks": f"{len(row.networks)}",
        "Off by": format_percent(row.mape),
        "Leaning": f"{row.bias:+.1f} %",
        "Worst": f"{row.worst:+.1f} %",
        "Missed": format_percent(row.missed_90),
        "Interval": reach(row.median_interval_pct),
    }
