"""Damaged and hostile files of every format: each is a sound profile or one line, here and in the limited process.

`FUZZ_INPUTS` and `FUZZ_SEED` say how many are damaged and which.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import subprocess
import sys
from collections import Counter

import pytest

from benchmarks import REPOSITORY
from profet_core import NoPredictionError, Profile, ProfileError, predict_many, read_profile
from profet_profiles import READERS, write_profile
from profet_profiles.sandbox import read_guarded
from tests.fuzz.damage import corpus, damaged_input, hostile_files

INPUTS, SEED = int(os.environ.get("FUZZ_INPUTS", "1600")), int(os.environ.get("FUZZ_SEED", "101"))
#: What one damaged file may make the process grow by, and what a hostile one may make of a process.
MAX_GROWTH_MIB, MAX_READING_MIB = 300, 250
HOSTILE = hostile_files()


def checked(data: bytes) -> tuple[Profile | None, str]:
    """The profile or the refusal of one input."""
    try:
        profile = read_profile(data, "trace")
    except ProfileError as error:
        message = str(error)
        assert message.startswith("trace: ") and message.isprintable() and len(message) <= 300, message
        return None, message
    assert profile.operations and all(0 <= us < math.inf for us in profile.operations.values())
    assert profile.device_total_us + profile.host_total_us > 0 and profile.steps >= 1
    texts = (*profile.ignored, *profile.warnings, profile.source_format, profile.meta.gpu or "")
    assert all(text.isprintable() and len(text) <= 500 for text in texts), texts
    again = read_profile(write_profile(profile))
    assert again.operations == profile.operations and again.meta == profile.meta
    return profile, ""


def test_an_input_follows_from_seed_and_number():
    files = corpus()
    assert {name for name, _ in files} == {reader.name for reader in READERS}
    assert damaged_input(files, 7, 42) == damaged_input(files, 7, 42) != damaged_input(files, 8, 42)


def test_a_damaged_file_is_a_profile_or_one_line(models, catalog):
    files = corpus()
    sound = [checked(data)[0] for _, data in files]
    assert None not in sound
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs: Counter[str] = Counter()
    read: dict[str, list[Profile]] = {name: [] for name, _ in files}
    refusals = set()
    for number in range(INPUTS):
        name, data = damaged_input(files, SEED, number)
        inputs[name] += 1
        profile, message = checked(data)
        read[name] += [profile] if profile else []
        refusals.add(re.sub(r"\d", "", message.split("'")[0])[:80])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < MAX_GROWTH_MIB * 1024
    for name, profiles in read.items():
        assert 0.05 < len(profiles) / inputs[name] < 0.95, f"{name}: damage must be neither fatal nor harmless"
    assert len(refusals) > 15
    for profile in [profile for profiles in read.values() for profile in profiles[:10]]:
        try:
            (prediction,) = predict_many(models, catalog, [profile], "g4dn.xlarge")
        except NoPredictionError as error:
            assert str(error).isprintable()
        else:
            assert all(0 < latency_ms < math.inf for latency_ms in prediction.latencies_ms.values())


@pytest.mark.parametrize("number", range(0, 80, 5))
def test_the_limited_process_says_the_same(number):
    _, data = damaged_input(corpus(), SEED, number)
    profile, message = checked(data)
    try:
        assert read_guarded(data, "trace") == profile
    except ProfileError as error:
        assert str(error) == message


#: Not the largest memory that `resource` tells, which begins with that of the process that started this one.
_READ_ALONE = """
import json, re, sys
from pathlib import Path
from profet_core import ProfileError, read_profile
try:
    what = "" if read_profile(sys.stdin.buffer.read(), "file").operations else None
except ProfileError as error:
    what = str(error)
print(json.dumps([int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024, what]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_little_memory(name):
    make, says = HOSTILE[name]
    command = [sys.executable, "-c", _READ_ALONE]
    done = subprocess.run(command, cwd=REPOSITORY, input=make(), capture_output=True, check=True)
    mib, what = json.loads(done.stdout)
    assert mib < MAX_READING_MIB
    assert what.isprintable() and says in what and bool(says) == bool(what)
