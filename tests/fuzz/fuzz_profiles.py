"""Feeds damaged files of every format to the readers: `python -m tests.fuzz.fuzz_profiles --count 100000`.

Each must become a sound profile, which can be written and read again, or be refused in one line, within the time and
memory below. Inputs follow from the seed, their number and the sound files alone, so that any can be made again.
`--slow` reads the files of `slow_files` and `wide_files` instead, which were made to take long or much memory, each by
a process of its own, and prints what each took.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import REPOSITORY
from profet_core import Profile, ProfileError, read_profile
from profet_core.profiles import write_profile
from profet_core.profiles.containers import watch
from tests.fuzz.damage import corpus, damaged_input
from tests.fuzz.slow_files import slow_files
from tests.fuzz.wide_files import wide_files

MAX_MESSAGE = 300
#: What one damaged file may take, far above what any was seen to: processor time and growth of the process.
MAX_SECONDS = 5.0
MAX_GROWTH_MIB = 300.0
_OVERRUN_S = 3.0
#: What reading a file that a browser may upload may make of a process.
MAX_READING_MIB, BROWSER_BYTES = 250.0, 30 * 2**20
#: Below, the time of what does not go with the size shows too much.
_LARGE_BYTES = 100_000


@dataclass
class Tally:
    """What became of the inputs of one format."""

    inputs: int = 0
    read: int = 0
    longest_s: float = 0.0
    #: Of inputs above `_LARGE_BYTES`, per megabyte as uploaded.
    longest_s_per_mb: float = 0.0
    failures: list[str] = field(default_factory=list)
    #: Kinds of refusals, by their text without numbers and quotations.
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what another process counted."""
        self.inputs += other.inputs
        self.read += other.read
        self.longest_s = max(self.longest_s, other.longest_s)
        self.longest_s_per_mb = max(self.longest_s_per_mb, other.longest_s_per_mb)
        self.failures += other.failures
        self.refusals += other.refusals


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


def run(seed: int, numbers: range, keep: str | None = None) -> tuple[dict[str, Tally], float]:
    """Feed these inputs; what became of each format's, and the process's growth of memory in MiB."""
    files = corpus()
    tallies = {name: Tally() for name, _ in files}
    _warm_up(files)
    before = peak_mib()
    for number in numbers:
        name, data = damaged_input(files, seed, number)
        tally = tallies[name]
        tally.inputs += 1
        start = time.process_time()
        try:
            profile, message = check(data)
            tally.read += profile is not None
            if message:
                tally.refusals["".join(c for c in message.split("'")[0] if not c.isdigit())[:80]] += 1
        except Exception:
            tally.failures.append(f"input {number} of seed {seed}: {traceback.format_exc(limit=-3)}")
        seconds = time.process_time() - start
        tally.longest_s = max(tally.longest_s, seconds)
        if len(data) > _LARGE_BYTES:
            tally.longest_s_per_mb = max(tally.longest_s_per_mb, seconds / len(data) * 1e6)
        if seconds > MAX_SECONDS:
            tally.failures.append(f"input {number} of seed {seed} took {seconds:.1f} s")
        if peak_mib() - before > MAX_GROWTH_MIB:
            tally.failures.append(f"input {number} of seed {seed} made memory grow past {MAX_GROWTH_MIB:.0f} MiB")
            break
        if tally.failures and keep and len(tally.failures) < 20:
            Path(keep, f"{number}-of-seed-{seed}").write_bytes(data)
    return tallies, peak_mib() - before


def _warm_up(files: list[tuple[str, bytes]]) -> None:
    """Load what the readers load late, so that it does not count as growth."""
    for _, data in files:
        read_profile(data)


def peak_mib() -> float:
    """Largest memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run all processes and print a table; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.fuzz_profiles", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", metavar="DIR", help="write inputs that fail there")
    parser.add_argument(
        "--slow", action="store_true", help="read the files that were made to take long or much instead"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="with --slow: files with this in their name")
    options = parser.parse_args()
    os.nice(10)
    if options.slow:
        return run_slow(options.only)
    shares = [range(first, options.count, options.processes) for first in range(options.processes)]
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.starmap(run, [(options.seed, share, options.keep) for share in shares])
    total: dict[str, Tally] = {}
    for tallies, _ in results:
        for name, tally in tallies.items():
            total.setdefault(name, Tally()).add(tally)
    print(f"| {'format':<30} | inputs | read | refused | longest | longest per MB |\n|---|---|---|---|---|---|")
    for name, tally in sorted(total.items()):
        refused = tally.inputs - tally.read - len(tally.failures)
        times = f"{tally.longest_s * 1e3:,.0f} ms | {tally.longest_s_per_mb * 1e3:,.0f} ms"
        print(f"| {name:<30} | {tally.inputs:,} | {tally.read:,} | {refused:,} | {times} |")
    failures = [failure for tally in total.values() for failure in tally.failures]
    kinds = set().union(*(tally.refusals for tally in total.values()))
    print(f"\n{sum(tally.inputs for tally in total.values()):,} inputs, seed {options.seed}, {len(failures)} failures,")
    print(f"{len(kinds)} kinds of refusals, memory grew by at most {max(growth for _, growth in results):.0f} MiB,")
    print(f"{time.perf_counter() - start:.0f} s in {options.processes} processes")
    print("\n".join(failures[:20]), file=sys.stderr)
    return bool(failures)


def run_slow(only: str = "") -> int:
    """Read each file that was made to take long or much memory and print a table; 1 if one took more than it may."""
    print("| file | MB | processor time | memory | |\n|---|---|---|---|---|")
    too_much = False
    with tempfile.TemporaryDirectory() as folder:
        for name, make in {**slow_files(), **wide_files()}.items():
            if only not in name:
                continue
            path = Path(folder, "file")
            path.write_bytes(make())
            size = path.stat().st_size
            seconds, mib, what = read_alone(path)
            # The budget is checked at every block and every thousand records, not at every instruction.
            over = seconds > watch.MAX_SECONDS + _OVERRUN_S or (size <= BROWSER_BYTES and mib > MAX_READING_MIB)
            too_much |= over
            mark = " TOO MUCH" if over else ""
            print(f"| {name} | {size / 1e6:.1f} | {seconds:.1f} s | {mib:.0f} MiB | {what}{mark} |", flush=True)
    return int(too_much)


def read_alone(path: Path) -> tuple[float, float, str]:
    """Processor seconds and peak MiB of a new process that reads a file, and what became of it."""
    command = [sys.executable, "-c", _READ_ALONE, str(path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    seconds, mib, what = json.loads(done.stdout)
    return seconds, mib, what


#: Not the largest memory that `resource` tells, which begins with that of the process that started this one.
_READ_ALONE = """
import json, re, sys, time
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
print(json.dumps([time.process_time(), peak_kib / 1024, what]))
"""


if __name__ == "__main__":
    sys.exit(main())
