"""On one screen no percent stands on both sides of a verdict, and what falls short of a higher bar says so."""

from __future__ import annotations

import math
import re
from itertools import permutations

from hypothesis import example, given
from hypothesis import strategies as st

from profet_core.advice.certainty import format_certainty
from profet_core.advice.claims import CLOSE_CALL, CLOSE_CALL_OF_ESTIMATES, is_claimed, why_too_close
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.latency import Basis
from tests.made.step_times import offer, planned, row

PROFILED, ESTIMATED = Basis.MEASURED, Basis.TRANSFERRED
#: Basis of the other plan -> percent from which a claim is made.
LEAST = {PROFILED: round(100 * CLOSE_CALL), ESTIMATED: round(100 * CLOSE_CALL_OF_ESTIMATES)}
bases = st.sampled_from(list(LEAST))


def percent(words: str) -> int:
    """The percent in a sentence: 0 for 'under 1 %', 100 for 'over 99 %' and for certainty."""
    if "under 1 %" in words:
        return 0
    return 100 if "over 99 %" in words else int(re.search(r"(\d+) %", words)[1])


@given(chance=st.floats(0, 1), basis=bases)
@example(chance=math.nextafter(CLOSE_CALL_OF_ESTIMATES, 0), basis=ESTIMATED)
@example(chance=0.9499999999999, basis=ESTIMATED)
@example(chance=math.nextafter(CLOSE_CALL, 0), basis=PROFILED)
@example(chance=0.949, basis=ESTIMATED)
def test_the_percent_that_is_shown_decides(chance, basis):
    a, b = planned(row("a", 80, 0.1), offer("a", 1.0)), planned(row("b", 100, 0.1, basis), offer("b", 1.0))
    assert is_claimed(chance, a, b) == (percent(format_certainty(chance)) >= LEAST[basis])


plans = st.tuples(st.floats(50, 200), st.floats(0.01, 0.5), bases, st.floats(0.5, 2))


@given(st.lists(plans, min_size=2, max_size=5))
def test_no_percent_is_on_both_sides_of_a_verdict(made):
    every = [
        planned(row(f"i{number}", ms, deviation, basis), offer(f"i{number}", usd))
        for number, (ms, deviation, basis, usd) in enumerate(made)
    ]
    for first, second in permutations(every, 2):
        least = LEAST[PROFILED if {first.basis, second.basis} == {PROFILED} else ESTIMATED]
        for line in comparison_sentences(compare(first, second))[:2]:
            shown = percent(line)
            assert line.startswith("Too close") == (shown < least), line
            assert shown >= least or why_too_close(shown / 100) in line, line
