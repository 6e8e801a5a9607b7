"""What is known of a step latency: how long, how sure, on what basis, and what to say of it."""

from __future__ import annotations

import copy
import json
import re

import pytest

from profet_core.errors import Code, Note
from profet_core.latency import (
    Basis,
    BasisWord,
    Estimate,
    LatencyParts,
    Relative,
    StepTime,
    log_sd_of,
    sd_of_ratio,
)


def step(basis: Basis, **others) -> StepTime:
    return StepTime("a", Estimate(latency_ms=100.0, basis=basis, **others))


def test_a_basis_is_its_word_and_says_what_is_exact_and_what_is_rough():
    assert json.loads(json.dumps({"basis": Basis.GIVEN})) == {"basis": "given"}
    assert f"{Basis.TRANSFERRED}" == "transferred" and Basis("calibrated") is Basis.CALIBRATED
    with pytest.raises(ValueError, match="guessed"):
        Basis("guessed")
    assert len({basis.words for basis in Basis}) == len(Basis)
    assert [basis for basis in Basis if basis.is_exact] == [Basis.GIVEN]
    assert [basis for basis in Basis if basis.is_profiled] == [Basis.GIVEN, Basis.MEASURED]
    rough = [Basis.TRANSFERRED, Basis.MAPPED, Basis.CALIBRATED, Basis.SCALED]
    assert [basis for basis in Basis if basis.is_rough] == rough
    words = {basis: basis.word for basis in Basis}
    assert all(basis.words.startswith(word) for basis, word in words.items())
    assert words[Basis.GIVEN] is BasisWord.MEASURED and words[Basis.MEASURED] is BasisWord.PREDICTED
    assert {words[basis] for basis in Basis if basis.is_rough} == {BasisWord.SCALED, BasisWord.ESTIMATED}
    assert set(words.values()) == set(BasisWord)


@pytest.mark.parametrize("log_sd", [0.0, 2.0])
def test_an_interval_lies_around_its_latency_and_is_as_wide_as_its_level_asks(log_sd):
    made = step(Basis.MEASURED, log_sd=log_sd).estimate
    for level, deviations in ((0.9, 1.6448536), (0.6826894921, 1.0)):
        interval = made.interval_at(level)
        assert interval.low_ms * interval.high_ms == pytest.approx(100.0**2)
        assert interval.log_half_width == pytest.approx(deviations * log_sd)
    assert step(Basis.MEASURED, log_sd=log_sd).interval == made.interval_at(0.9)
    assert log_sd_of(made.log_half_width) == pytest.approx(log_sd)


def test_scaling_keeps_the_width_and_widening_the_middle_where_there_is_an_interval():
    assert step(Basis.GIVEN, log_sd=0.0).interval is None and step(Basis.MEASURED).interval is None
    assert StepTime("a", Estimate(latency_ms=None, log_sd=0.1)).interval is None


def test_scaling_keeps_the_width():
    parts = LatencyParts(80.0, 90.0)
    made = step(Basis.TRANSFERRED, log_sd=0.3, relative=Relative("b", 0.6), parts=parts, least_ms=95.0).estimate
    scaled = made.scaled(3.0)
    assert (scaled.latency_ms, scaled.log_sd, scaled.interval_at().low_ms) == (300.0, 0.3, 285.0)
    assert (scaled.parts.free_ms, scaled.parts.launch_ms) == pytest.approx((240.0, 270.0))


def test_common_errors_cancel_in_a_ratio():
    found = [sd_of_ratio(*given) for given in ((0.3, 0.4, 0), (0.3, 0.3, 1), (0.3, 0.1, 1), (0.3, 0, 0.42))]
    assert found == pytest.approx([0.5, 0, 0.2, 0.3])


def test_a_launch_bound_step_says_so_first():
    notes, parts = (Note(Code.GENERATION),), (LatencyParts(1.0, 19.0), LatencyParts(9.0, 1.0))
    bound, free = (StepTime("a", Estimate(latency_ms=20.0, notes=notes, parts=one)) for one in parts)
    assert bound.limited_by_host and not free.limited_by_host
    assert bound.note == f"{Note(Code.HOST_BOUND)}; {Note(Code.GENERATION)}" and free.note == notes[0]


@pytest.mark.parametrize("code", list(Code))
def test_every_note_has_words(code):
    values = dict.fromkeys(re.findall(r"{(\w+)", code.words), 2.0)
    note = Note(code, **values)
    assert note and "{" not in note
    assert copy.copy(note) == note and copy.copy(note).code is note.code is code and note.values == values
