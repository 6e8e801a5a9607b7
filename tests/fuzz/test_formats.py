"""Damaged files of every format, some hundred of each; `FUZZ_INPUTS` and `FUZZ_SEED` say how many and which."""

from __future__ import annotations

import os

from profet_core.profiles import READERS
from tests.fuzz.damage import corpus, damaged_input
from tests.fuzz.fuzz_profiles import MAX_GROWTH_MIB, run

INPUTS, SEED = int(os.environ.get("FUZZ_INPUTS", "1800")), int(os.environ.get("FUZZ_SEED", "101"))


def test_every_format_is_damaged_and_an_input_follows_from_seed_and_number():
    files = corpus()
    assert {name for name, _ in files} == {reader.NAME for reader in READERS}
    assert damaged_input(files, 7, 42) == damaged_input(files, 7, 42) != damaged_input(files, 8, 42)


def test_a_damaged_file_is_a_profile_or_one_line():
    tallies, growth_mib = run(SEED, range(INPUTS))
    assert [failure for tally in tallies.values() for failure in tally.failures] == []
    assert growth_mib < MAX_GROWTH_MIB
    for name, tally in tallies.items():
        assert tally.inputs == INPUTS // len(tallies)
        assert 0.05 < tally.read / tally.inputs < 0.95, f"{name}: damage must be neither fatal nor harmless throughout"
    assert len(set().union(*(tally.refusals for tally in tallies.values()))) > 15
