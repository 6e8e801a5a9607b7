"""Numbers as people type them and as they are written for people; examples of docstrings."""

from __future__ import annotations

import doctest
import math
import re
from fractions import Fraction
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.errors import InputError
from profet_profiles.units import (
    LARGEST_NUMBER,
    SMALLEST_NUMBER,
    as_typed,
    format_co2e,
    format_duration,
    format_energy,
    format_ms,
    format_significant,
    format_usd,
    format_usd_range,
    latency_to_ms,
    positive_number,
    typed_positive,
    typed_whole,
    whole_number,
)
from tests.test_imports import module_name, modules_of


def test_a_latency_is_converted_to_milliseconds():
    for value, unit, ms in ((122.4, "ms", 122.4), (122_400, "us", 122.4), (0.1224, "s", 122.4)):
        assert latency_to_ms(value, unit) == pytest.approx(ms, rel=1e-12)
    for unit in ("min", "", "MS"):
        with pytest.raises(InputError, match=f"Unknown latency unit '{unit}'"):
            latency_to_ms(1, unit)


def test_what_is_no_positive_or_whole_number_is_refused_in_one_line():
    # Python writes no integer of more than 4,300 digits, not even into an error.
    for value in (0, -1, -0.0, math.nan, math.inf, True, None, "5", [5], 10**5000):
        with pytest.raises(InputError, match=r"^The price must be a number above 0, not .{1,40}\.$"):
            positive_number("The price", value)
    for value in (SMALLEST_NUMBER / 2, LARGEST_NUMBER * 2, 5e-324, 1e308):
        with pytest.raises(InputError, match=r"between 1e-09 and 1e\+15"):
            positive_number("The price", value)
    for value in (0, -3, 2.5, math.nan, True, None, "3", -math.inf):
        with pytest.raises(InputError, match=r"^The count must be a whole number of at least 1, not .{1,40}\.$"):
            whole_number("The count", value)
    for value in (10**16, 10**5000, 1e300, math.inf):
        with pytest.raises(InputError, match=r"^The count must be at most 1e\+15"):
            whole_number("The count", value)
    assert whole_number("It", 0, at_least=0) == 0
    with pytest.raises(InputError, match="at least 16, not 15"):
        whole_number("It", 15, at_least=16)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), Fraction(3)])
def test_numbers_of_any_kind_are_taken(value):
    assert positive_number("It", value) == 3.0
    assert whole_number("It", value) == 3
    assert type(whole_number("It", value)) is int


SIGNIFICANT = {0: "0", 0.0000255: "0.0000255", 7.349: "7.35", 9.996: "10.0", 999.6: "1,000", 1529.87: "1,530"}
SIGNIFICANT |= {0.099999: "0.100", 1e-300: "0", math.inf: "inf"}
DOLLARS = {0: "$0.00", 0.00002551: "$0.0000255", 0.0256: "$0.0256", 0.1381: "$0.138", 0.5: "$0.500", 0.9996: "$1.00"}
DOLLARS |= {12.344: "$12.34", 99.996: "$100", 999.999: "$1,000", 1234.6: "$1,235"}
DURATIONS = {0: "0 ms", 0.4213: "421 ms", 9.996: "10.0 s", 59.6: "59.6 s", 3_599.4: "60.0 min"}
DURATIONS |= {100_000: "27.8 h", 172_799: "48.0 h", 187_200: "2 d 4 h", 331_000: "3 d 20 h"}
TABLES = ((format_significant, SIGNIFICANT), (format_usd, DOLLARS), (format_duration, DURATIONS))


@pytest.mark.parametrize(("write", "table"), TABLES)
def test_numbers_are_written_for_people(write, table):
    assert {value: write(value) for value in table} == table


@given(st.floats(1e-9, 1e12))
def test_a_written_number_is_within_half_a_percent_and_never_scientific(value):
    text = format_significant(value)
    assert re.fullmatch(r"[\d,]+(\.\d+)?", text)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.0051)
    assert len(text.replace(",", "").replace(".", "").lstrip("0")) == 3 or value >= 999
    assert format_ms(value) == f"{text} ms"


@given(st.floats(10, 1e8))
def test_a_written_duration_is_within_half_a_percent_or_half_an_hour(seconds):
    lengths = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
    parts = re.findall(r"([\d,.]+) (s|min|h|d)\b", format_duration(seconds))
    written = sum(float(number.replace(",", "")) * lengths[unit] for number, unit in parts)
    assert abs(written - seconds) <= (0.0051 * seconds if len(parts) == 1 else 1_800)
    assert len(parts) == 1 or (parts[1][1] == "h" and int(parts[1][0]) < 24)


def test_ranges_of_dollars_energy_and_emissions_are_written_for_people():
    assert format_usd_range(0.131, 0.219) == "$0.131–0.219" and format_usd_range(98, 1_234) == "$98.00–1,234"
    assert (format_energy(0.9996), format_energy(0.0004)) == ("1.0 kWh", "0.40 Wh")
    assert (format_co2e(0.9996), format_co2e(0.0004)) == ("1.0 kg", "0.40 g")


MOST = 1_000_000_000


@given(whole=st.integers(1, 10**12), decimals=st.from_regex(r"\A[0-9]{1,6}\Z"))
def test_commas_group_and_the_point_is_decimal(whole, decimals):
    assert (
        typed_positive(f"{whole:,}.{decimals}") == typed_positive(f"{whole}.{decimals}") == float(f"{whole}.{decimals}")
    )


@given(whole=st.integers(1, MOST))
def test_a_whole_number_may_be_grouped(whole):
    assert typed_whole(f"{whole:,}", 1, MOST) == typed_whole(f" {whole}.0 ", 1, MOST) == whole


def test_what_is_no_number_or_out_of_bounds_is_one_line():
    no_numbers = [
        *("", ".", "x", "1 23", "1,2,3", "1.2.3", "1,234.5,6", "1.234,5", "203,3", "1,,2", "5.", "12,34,567", "1_000"),
        *("nan", "inf", "0x10", "1e", "1e9999", "203.3 ms", "9" * 41, "<b>1</b>", "1\n2", "²", "٣"),
    ]
    for text, read in product(no_numbers, (typed_positive, lambda text: typed_whole(text, 0, MOST))):
        with pytest.raises(InputError, match=r"is not a number: write it like") as refused:
            read(text)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 100
    for text, says in {"0": "above 0", "-3.5": "above 0", "1e300": "between 1e-09", "1e-300": "between"}.items():
        with pytest.raises(InputError, match=says):
            typed_positive(text)
    for text, says in {
        "203.3": "a whole",
        "0": "1 and 1,000",
        "1e300": "between",
        "1e-9": "a whole",
        "-2": "b",
    }.items():
        with pytest.raises(InputError, match=says):
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


def test_examples_give_what_they_show():
    paths = [*modules_of("profet_core"), *modules_of("profet_profiles")]
    names = {module_name(path) for path in paths if ">>> " in path.read_text(encoding="utf-8")}
    assert {"profet_core", "profet_core.training.cost", "profet_profiles.reading", "profet_profiles.units"} <= names
    for name in names:
        failed, tried = doctest.testmod(import_module(name))
        assert tried and not failed, name
