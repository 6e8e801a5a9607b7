"""Thousands of damaged sample traces: each is read as a sound profile or refused in one line, never anything else."""

from __future__ import annotations

import gzip
import math
import random

import pytest

from profet_core import ProfileError, predict_many, read_profile

INPUTS_PER_SEED = 1_000
#: Bytes that mean something to JSON, gzip or UTF-8.
TELLING = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"-",
    b".",
    b"e",
    b"0",
    b"9",
    b"\\",
    b"\\u",
    b"\x00",
    b"\xff",
    b"\n",
]
TELLING += [
    b"NaN",
    b"null",
    b"true",
    b"1e999",
    b"Device_",
    b"Host_",
    b'"meta"',
    b'"operations"',
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
]


def damaged(content: bytes, dice: random.Random) -> bytes:
    """`content` with one to six bytes or stretches changed, dropped, doubled, moved or replaced by telling ones."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + int(dice.expovariate(1 / 8)))
        match dice.randrange(6):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end]
            case 3:
                data[at:at] = dice.choice(TELLING)
            case 4:
                data[at:end] = dice.choice(TELLING)
            case 5:
                del data[at if dice.random() < 0.1 else len(data) :]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_trace_is_a_profile_or_one_line(samples, models, catalog, seed):
    dice = random.Random(seed)
    traces = [sample.data for sample in samples.values()]
    traces += [gzip.compress(data, mtime=0) for data in traces[:3]]
    read = []
    for _ in range(INPUTS_PER_SEED):
        data = damaged(dice.choice(traces), dice)
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
    for prediction in predict_many(models, catalog, read[:100], "g4dn.xlarge"):
        assert all(0 < latency_ms < math.inf for latency_ms in prediction.latencies_ms.values())
        assert all(text.isprintable() for text in prediction.warnings)
