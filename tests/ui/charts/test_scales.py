"""Logarithmic axes with round numbers."""

from __future__ import annotations

import pytest

from ui.charts.scales import number_axis, time_axis, usd_axis


def texts(axis) -> list[str]:
    return [tick.text for tick in axis.ticks]


def test_times_have_the_round_numbers_of_clocks():
    assert texts(time_axis([70, 1_000])) == ["1 min", "2 min", "5 min", "10 min", "20 min"]
    assert texts(time_axis([3, 300_000])) == ["10 s", "1 min", "10 min", "1 h", "10 h", "1 d"]
    assert texts(time_axis([100_000, 900_000])) == ["1 d", "2 d", "5 d", "10 d", "20 d"]
    assert texts(time_axis([0.003, 0.004])) == ["0.002 s", "0.005 s"]


def test_money_has_the_round_numbers_of_dollars():
    assert texts(usd_axis([0.13, 1.8])) == ["$0.1", "$0.2", "$0.5", "$1", "$2", "$5"]
    assert texts(usd_axis([0.02, 30])) == ["$0.01", "$0.05", "$0.1", "$0.5", "$1", "$5", "$10", "$50"]


def test_an_axis_holds_all_values_with_room_and_ends_at_round_numbers():
    axis = number_axis([16.2, 556])
    assert (axis.low, axis.high) == (10, 1000)
    assert (axis.share(10), axis.share(100), axis.share(1000)) == pytest.approx((0, 0.5, 1))
    assert number_axis([9.9, 10.1]).low < 9.9 and number_axis([9.9, 10.1]).high > 10.1
    # None, and the ends of what can be asked for.
    for axis in (number_axis([]), time_axis([1e-9, 1e17]), usd_axis([1e-12, 1e17]), number_axis([1e-12, 1e17])):
        assert len(axis.ticks) <= 10 and axis.low < axis.high
