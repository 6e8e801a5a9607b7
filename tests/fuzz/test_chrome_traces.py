"""Thousands of damaged chrome traces: each is read as a sound profile or refused in one line, never anything else."""

from __future__ import annotations

import gzip
import json
import math
import random
import warnings
from pathlib import Path

import pytest

from profet_core import ProfileError, read_profile
from tests.fuzz.damage import TELLING, damaged
from tests.made.chrome_traces import cuda_step, tensorflow_trace, tf_step, trace

INPUTS_PER_SEED = 600
RECORDED = (
    Path(__file__).parents[1] / "core" / "profiles" / "pytorch" / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"
)
#: Values that an event or its arguments might hold instead of what belongs there.
ODD = [None, True, -1, 0, 10**30, 1e308, -1e308, float("nan"), "", "X", "aten::mm", [], [[]], {}, {"a": [1]}, "\ud800"]
#: Texts that mean something to the readers.
TEXTS = [b'"cpu_op"', b'"kernel"', b'"ts"', b'"dur"', b'"ProfilerStep#1"', b'"correlation"', b'"traceEvents"', b'"ph"']


def traces() -> list[bytes]:
    steps = [*cuda_step(1, 0), *cuda_step(2, 1000)]
    made = [trace(steps), json.dumps(steps, indent=1).encode(), tensorflow_trace([*tf_step(0, 0), *tf_step(1, 1000)])]
    return [*made, *(gzip.compress(data, mtime=0) for data in made)]


def check(data: bytes) -> bool:
    """True if it was read, False if it was refused; anything else fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            profile = read_profile(data, "trace.json")
    except ProfileError as error:
        assert str(error).startswith("trace.json: ") and str(error).isprintable() and len(str(error)) < 300, data
        return False
    assert all(math.isfinite(us) and us >= 0 for us in profile.operations.values()), data
    assert profile.device_total_us + profile.host_total_us > 0, data
    assert all(text.isprintable() for text in (*profile.ignored, *profile.warnings, *profile.operations)), data
    assert profile.steps >= 1
    return True


@pytest.mark.parametrize("seed", range(2))
def test_damaged_bytes(seed, monkeypatch):
    dice = random.Random(seed)
    monkeypatch.setattr("tests.fuzz.damage.TELLING", TELLING + TEXTS)
    originals = traces()
    read = sum(check(damaged(dice.choice(originals), dice, originals)) for _ in range(INPUTS_PER_SEED))
    assert 0 < read < INPUTS_PER_SEED, "the damage must be neither fatal nor harmless throughout"


@pytest.mark.parametrize("seed", range(2))
def test_odd_values_in_sound_json(seed):
    dice = random.Random(seed)
    originals = [json.loads(data) for data in (traces()[0], traces()[2])]
    read = sum(check(json.dumps(changed(dice.choice(originals), dice)).encode()) for _ in range(INPUTS_PER_SEED))
    assert 0 < read < INPUTS_PER_SEED


def test_a_recorded_trace_with_damage():
    dice = random.Random(0)
    plain = gzip.decompress(RECORDED.read_bytes())
    assert sum(check(damaged(plain, dice, [plain])) for _ in range(60)) > 0
    assert not all(check(damaged(RECORDED.read_bytes(), dice, [plain])) for _ in range(60))


def changed(document: dict, dice: random.Random) -> dict:
    """A copy with one to five events changed, dropped, doubled or moved, and perhaps an odd entry beside them."""
    events = [dict(event) for event in document["traceEvents"]]
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(events))
        event = events[at]
        match dice.randrange(6):
            case 0:
                del events[at]
            case 1:
                events.insert(dice.randrange(len(events)), dict(event))
            case 2:
                event[dice.choice(["ph", "cat", "name", "ts", "dur", "pid", "tid", "args"])] = dice.choice(ODD)
            case 3:
                keys = ["correlation", "Concrete Inputs", "Input Dims", "Input type", "long_name", "tf_op", "step_num"]
                args = event["args"] if isinstance(event.get("args"), dict) else {}
                event["args"] = {**args, dice.choice([*keys, "name"]): dice.choice(ODD)}
            case 4:
                event["ts"] = dice.uniform(-1e3, 1e4)
            case 5:
                event["dur"] = dice.choice([0, 1e-9, 1e5, 1e17, 1e18])
    entries = (
        {dice.choice(["deviceProperties", "pytorch_version", "x"]): dice.choice(ODD)} if dice.random() < 0.3 else {}
    )
    return {**document, **entries, "traceEvents": [event for event in events if isinstance(event, dict)]}
