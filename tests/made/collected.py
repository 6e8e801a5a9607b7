"""Made-up cells of a collection; what is in one follows from its number."""

from __future__ import annotations

import random

from profet_collect.store import Cell, CellResult

MANIFEST = {"instance": "test", "device": "cpu", "gpu": "none", "threads": 1}


def result(number: int) -> CellResult:
    """A cell whose content follows from its number."""
    noise = random.Random(number)
    operations = {f"Device_Operation{at}": noise.random() * 1e4 for at in range(noise.randrange(1, 60))}
    return CellResult(
        Cell("pytorch", "fp32", "ResNet50", 32, 16, number),
        "2.13.0",
        "ok",
        "2026-11-22T00:00:00+00:00",
        batch_latency_ms=noise.random() + 0.1,
        latency_repeats_ms=(1.5, 2.5),
        peak_memory_bytes=noise.randrange(2**34),
        operations_us=operations,
    )
