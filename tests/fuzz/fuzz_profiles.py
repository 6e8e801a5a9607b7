"""Feed damaged files of every format to the readers.

Each must become a sound profile, which can be written and read again, or be refused in one line, within the
memory below. Inputs follow from the seed, their number and the sound files alone, so that any can be made again.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import REPOSITORY
from profet_core import Profile, ProfileError, read_profile
from profet_core.profiles import write_profile
from tests.fuzz.damage import corpus, damaged_input

MAX_MESSAGE = 300
#: What one damaged file may make the process grow by, far above what any was seen to. The readers' deadline ends what
#: takes long, and no test measures it.
MAX_GROWTH_MIB = 300.0
#: What reading a file that a browser may upload may make of a process.
MAX_READING_MIB, BROWSER_BYTES = 250.0, 30 * 2**20


@dataclass
class Tally:
    """What became of the inputs of one format."""

    inputs: int = 0
    read: int = 0
    failures: list[str] = field(default_factory=list)
    #: Kinds of refusals, by their text without numbers and quotations.
    refusals: Counter[str] = field(default_factory=Counter)


def check(data: bytes) -> tuple[Profile | None, str]:
    """Read one input; the profile or the refusal. AssertionError or any other exception is a failure."""
    try:
        profile = read_profile(data, "trace")
    except ProfileError as error:
        message = str(error)
        assert message.startswith("trace: ") and message.isprintable(), f"not one line: {message!r}"
        assert len(message) <= MAX_MESSAGE, f"{len(message)} letters: {message!r}"
        return None, message
    assert profile.operations and all(0 <= us < math.inf for us in profile.operations.values())
    assert profile.device_total_us + profile.host_total_us > 0 and profile.steps >= 1
    texts = (*profile.ignored, *profile.warnings, profile.source_format, profile.meta.gpu or "")
    assert all(text.isprintable() and len(text) <= 500 for text in texts), texts
    again = read_profile(write_profile(profile))
    assert again.operations == profile.operations and again.meta == profile.meta
    return profile, ""


def run(seed: int, numbers: range) -> tuple[dict[str, Tally], float]:
    """Feed these inputs; what became of each format's, and the process's growth of memory in MiB."""
    files = corpus()
    tallies = {name: Tally() for name, _ in files}
    _warm_up(files)
    before = peak_mib()
    for number in numbers:
        name, data = damaged_input(files, seed, number)
        tally = tallies[name]
        tally.inputs += 1
        try:
            profile, message = check(data)
            tally.read += profile is not None
            if message:
                tally.refusals["".join(c for c in message.split("'")[0] if not c.isdigit())[:80]] += 1
        except Exception:
            tally.failures.append(f"input {number} of seed {seed}: {traceback.format_exc(limit=-3)}")
        if peak_mib() - before > MAX_GROWTH_MIB:
            tally.failures.append(f"input {number} of seed {seed} made memory grow past {MAX_GROWTH_MIB:.0f} MiB")
            break
    return tallies, peak_mib() - before


def _warm_up(files: list[tuple[str, bytes]]) -> None:
    """Load what the readers load late, so that it does not count as growth."""
    for _, data in files:
        read_profile(data)


def peak_mib() -> float:
    """Largest memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_alone(path: Path) -> tuple[float, str]:
    """Peak MiB of a new process that reads a file, and what became of it."""
    command = [sys.executable, "-c", _READ_ALONE, str(path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    mib, what = json.loads(done.stdout)
    return mib, what


#: Not the largest memory that `resource` tells, which begins with that of the process that started this one.
_READ_ALONE = """
import json, re, sys
from pathlib import Path
from profet_core.errors import ProfileError
from profet_core.profiles.reading import read_profile
try:
    with open(sys.argv[1], "rb") as file:
        profile = read_profile(file, "file")
    what = f"read, {len(profile.operations)} operation types"
except ProfileError as error:
    what = str(error).removeprefix("file: ")
peak_kib = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([peak_kib / 1024, what]))
"""
