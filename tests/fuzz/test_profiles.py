"""Thousands of damaged sample traces: each is read as a sound profile or refused in one line, never anything else."""

from __future__ import annotations

import gzip
import math
import random

import pytest

from profet_core import NoPredictionError, ProfileError, predict_many, read_profile
from tests.fuzz.damage import damaged

INPUTS_PER_SEED = 1_000


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_trace_is_a_profile_or_one_line(samples, models, catalog, seed):
    dice = random.Random(seed)
    traces = [sample.data for sample in samples.values()]
    traces += [gzip.compress(data, mtime=0) for data in traces[:3]]
    read = []
    for _ in range(INPUTS_PER_SEED):
        data = damaged(dice.choice(traces), dice, traces)
        try:
            profile = read_profile(data, "trace.json")
        except ProfileError as error:
            assert str(error).startswith("trace.json: ") and str(error).isprintable(), data
            continue
        assert all(math.isfinite(us) and us >= 0 for us in profile.operations.values()), data
        assert profile.device_total_us + profile.host_total_us > 0, data
        assert all(note.isprintable() for note in profile.ignored), data
        read.append(profile)
    assert 0 < len(read) < INPUTS_PER_SEED, "the damage must be neither fatal nor harmless throughout"
    for profile in read[:100]:
        try:
            (prediction,) = predict_many(models, catalog, [profile], "g4dn.xlarge")
        except NoPredictionError as error:
            assert str(error).isprintable()
            continue
        assert all(0 < latency_ms < math.inf for latency_ms in prediction.latencies_ms.values())
        assert all(text.isprintable() for text in prediction.warnings)
