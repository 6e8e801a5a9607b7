"""Which of the predicted instances to rent, by a figure of each and without a training in mind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from profet_core.prediction.records import InstancePrediction


def lowest_to_rent(
    rows: Iterable[InstancePrediction], figure: Callable[[InstancePrediction], float | None]
) -> InstancePrediction | None:
    """The row with the lowest figure among those that can be rented; None if no such row has one.

    Of two with one GPU it is the one that costs less: never a node of eight for the speed of one.
    """
    known = [
        (value, row.cost_per_1000_steps_usd or 0.0, row)
        for row in rows
        if row.status != "retired" and (value := figure(row)) is not None
    ]
    return min(known, key=lambda one: one[:2])[2] if known else None
