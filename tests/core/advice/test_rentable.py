"""The lowest of what can be rented: never what is retired, never a node of eight for the speed of one."""

from __future__ import annotations

import pytest

from profet_core.advice.rentable import lowest_to_rent
from profet_core.latency import Basis
from profet_core.prediction.records import InstancePrediction
from tests.made.step_times import offer


def predicted(instance: str, latency_ms: float | None, usd_per_hour: float, status: str = "available"):
    return InstancePrediction(
        instance=instance,
        latency_ms=latency_ms,
        basis=Basis.MEASURED,
        members={},
        offer=offer(instance, usd_per_hour, status=status),
    )


ROWS = (
    predicted("retired", 1, 1.0, "retired"),
    predicted("anchor", None, 1.0),
    predicted("node", 5, 8.0),
    predicted("single", 5, 4.0),
    predicted("slow", 50, 0.2),
)


@pytest.mark.parametrize(
    ("figure", "lowest"),
    [(lambda row: row.latency_ms, "single"), (lambda row: row.cost_per_1000_steps_usd, "slow")],
)
def test_the_lowest_is_one_that_can_be_rented(figure, lowest):
    assert lowest_to_rent(ROWS, figure).instance == lowest


def test_where_nothing_can_be_rented_there_is_none():
    assert lowest_to_rent(ROWS[:2], lambda row: row.latency_ms) is None
