"""What a newcomer must know of the accuracy on GPUs that nobody profiled, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pages.about.accuracy.percents import percent_in_text
from profet_core import Catalog
from profet_core.accuracy.by_gpu import GpuAccuracy, accuracy_by_gpu
from profet_core.accuracy.left_out_anchors import AnchorDirection
from profet_core.accuracy.transfer import CORRECTED, PROMISED_MISSES, RAW, Direction, OtherGpu, TransferAccuracy
from profet_core.catalog.gpus import gpu_model
from profet_core.transfer.model import TransferModel
from ui.texts import paragraph, plain

_TEXTS = Path(__file__).parent
#: Intervals that miss within this many points of what they promise are as wide as they should be.
_AS_PROMISED = 1.0


@dataclass(frozen=True, slots=True)
class Unprofiled:
    """The report, with what it is read by.

    Attributes
    ----------
    transfer : what reaches GPUs that nobody profiled.
    latency_known : show the figures with the anchor's latency given.
    """

    catalog: Catalog
    transfer: TransferModel
    accuracy: TransferAccuracy
    latency_known: bool

    def gpu(self, name: str) -> str:
        """'V100' of 'p3.2xlarge' or of 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self.catalog[name].gpu if name in self.catalog else name)

    def way(self, row: Direction | OtherGpu | AnchorDirection) -> str:
        """'K80 → V100'."""
        return f"{self.gpu(row.anchor)} → {self.gpu(row.target)}"

    @property
    def by_gpu(self) -> list[GpuAccuracy]:
        """One row a GPU, the surest first."""
        return accuracy_by_gpu(self.accuracy, self.transfer, latency_known=self.latency_known)

    @property
    def unchecked(self) -> list[str]:
        """GPUs of which no board was checked by a measurement, each name once."""
        checked = {self.gpu(row.gpu.name) for row in self.by_gpu if row.measured}
        return list(dict.fromkeys(name for row in self.by_gpu if (name := self.gpu(row.gpu.name)) not in checked))


def lead(shown: Unprofiled) -> str:
    """Mean and worst error with a GPU left out, and what simpler ways give."""
    accuracy, known = shown.accuracy, shown.latency_known
    worst, sheet, constant = accuracy.worst(known), accuracy.worst_sheet_only(known), accuracy.worst_constant()
    return paragraph(
        _TEXTS / "unprofiled_lead.md",
        gpus=len(accuracy.by_gpu),
        mean=percent_in_text(accuracy.mean.point[known].mape),
        worst_way=shown.way(worst),
        worst=percent_in_text(worst.point[known].mape),
        sheet=percent_in_text(accuracy.mean.sheet_only[known].mape),
        worst_sheet_way=shown.way(sheet),
        worst_sheet=percent_in_text(sheet.sheet_only[known].mape),
        constant=percent_in_text(accuracy.mean.one_constant),
        worst_constant_way=shown.way(constant),
        worst_constant=percent_in_text(constant.one_constant),
    )


def must_know(shown: Unprofiled) -> Iterator[str]:
    """One line each, the gravest first."""
    accuracy, known = shown.accuracy, shown.latency_known
    if shown.unchecked:
        yield paragraph(
            _TEXTS / "unprofiled_unchecked.md",
            gpus=", ".join(map(plain, shown.unchecked)),
            published_check=_published_check(shown),
        )
    yield _as_anchor(shown)
    yield _on_derived(shown)
    missed = {shown.gpu(name): row.point[known].missed_90 for name, row in accuracy.by_gpu.items()}
    listed = ", ".join(f"{plain(name)} {percent_in_text(value)} ({verdict(value)})" for name, value in missed.items())
    yield (
        f"**Intervals** should miss {PROMISED_MISSES:.0f}\N{NO-BREAK SPACE}%. With the GPU left out they missed: "
        f"{listed}. These {len(missed)} GPUs can't show that they hold for the next one."
    )
    beaten = accuracy.beaten_by_constant(known)
    if beaten:
        yield (
            f"In {len(beaten)} of {len(accuracy.directions)} directions one plain constant did better: "
            f"{', '.join(plain(shown.way(row)) for row in beaten)}."
        )
    yield _self_checks(shown)


def _as_anchor(shown: Unprofiled) -> str:
    anchors, known = shown.accuracy.anchors, shown.latency_known
    worst = anchors.worst(known)
    return paragraph(
        _TEXTS / "unprofiled_anchors.md",
        mean=percent_in_text(anchors.mean[known].mape),
        worst_way=plain(shown.way(worst)),
        worst=percent_in_text(worst.figures[known].mape),
    )


def _self_checks(shown: Unprofiled) -> str:
    """What must hold without any truth, where it holds least."""
    checks = shown.accuracy.self_checks
    point = max(checks, key=lambda row: abs(row.own_point))
    falls = max(checks, key=lambda row: max(row.falls_batch, row.falls_pixels))
    below = max(checks, key=lambda row: row.below_unsaid)
    return paragraph(
        _TEXTS / "unprofiled_self_checks.md",
        point=percent_in_text(abs(point.own_point)),
        point_gpu=plain(shown.gpu(point.gpu)),
        falls=percent_in_text(max(falls.falls_batch, falls.falls_pixels)),
        falls_gpu=plain(shown.gpu(falls.gpu)),
        below=percent_in_text(below.below_unsaid),
        below_gpu=plain(shown.gpu(below.gpu)),
    )


def _published_check(shown: Unprofiled) -> str:
    """How far off GPUs were that are reached by a published speed, where another source tells."""
    errors: dict[str, list[float]] = {}
    for row in shown.accuracy.other_gpus:
        if row.published:
            errors.setdefault(shown.gpu(row.target), []).append(row.published.mape)
    ends = " and ".join(
        f"{plain(gpu)} was {percent_in_text(min(found))} to {percent_in_text(max(found))}"
        for gpu, found in errors.items()
    )
    return f"By published speed, {ends} off another source's corrected times." if ends else ""


def _on_derived(shown: Unprofiled) -> str:
    derived, routes = shown.accuracy.derived, shown.accuracy.routes
    raw, corrected = routes[RAW], routes[CORRECTED]
    errors = {gpu: found.mean.of(shown.latency_known) for gpu, found in derived.items()}
    return paragraph(
        _TEXTS / "unprofiled_derived.md",
        gpus=" and ".join(plain(shown.gpu(gpu)) for gpu in derived),
        raw_there=percent_in_text(raw.t4_to_v100),
        raw_back=percent_in_text(raw.v100_to_t4),
        corrected_there=percent_in_text(corrected.t4_to_v100),
        corrected_back=percent_in_text(corrected.v100_to_t4),
        errors=", ".join(f"{plain(shown.gpu(gpu))} {percent_in_text(error)}" for gpu, error in errors.items()),
    )


def reach(percent: float) -> str:
    """Upper end of an interval whose ends are factors: downwards it is less in percent."""
    return f"+{percent:.0f} %"


def verdict(missed: float) -> str:
    """Whether intervals that miss so many percent are as wide as they should be."""
    if missed > PROMISED_MISSES + _AS_PROMISED:
        return "too narrow"
    return "too wide" if missed < PROMISED_MISSES - _AS_PROMISED else "as promised"
