"""What is known of a step latency: how long, how sure, on what basis, and what to say of it."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core.errors import Code, Note
from profet_core.latency import Basis, BasisWord, Interval, log_sd_of, sd_of_ratio
from profet_core.offers import bounds, is_limited_by_host
from tests.made.step_times import row, steps_of


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
    for level, deviations in ((0.9, 1.6448536), (0.6826894921, 1.0)):
        interval = Interval(*bounds(100.0, log_sd, level=level))
        assert interval.low_ms * interval.high_ms == pytest.approx(100.0**2)
        assert interval.log_half_width == pytest.approx(deviations * log_sd)
    (step,) = steps_of([row("a", 100.0, log_sd)])
    assert step.interval == Interval(*bounds(100.0, log_sd))
    assert log_sd_of(step.interval.log_half_width) == pytest.approx(log_sd)
    # The lower end is at least what is known for sure.
    assert bounds(100.0, 2.0, 95.0)[0] == 95.0


def test_what_is_given_or_unknown_has_no_interval():
    rows = row("a", 100.0, 0.0, Basis.GIVEN), row("b", 100.0, None), row("c", None, 0.1)
    assert [step.interval for step in steps_of(rows)] == [None] * 3


def test_common_errors_cancel_in_a_ratio():
    deviations = [sd_of_ratio(*given) for given in ((0.3, 0.4, 0), (0.3, 0.3, 1), (0.3, 0.1, 1), (0.3, 0, 0.42))]
    assert deviations == pytest.approx([0.5, 0, 0.2, 0.3])


def test_a_launch_bound_step_says_so_first():
    steps = replace(
        steps_of([row("a", 20.0), row("b", 20.0)]),
        notes=((Note(Code.GENERATION),),) * 2,
        limited_by_host=is_limited_by_host(np.array([1.0, 9.0]), np.array([19.0, 1.0])),
    )
    bound, free = steps
    assert bound.limited_by_host and not free.limited_by_host
    assert bound.note == f"{Note(Code.HOST_BOUND)}; {Note(Code.GENERATION)}" and free.note == Note(Code.GENERATION)


@pytest.mark.parametrize("code", list(Code))
def test_every_note_has_words(code):
    values = dict.fromkeys(re.findall(r"{(\w+)", code.words), 2.0)
    note = Note(code, **values)
    assert note and "{" not in note
    assert copy.copy(note) == note and copy.copy(note).code is note.code is code and note.values == values
