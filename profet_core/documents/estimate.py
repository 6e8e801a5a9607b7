"""An estimate without a profile as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from profet_core.cost import CostRow, CostTable
from profet_core.documents.parts import Document, memory_document, rented_document
from profet_core.estimate.disagreement import Disagreement
from profet_core.estimate.estimate import NetworkEstimate
from profet_core.latency import LEVEL
from profet_core.layers.counts import Counts
from profet_core.prediction.records import InstancePrediction

#: Share of held-out latencies inside the intervals.


def estimate_document(
    found: NetworkEstimate,
    costs: CostTable | None,
    anchor: str | None,
    disagreements: Sequence[Disagreement],
    warnings: Sequence[str],
) -> Document:
    """The estimate.

    Parameters
    ----------
    costs : of a training; None without images. anchor : of a profile that `disagreements` are from; None
        where there is none.
    """
    by_instance = {} if costs is None else {row.instance: row for row in costs.rows}
    return {
        "network": found.name,
        "batch_size": found.batch_size,
        "method": found.method,
        "counts": _counts_document(found.network),
        "interval_level": LEVEL,
        "estimates": [_row_document(found, row, by_instance.get(row.instance)) for row in found.rows],
        "memory": memory_document(found.fits),
        "profile": None
        if anchor is None
        else {"anchor": anchor, "disagreements": [_disagreement_document(row) for row in disagreements]},
        "warnings": list(warnings),
    }


def _counts_document(network: Counts) -> Document:
    return {
        "pixels": network.pixels,
        "classes": network.classes,
        "parameters": network.parameters,
        "flops": network.flops,
        "convolution_flops": network.convolution_flops,
        "depthwise_flops": network.depthwise_flops,
        "dense_flops": network.dense_flops,
        "activation_elements": network.activation_elements,
        "layers": network.layers,
    }


def _row_document(found: NetworkEstimate, row: InstancePrediction, cost: CostRow | None) -> Document:
    interval = row.interval
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "by_method": dict(row.members),
        "regime": found.regimes[row.instance],
        "basis": row.basis,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "epoch_s": cost and cost.epoch_s,
        "epoch_usd": cost and cost.epoch_usd,
        "total_s": cost and cost.total_s,
        "total_usd": cost and cost.total_usd,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "note": row.note,
        **rented_document(row.offer),
    }


def _disagreement_document(row: Disagreement) -> Document:
    return {
        "instance": row.instance,
        "estimated_ms": row.estimated_ms,
        "profiled_ms": row.profiled_ms,
        "ratio": row.ratio,
        "overlap": row.overlap,
    }
