"""Damaged files of every format, some hundred of each: the short version of `python -m tests.fuzz.fuzz_profiles`."""

from __future__ import annotations

from profet_core.profiles import READERS
from tests.fuzz.damage import corpus, damaged_input
from tests.fuzz.fuzz_profiles import MAX_GROWTH_MIB, run

INPUTS = 1_800


def test_every_format_is_damaged_and_an_input_follows_from_seed_and_number():
    files = corpus()
    assert {name for name, _ in files} == {reader.NAME for reader in READERS}
    assert damaged_input(files, 7, 42) == damaged_input(files, 7, 42) != damaged_input(files, 8, 42)


def test_a_damaged_file_is_a_profile_or_one_line():
    tallies, growth_mib = run(101, range(INPUTS))
    assert [failure for tally in tallies.values() for failure in tally.failures] == []
    assert growth_mib < MAX_GROWTH_MIB
    for name, tally in tallies.items():
        assert tally.inputs == INPUTS // len(tallies)
        assert 0.05 < tally.read / tally.inputs < 0.95, f"{name}: damage must be neither fatal nor harmless throughout"
    assert len(set().union(*(tally.refusals for tally in tallies.values()))) > 15
