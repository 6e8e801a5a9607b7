"""Numbers as people type them: each habit's marks, the one rule where habits disagree, and one line for the rest."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.errors import InputError
from profet_core.typed_numbers import as_typed, as_understood, typed_positive, typed_whole
from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER

MOST = 1_000_000_000
NARROW, FULL = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"
#: Habit -> the mark between groups of three digits, and the one before decimals.
HABITS = {
    "English": (",", "."),
    "German": (".", ","),
    "French": (" ", ","),
    "French, typeset": (NARROW, ","),
    "Spanish, typeset": (FULL, ","),
    "Swiss": ("'", "."),
    "Swiss, typeset": ("’", "."),
}


def written(whole: int, decimals: str, group: str, decimal: str) -> str:
    return f"{whole:,}".replace(",", group) + (f"{decimal}{decimals}" if decimals else "")


@given(whole=st.integers(1000, 10**12), decimals=st.from_regex(r"\A[0-9]{1,6}\Z"), habit=st.sampled_from(list(HABITS)))
def test_groups_and_decimals_are_read_in_every_habit(whole, decimals, habit):
    assert typed_positive(written(whole, decimals, *HABITS[habit])).value == float(f"{whole}.{decimals}")


@given(whole=st.integers(1, MOST), group=st.sampled_from([mark for mark, _ in HABITS.values()]))
def test_a_whole_number_reads_any_mark_as_one_between_groups(whole, group):
    found = typed_whole(written(whole, "", group, ""), 1, MOST)
    assert (found.value, found.obvious) == (whole, whole < 1000)


@given(whole=st.integers(1, 999), three=st.from_regex(r"\A[0-9]{3}\Z"))
def test_what_habits_disagree_on_is_read_by_one_rule_and_never_called_obvious(whole, three):
    comma, point = typed_positive(f"{whole},{three}"), typed_positive(f"{whole}.{three}")
    assert (comma.value, comma.obvious) == (float(f"{whole}{three}"), False)
    assert (point.value, point.obvious) == (float(f"{whole}.{three}"), False)


def test_single_numbers():
    values = {"0,526": 0.526, ",5": 0.5, "1e3": 1000.0, "1,5E3": 1500.0, "1,234e3": 1234.0, "+5": 5.0, " 5 ": 5.0}
    assert {text: typed_positive(text).value for text in values} == values


def test_what_is_no_number_or_out_of_bounds_is_one_line():
    no_numbers = [
        *("", "x", "1 23", "1,2,3", "1.2.3", "1,234.5,6", "1.234 567", "1,,2", "5.", "12,34,567", "1_000", "²", "٣"),
        *("nan", "inf", "0x10", "1e", "1e9999", "203,3 ms", "9" * 41, "<b>1</b>", "1\n2"),
    ]
    for text, read in product(no_numbers, (typed_positive, lambda text: typed_whole(text, 0, MOST))):
        with pytest.raises(InputError, match="is not a number") as refused:
            read(text)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 100
    bounds = {"0": "above 0", "−3,5": "above 0", "1e300": "between 1e-09", "1e-300": "between"}
    wholes = {"203,3": "a whole", "0": "1 and 1,000", "1e300": "between", "1e-9": "a whole", "-2": "b"}
    for text, said, read in [
        *((*each, typed_positive) for each in bounds.items()),
        *((*each, lambda text: typed_whole(text, 1, 1000)) for each in wholes.items()),
    ]:
        with pytest.raises(InputError, match=said):
            read(text)


@given(st.text(max_size=50))
def test_any_text_is_a_number_or_one_line(text):
    for read in (typed_positive, lambda text: typed_whole(text, 0, MOST)):
        try:
            found = read(text)
            assert 0 <= found.value <= LARGEST_NUMBER
        except InputError as refused:
            assert str(refused).isprintable()


@given(st.floats(SMALLEST_NUMBER, LARGEST_NUMBER))
def test_what_a_field_holds_is_read_back_as_the_same_number(value):
    assert typed_positive(as_typed(value)).value == typed_positive(as_understood(value)).value == value
