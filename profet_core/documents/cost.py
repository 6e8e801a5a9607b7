"""Time and cost of a training as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profet_core.cost import CostRow, CostTable
from profet_core.documents.parts import Document, memory_document, rented_document
from profet_core.energy.estimate import Energy
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer


def cost_document(
    anchor: str,
    table: CostTable,
    step_times: Sequence[StepTime],
    fits: Mapping[str, FitAnswer],
    energy: Mapping[str, Energy | None],
    warnings: Sequence[str],
) -> Document:
    """The costs; `step_times` give each row's basis, `fits` whether the step fits there.

    Parameters
    ----------
    energy : instance -> what the training takes; None where its power is not known.
    """
    rests_on = {step_time.instance: step_time for step_time in step_times}
    return {
        "anchor": anchor,
        "images": table.images,
        "validation_images": table.validation_images,
        "batch_size": table.batch_size,
        "epochs": table.epochs,
        "rows": [_row_document(row, rests_on[row.instance], energy[row.instance]) for row in table.rows],
        "warnings": list(warnings),
        "memory": memory_document(fits),
    }


def _row_document(row: CostRow, step_time: StepTime, energy: Energy | None) -> Document:
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "step_usd": row.step_usd,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "images_per_s": row.images_per_s,
        "epoch_s": row.epoch_s,
        "epoch_usd": row.epoch_usd,
        "total_s": row.total_s,
        "total_usd": row.total_usd,
        "speedup": row.speedup,
        "energy_kwh_at_most": energy and energy.kwh,
        "co2e_kg_at_most": energy and energy.co2e_kg,
        "basis": step_time.basis,
        "note": step_time.note,
        **rented_document(row.offer),
    }
