"""A training over threads, by both many-core models, as one JSON document."""

from __future__ import annotations

from profet_core.documents.parts import Document
from profet_core.manycore.answer import ManycoreAnswer, ThreadsRow
from profet_core.manycore.models import TrainingTime


def manycore_document(answer: ManycoreAnswer) -> Document:
    """One entry of `rows` for each number of threads."""
    network, training, machine = answer.network, answer.training, answer.machine
    return {
        "network": network.name,
        "forward_flops": network.forward_flops,
        "forward_operations": network.forward_operations,
        "backward_operations": network.backward_operations,
        "forward_s": network.forward_s,
        "backward_s": network.backward_s,
        "images": training.images,
        "test_images": training.test_images,
        "epochs": training.epochs,
        "processor": machine.name,
        "cores": machine.cores,
        "rows": [_row(row) for row in answer.rows],
        "warnings": list(answer.notes),
    }


def _row(row: ThreadsRow) -> Document:
    return {
        "threads": row.threads,
        "cpi": row.cpi,
        "contention_s": row.contention_s,
        "extrapolated": row.extrapolated,
        "model_a": _time(row.a, row.speedup_a),
        "model_b": _time(row.b, row.speedup_b),
    }


def _time(time: TrainingTime, speedup: float) -> Document:
    return {
        "total_s": time.total_s,
        "preparation_s": time.preparation_s,
        "images_s": time.images_s,
        "contention_s": time.contention_s,
        "speedup": speedup,
    }
