"""GPU by GPU: what its numbers rest on, how that was checked, and how far off it was."""

from __future__ import annotations

from pages.about.accuracy.percents import format_percent
from pages.about.accuracy.unprofiled_words import Unprofiled, reach
from profet_core.accuracy.by_gpu import GpuAccuracy
from ui.tables import MISSING, or_missing, show_table
from ui.texts import plain


def show_gpus(shown: Unprofiled) -> None:
    """One row a GPU, the surest first."""
    show_table([_row(row) for row in shown.by_gpu], "What each GPU's numbers rest on")


def _row(row: GpuAccuracy) -> dict[str, str]:
    return {
        "GPU": plain(row.gpu.name),
        "Rests on": plain(row.evidence.words),
        "Checked by": " / ".join(check.how.value for check in row.checks) or _without_check(row),
        "Off by": " / ".join(format_percent(check.mape) for check in row.checks) or MISSING,
        "Leaning": " / ".join(or_missing(check.bias, lambda bias: f"{bias:+.1f} %") for check in row.checks) or MISSING,
        "Interval": f"from {reach(row.half_width)}",
    }


def _without_check(row: GpuAccuracy) -> str:
    return "its cells" if row.measured else "nothing"
