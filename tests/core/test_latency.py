"""What is known of a step latency: basis, interval, and steps scaled to another batch size."""

from __future__ import annotations

import json
import math

import pytest

from profet_core.latency import Basis, Interval, RelativeInterval, StepTime, carried_steps


def step(basis: Basis, **others) -> StepTime:
    return StepTime(instance="a", latency_ms=100.0, basis=basis, **others)


def test_a_basis_is_its_word_in_documents_and_texts():
    assert json.loads(json.dumps({"basis": Basis.GIVEN})) == {"basis": "given"}
    assert f"{Basis.TRANSFERRED}" == "transferred" and Basis("derived") is Basis.DERIVED
    with pytest.raises(ValueError, match="guessed"):
        Basis("guessed")


def test_every_basis_has_words_of_its_own():
    assert len({basis.words for basis in Basis}) == len(Basis)


def test_what_is_exact_was_profiled_and_what_is_rough_was_not():
    assert [basis for basis in Basis if basis.is_exact] == [Basis.GIVEN]
    assert [basis for basis in Basis if basis.is_profiled] == [Basis.GIVEN, Basis.MEASURED]
    rough = [Basis.DERIVED, Basis.TRANSFERRED, Basis.CARRIED_BACK, Basis.SHARPENED]
    assert [basis for basis in Basis if basis.is_rough] == rough


@pytest.mark.parametrize("half", [0.0, 3.0])
def test_an_interval_lies_around_its_latency_and_knows_its_width(half):
    for interval in (Interval.around(80.0, half), Interval.within_factor(80.0, math.exp(half))):
        assert interval.low_ms * interval.high_ms == pytest.approx(80.0**2)
        assert interval.log_half_width == pytest.approx(half)


def test_scaling_keeps_the_width_and_widening_the_middle():
    interval = Interval.around(80.0, 0.2)
    assert interval.scaled(3.0).log_half_width == pytest.approx(0.2)
    assert interval.scaled(3.0).low_ms == 3.0 * interval.low_ms
    wider = interval.widened(0.1)
    assert wider.log_half_width == pytest.approx(0.3)
    assert wider.low_ms * wider.high_ms == pytest.approx(80.0**2)
    assert interval.widened(0.0) == interval


@pytest.mark.parametrize("basis", list(Basis))
def test_a_carried_step_has_no_interval_and_stays_rough_if_it_was(basis):
    relative = RelativeInterval("b", 0.1)
    (carried,) = carried_steps({"a": 200.0}, [step(basis, interval=Interval(80, 125), note="why", relative=relative)])
    assert (carried.latency_ms, carried.interval, carried.relative) == (200.0, None, None)
    assert carried.basis is (basis if basis.is_rough else Basis.CARRIED)
    assert carried.note == "scaled to another batch or pixel size; why"

    # What was not predicted is carried too.
    assert carried_steps({"b": 5.0}, [step(Basis.GIVEN)]) == [
        StepTime(instance="b", latency_ms=5.0, basis=Basis.CARRIED, note=Basis.CARRIED.words)
    ]
