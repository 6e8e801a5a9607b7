"""Figures of the transfer card: checks by GPU and chosen constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.accuracy.by_gpu import GpuAccuracy, accuracy_by_gpu
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.left_out_anchors import AnchorDirection
from profet_core.accuracy.transfer import TransferAccuracy
from profet_core.prediction.foreign import LAW_SHARE
from profet_core.transfer.anchor import MOST_LAUNCHES, MOST_WORK
from profet_core.transfer.carry import WEIGHTS, KernelWeights
from profet_core.transfer.hosts import ASSUMED_LOG_SD, MEASURED_LOG_SD
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import MIX_SHARE


@dataclass(frozen=True, slots=True)
class Chosen:
    """Chosen constants, as the card names them."""

    weights: KernelWeights
    most_launches: float
    most_work: float
    law_share: float
    mix_share: float
    measured_host_log_sd: float
    assumed_host_log_sd: float


@dataclass(frozen=True, slots=True)
class ChecksSection:
    """What the template words.

    Attributes
    ----------
    by_gpu : with the anchor's latency, the surest first. unchecked : full names of those that no measurement checks.
    worst_anchor : direction with the largest error. worst_anchor_errors, worst_law_alone : largest over the directions,
        percent.
    """

    by_gpu: Sequence[GpuAccuracy]
    unchecked: Sequence[str]
    worst_anchor: AnchorDirection
    worst_anchor_errors: Errors
    worst_law_alone: float
    chosen: Chosen


def checks_section(accuracy: TransferAccuracy, transfer: TransferModel) -> ChecksSection:
    """The sections' figures."""
    rows, directions = accuracy_by_gpu(accuracy, transfer, latency_known=True), accuracy.anchors.directions
    return ChecksSection(
        by_gpu=rows,
        unchecked=[row.gpu.name for row in rows if not row.measured],
        worst_anchor=accuracy.anchors.worst(True),
        worst_anchor_errors=Errors(*(accuracy.anchors.worst(known).figures[known].mape for known in (True, False))),
        worst_law_alone=max(row.figures[True].mape_law_alone for row in directions),
        chosen=Chosen(WEIGHTS, MOST_LAUNCHES, MOST_WORK, LAW_SHARE, MIX_SHARE, MEASURED_LOG_SD, ASSUMED_LOG_SD),
    )
