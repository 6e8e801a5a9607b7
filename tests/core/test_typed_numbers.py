"""Numbers as people type them, and one line for everything else."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.errors import InputError
from profet_core.typed_numbers import as_typed, typed_positive, typed_whole
from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER

MOST = 1_000_000_000


@given(whole=st.integers(1, 10**12), decimals=st.from_regex(r"\A[0-9]{1,6}\Z"))
def test_commas_group_and_the_point_is_decimal(whole, decimals):
    assert (
        typed_positive(f"{whole:,}.{decimals}") == typed_positive(f"{whole}.{decimals}") == float(f"{whole}.{decimals}")
    )


@given(whole=st.integers(1, MOST))
def test_a_whole_number_may_be_grouped(whole):
    assert typed_whole(f"{whole:,}", 1, MOST) == typed_whole(f" {whole}.0 ", 1, MOST) == whole


@pytest.mark.parametrize(
    ("text", "value"), [(".5", 0.5), ("1e3", 1000.0), ("1.5E3", 1500.0), ("+5", 5.0), (" 5 ", 5.0)]
)
def test_single_numbers(text, value):
    assert typed_positive(text) == value


def test_what_is_no_number_or_out_of_bounds_is_one_line():
    no_numbers = [
        *("", ".", "x", "1 23", "1,2,3", "1.2.3", "1,234.5,6", "1.234,5", "203,3", "1,,2", "5.", "12,34,567", "1_000"),
        *("nan", "inf", "0x10", "1e", "1e9999", "203.3 ms", "9" * 41, "<b>1</b>", "1\n2", "²", "٣"),
    ]
    for text, read in product(no_numbers, (typed_positive, lambda text: typed_whole(text, 0, MOST))):
        with pytest.raises(InputError, match=r"is not a number: write it like") as refused:
            read(text)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 100
    for text, said in {"0": "above 0", "-3.5": "above 0", "1e300": "between 1e-09", "1e-300": "between"}.items():
        with pytest.raises(InputError, match=said):
            typed_positive(text)
    for text, said in {
        "203.3": "a whole",
        "0": "1 and 1,000",
        "1e300": "between",
        "1e-9": "a whole",
        "-2": "b",
    }.items():
        with pytest.raises(InputError, match=said):
            typed_whole(text, 1, 1000)


@given(st.text(max_size=50))
def test_any_text_is_a_number_or_one_line(text):
    for read in (typed_positive, lambda text: typed_whole(text, 0, MOST)):
        try:
            assert 0 <= read(text) <= LARGEST_NUMBER
        except InputError as refused:
            assert str(refused).isprintable()


@given(st.floats(SMALLEST_NUMBER, LARGEST_NUMBER))
def test_what_a_field_holds_is_read_back_as_the_same_number(value):
    assert typed_positive(as_typed(value)) == value
