"""Instance to rent by a single figure, without a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from profet_core.prediction.records import InstancePrediction


def lowest_to_rent(
    rows: Iterable[InstancePrediction], figure: Callable[[InstancePrediction], float | None]
) -> InstancePrediction | None:
    """Row with the lowest figure among rentable instances.

    None if there is none.

    Of two instances with one GPU, the cheaper one wins, so an eight-GPU node is never chosen for the speed of one GPU.
    """
    known = [
        (value, row.cost_per_1000_steps_usd or 0.0, row)
        for row in rows
        if row.status != "retired" and (value := figure(row)) is not None
    ]
    return min(known, key=lambda one: one[:2])[2] if known else None
