"""Measured accuracy on unprofiled GPUs, the figures of `transfer_validation.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.left_out_anchors import AnchorAccuracy
from profet_core.accuracy.memory import MemoryAccuracy
from profet_core.accuracy.published import PublishedTable, SelfCheck

#: Percent of measurements that a 90% interval may miss.
PROMISED_MISSES = 10.0
#: The route without a correction, and by the one that saw both GPUs but not the network.
RAW, CORRECTED = "raw", "corrected"


@dataclass(frozen=True, slots=True)
class Figures:
    """Errors of predicted step latencies, all percent.

    Attributes
    ----------
    bias : geometric mean of predicted over measured, less 1. mape : mean absolute error.
    mape_without_resnet50 : the same without the network whose latency on the GPU was known.
    missed_90 : share outside the 90% interval. median_interval_pct : median of the interval's upper half.
    """

    bias: float
    mape: float
    mape_without_resnet50: float
    missed_90: float
    median_interval_pct: float


@dataclass(frozen=True)
class GpuErrors:
    """Errors on a GPU as if unmeasured, by whether the anchor's latency is given.

    Attributes
    ----------
    point : its specs and one network's latency are known. sheet_only : the specs alone.
    """

    point: Mapping[bool, Figures]
    sheet_only: Mapping[bool, Figures]


@dataclass(frozen=True)
class LeftOutGpu(GpuErrors):
    """A profiled GPU that was held out, or a mean over several.

    Attributes
    ----------
    one_constant : mean error of the anchor's latency times the known network's ratio, percent.
    """

    one_constant: float


@dataclass(frozen=True)
class Direction(LeftOutGpu):
    """From one profiled instance to a held-out one, over `n` workloads."""

    anchor: str
    target: str
    n: int


@dataclass(frozen=True)
class OtherGpu(GpuErrors):
    """From one profiled instance to a derived GPU as if unmeasured, the anchor's latency given.

    Attributes
    ----------
    published : by a published speed of the GPU instead of one network's latency; None where there is none.
    """

    anchor: str
    target: str
    n: int
    published: Figures | None


@dataclass(frozen=True, slots=True)
class Route:
    """Between T4 and V100 through the other source's ratios, percent off; `median_ratio`: T4 -> V100 over measured."""

    n: int
    t4_to_v100: float
    v100_to_t4: float
    median_ratio: float


@dataclass(frozen=True, slots=True)
class Served:
    """A derived GPU from one anchor, percent.

    Attributes
    ----------
    claims, claims_right : share of workloads whose interval excludes break-even with the base instance, and how
        many of these claims were right; None where that was not measured or nothing was claimed.
    """

    anchor: str
    n: int
    mape: Errors
    missed_90: Errors
    median_interval_pct: Errors
    claims: float | None
    claims_right: float | None


@dataclass(frozen=True)
class DerivedGpu:
    """A GPU that another source measured; percent. `law`: T4 and V100 latencies known, the network held out."""

    n: int
    law: float
    law_by_model: Mapping[str, float]
    median_ratio_to_t4: float
    mean: Errors
    served: tuple[Served, ...]


@dataclass(frozen=True)
class TransferAccuracy:
    """The whole report.

    Attributes
    ----------
    directions : among the profiled instances. mean : over them. by_gpu : held-out instance -> mean over its anchors.
    by_model : network -> mean error over the directions, the anchor's latency given, percent.
    other_gpus : derived GPUs reached as if unmeasured.
    anchors : with each profiled GPU held out as anchor. tables, self_checks : of GPUs with published speeds.
    routes, routes_by_model : by the correction's name; by network, corrected.
    """

    made: str
    seed: int
    transfer_checksum: str
    memory_checksum: str
    directions: tuple[Direction, ...]
    mean: LeftOutGpu
    by_gpu: Mapping[str, LeftOutGpu]
    by_model: Mapping[str, float]
    other_gpus: tuple[OtherGpu, ...]
    anchors: AnchorAccuracy
    tables: tuple[PublishedTable, ...]
    self_checks: tuple[SelfCheck, ...]
    routes: Mapping[str, Route]
    routes_by_model: Mapping[str, tuple[float, float]]
    derived: Mapping[str, DerivedGpu]
    memory: MemoryAccuracy

    def worst(self, known: bool) -> Direction:
        """The direction with the largest error."""
        return max(self.directions, key=lambda row: row.point[known].mape)

    def worst_constant(self) -> Direction:
        """The same of one plain constant."""
        return max(self.directions, key=lambda row: row.one_constant)

    def beaten_by_constant(self, known: bool) -> tuple[Direction, ...]:
        """Directions in which one plain constant erred less."""
        return tuple(row for row in self.directions if row.one_constant < row.point[known].mape)
