"""A prediction as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping

from profet_core.documents.parts import Document, memory_document, rented_document, unknown_operations_document
from profet_core.memory.fit import FitAnswer
from profet_core.prediction.estimates import Likeness
from profet_core.prediction.records import InstancePrediction, Prediction


def prediction_document(prediction: Prediction, fits: Mapping[str, FitAnswer]) -> Document:
    """The prediction, and by instance whether the step fits in memory."""
    return {
        "anchor": prediction.anchor,
        "anchor_latency_ms": prediction.anchor_latency_ms,
        "method": prediction.method,
        "steps": prediction.steps,
        "steps_basis": prediction.steps_basis,
        "predictions": [_row_document(row) for row in prediction.predictions],
        "interval_level": prediction.interval_level,
        "unknown_operations": unknown_operations_document(prediction.unknown_operations),
        "likeness": prediction.likeness and _likeness_document(prediction.likeness),
        "warnings": list(prediction.warnings),
        "memory": memory_document(fits),
    }


def _row_document(row: InstancePrediction) -> Document:
    interval = row.interval
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "members": dict(row.members),
        "basis": row.basis,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "note": row.note,
        **rented_document(row.offer),
    }


def _likeness_document(likeness: Likeness) -> Document:
    return {"distance": likeness.distance, "words": likeness.words, "error_percent": likeness.error_percent}
