"""What a newcomer must know of the accuracy on GPUs that nobody profiled, in words."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.accuracy.transfer import (
    CORRECTED,
    PROMISED_MISSES,
    RAW,
    Direction,
    TransferAccuracy,
    unmeasured_gpus,
)
from profet_core.catalog.gpus import gpu_model
from ui.state.resources import Resources
from ui.tables import percent_in_text
from ui.texts import plain

#: Intervals that miss within this many points of what they promise are as wide as they should be.
_AS_PROMISED = 1.0


class GpuNames:
    """Short names of GPUs, by instance or by full name."""

    def __init__(self, resources: Resources) -> None:
        self._catalog = resources.catalog

    def __call__(self, name: str) -> str:
        """'V100' of 'p3.2xlarge' or of 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self._catalog[name].gpu if name in self._catalog else name)

    def way(self, row: Direction) -> str:
        """'K80 → V100'."""
        return f"{self(row.anchor)} → {self(row.target)}"


def lead(names: GpuNames, accuracy: TransferAccuracy, known: bool) -> str:
    """Mean and worst error with a GPU left out, and what simpler ways give."""
    worst, sheet, constant = accuracy.worst(known), accuracy.worst_sheet_only(known), accuracy.worst_constant()
    mean = accuracy.mean
    return (
        f"Each of {len(accuracy.by_gpu)} profiled GPUs was left out in turn, as if nobody had profiled it: of it only "
        "the data sheet and ResNet-50's step latency were known. Networks were left out too. The mean error was "
        f"**{percent_in_text(mean.point[known].mape)}**, in the worst direction, {names.way(worst)}, "
        f"**{percent_in_text(worst.point[known].mape)}**. "
        f"By the data sheet alone it was {percent_in_text(mean.sheet_only[known].mape)} "
        f"({names.way(sheet)}: {percent_in_text(sheet.sheet_only[known].mape)}); by one constant between two GPUs "
        f"{percent_in_text(mean.one_constant)} ({names.way(constant)}: {percent_in_text(constant.one_constant)})."
    )


def must_know(resources: Resources, names: GpuNames, accuracy: TransferAccuracy, known: bool) -> Iterable[str]:
    """One line each, the gravest first."""
    unchecked = [gpu.name for gpu in unmeasured_gpus(resources.models.transfer, resources.catalog)]
    if unchecked:
        listed = ", ".join(dict.fromkeys(plain(names(name)) for name in unchecked))
        yield (
            f"**No measurement checks {listed}** themselves. They rest on published speeds or data sheets, and GPUs "
            "left out here are all that speaks for them: expect errors at least as large. "
            f"{_reached_so(names, accuracy)}"
        )
    yield _on_derived(names, accuracy, known)
    missed = {names(name): row.point[known].missed_90 for name, row in accuracy.by_gpu.items()}
    listed = ", ".join(f"{plain(name)} {percent_in_text(value)} ({verdict(value)})" for name, value in missed.items())
    yield (
        f"**Intervals** should miss {PROMISED_MISSES:.0f}\N{NO-BREAK SPACE}%. With the GPU left out they missed: "
        f"{listed}. These {len(missed)} GPUs can't show that they hold for the next one."
    )
    beaten = accuracy.beaten_by_constant(known)
    if beaten:
        yield (
            f"In {len(beaten)} of {len(accuracy.directions)} directions one plain constant did better: "
            f"{', '.join(plain(names.way(row)) for row in beaten)}."
        )


def _reached_so(names: GpuNames, accuracy: TransferAccuracy) -> str:
    """What the one check of that way gave, where there is one."""
    errors: dict[str, list[float]] = {}
    for row in accuracy.other_gpus:
        if row.published:
            errors.setdefault(names(row.target), []).append(row.published.mape)
    return " ".join(
        f"The one check of that way: reached so, {plain(gpu)} was {percent_in_text(min(found))} to "
        f"{percent_in_text(max(found))} off another source's corrected times."
        for gpu, found in errors.items()
    )


def _on_derived(names: GpuNames, accuracy: TransferAccuracy, known: bool) -> str:
    raw, corrected = accuracy.routes[RAW], accuracy.routes[CORRECTED]
    gpus = " and ".join(plain(names(gpu)) for gpu in accuracy.derived)
    off = ", ".join(
        f"{plain(names(gpu))} {percent_in_text(found.mean.of(known))}" for gpu, found in accuracy.derived.items()
    )
    return (
        f"**{gpus}** come from another source's epoch times, which are biased. On T4 and V100, which both sources "
        f"measured, their ratio is off by {percent_in_text(raw.t4_to_v100)} and {percent_in_text(raw.v100_to_t4)} "
        f"(there and back), corrected by {percent_in_text(corrected.t4_to_v100)} and "
        f"{percent_in_text(corrected.v100_to_t4)}. Judged by corrected times of that source, not by PROFET, they were "
        f"off by: {off}."
    )


def verdict(missed: float) -> str:
    """Whether intervals that miss so many percent are as wide as they should be."""
    if missed > PROMISED_MISSES + _AS_PROMISED:
        return "too narrow"
    return "too wide" if missed < PROMISED_MISSES - _AS_PROMISED else "as promised"
