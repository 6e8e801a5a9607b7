"""Feeds damaged files of every format to the readers: `python -m benchmarks.fuzz_profiles --count 100000`.

Each must become a sound profile, which can be written and read again, or be refused in one line, within the time and
memory below. Inputs follow from the seed and their number alone, so that any of them can be made again.
"""

from __future__ import annotations

import argparse
import gzip
import io
import math
import multiprocessing
import os
import random
import re
import resource
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.made_trace import write_pytorch_trace
from profet_core import Profile, ProfileError, read_profile
from profet_core.profiles import READERS, Content, write_profile, xplane
from profet_core.profiles.xplane_schema import messages

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("sample_traces", "sample_traces/formats", "tests/unit/xprof_views")
NOT_PROFILES = {"index.json", "README.md"}

MAX_MESSAGE = 300
#: What one damaged file may take, far above what any was seen to.
MAX_SECONDS = 10.0
MAX_GROWTH_MIB = 300.0

#: Bytes that mean something to JSON, CSV, gzip, protobuf or UTF-8.
_MARKS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "-",
    ".",
    "e",
    "0",
    "9",
    "\\",
    "\\u",
    "\n",
    ";",
    "\t",
    '""',
    "null",
    "true",
]
_WORDS = [
    "NaN",
    "Infinity",
    "1e999",
    "-1",
    "1e308",
    "9" * 400,
    '"1,012.5"',
    "Device_",
    "Host_",
    '"meta"',
    '"operations"',
]
_WORDS += [
    "Host/device",
    "IDLE",
    '"cols"',
    '"traceEvents"',
    '"ph":"X"',
    '"dur"',
    "ProfilerStep#1",
    "/device:GPU:0",
    ":Conv2D",
]
TELLING = [text.encode() for text in (*_MARKS, *_WORDS)]
TELLING += [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\xe2\x80\xae",
    b"\xed\xa0\x80",
]
TELLING += [
    b"\x80" * 9 + b"\x01",
    b"\xff" * 10,
    b"\x0a\x00",
    b"\x1a\x00",
    b"\x22\x00",
    b"\x7f",
    b"\x0a",
    b"\x12",
    b"\x08",
]
_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"[^"\n]{0,200}"|\{[^{}]{0,300}\}')
_VALUES = [
    b"0",
    b"-1",
    b"1e308",
    b"1e999",
    b"1e13",
    b"0.1",
    b"9" * 19,
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"NaN",
    b'"X"',
    b'"M"',
]
_VALUES += [
    b'"5"',
    b'"a/b:Conv2D"',
    b'"\\u0000"',
    b'"\\ud800"',
    b'"IDLE"',
    b'"/device:GPU:0"',
    b'"cpu_op"',
    b'"kernel"',
    b"[" * 300,
]
_VALUES += [
    b'"ProfilerStep#7"',
    b'"' + b"x" * 5000 + b'"',
    b'{"v":null}',
    b'{"ph":"X","ts":1,"dur":1e300,"name":"aten::mm"}',
]
_INTEGERS = (0, 1, -1, 2**63 - 1, -(2**63), 10**18, 10**6, 12345)


@dataclass
class Tally:
    """What became of the inputs of one format."""

    inputs: int = 0
    read: int = 0
    longest_s: float = 0.0
    failures: list[str] = field(default_factory=list)
    #: Kinds of refusals, by their text without numbers and quotations.
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what another process counted."""
        self.inputs += other.inputs
        self.read += other.read
        self.longest_s = max(self.longest_s, other.longest_s)
        self.failures += other.failures
        self.refusals += other.refusals


def corpus() -> list[tuple[str, bytes]]:
    """Format and content of every sound file that is damaged, unpacked."""
    paths = [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).iterdir()) if path.is_file()]
    contents = [path.read_bytes() for path in paths if path.name not in NOT_PROFILES]
    made = io.StringIO()
    write_pytorch_trace(made, 1_000)
    contents.append(made.getvalue().encode())
    files = []
    for data in contents:
        unpacked = Content(data).read()
        reader = next(reader for reader in READERS if reader.looks_like(unpacked[: 2**20]))
        read_profile(unpacked)
        files.append((reader.NAME, unpacked))
    return files


def damaged_input(files: list[tuple[str, bytes]], seed: int, number: int) -> tuple[str, bytes]:
    """Format and content of input `number`: formats take turns, files and damage are drawn."""
    dice = random.Random(f"{seed}/{number}")
    formats = sorted({name for name, _ in files})
    name = formats[number % len(formats)]
    data = dice.choice([content for kind, content in files if kind == name])
    if dice.random() < 0.5:
        # Well-formed files with wrong contents get past the parsers.
        data = wrong_xplane(data, dice) if name == xplane.NAME else wrong_tokens(data, dice)
    if dice.random() < 0.6:
        data = damaged(data, dice, [content for _, content in files])
    draw = dice.random()
    if draw < 0.1:
        data = gzip.compress(data, 1, mtime=0)
    elif draw < 0.15:
        # Damage of the packed file itself; mostly near its start, where the header is.
        packed = bytearray(gzip.compress(data, 1, mtime=0))
        for _ in range(dice.randint(1, 3)):
            packed[int(dice.expovariate(1 / 40)) % len(packed)] = dice.randrange(256)
        data = bytes(packed)[: dice.randrange(1, len(packed) + 1) if dice.random() < 0.3 else None]
    return name, data


def wrong_tokens(content: bytes, dice: random.Random) -> bytes:
    """JSON or CSV with some numbers, texts and whole objects replaced by others, dropped or repeated."""
    data = bytearray(content)
    for _ in range(_few(dice)):
        found = _TOKEN.search(data, dice.randrange(len(data)))
        if found is None:
            continue
        other = _TOKEN.search(data, dice.randrange(len(data)))
        choices = [dice.choice(_VALUES), bytes(other[0]) if other else b"0", b"", bytes(found[0]) * 2]
        data[found.start() : found.end()] = dice.choice(choices)
    return bytes(data)


def wrong_xplane(content: bytes, dice: random.Random) -> bytes:
    """An xplane with some events, names and numbers replaced by others, dropped or repeated."""
    space = messages().Space.FromString(content)
    for _ in range(_few(dice)):
        plane = dice.choice(space.planes)
        line = dice.choice(plane.lines) if plane.lines else plane.lines.add()
        event = dice.choice(line.events) if line.events else line.events.add()
        names = dice.choice((plane.event_metadata, plane.stat_metadata))
        entry = dice.choice(names) if names else names.add()
        match dice.randrange(10):
            case 0:
                event.offset_ps = dice.choice(_INTEGERS)
            case 1:
                event.duration_ps = dice.choice(_INTEGERS)
            case 2:
                event.metadata_id = dice.choice((*_INTEGERS, dice.randrange(100)))
            case 3:
                entry.value.name = dice.choice((*TELLING, b"a/b:Conv2D", b"Iterator::X", b"x:", b"tf_op", b"step_num"))
            case 4:
                entry.key = dice.choice((*_INTEGERS, dice.randrange(100)))
            case 5:
                line.name = dice.choice((b"Steps", b"Stream #1", b"XLA Ops", b"", b"\xff"))
            case 6:
                line.events.extend([event] * dice.choice((1, 5, 1000)))
            case 7:
                stat = event.stats.add(metadata_id=dice.randrange(30), int64_value=dice.choice(_INTEGERS))
                stat.ref_value = dice.choice((0, 1, 2**63, dice.randrange(100)))
            case 8:
                plane.name = dice.choice((b"/host:CPU", b"/device:GPU:0", b"/device:TPU:0", b"", b"/host:CPU\n"))
            case 9:
                del line.events[dice.randrange(len(line.events)) :]
    return space.SerializeToString()


def _few(dice: random.Random) -> int:
    return 1 if dice.random() < 0.5 else dice.randint(2, 8)


def damaged(content: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    """`content` with one to eight bytes or stretches changed, dropped, repeated, moved or replaced."""
    data = bytearray(content)
    for _ in range(_few(dice)):
        # Headers decide more than what follows them.
        at = dice.randrange(min(len(data), 200) + 1) if dice.random() < 0.3 else dice.randrange(len(data) + 1)
        end = min(len(data), at + int(dice.expovariate(1 / dice.choice((4, 40, 2000)))))
        match dice.randrange(10):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * dice.choice((1, 1, 2, 30))
            case 3:
                data[at:at] = dice.choice(TELLING)
            case 4:
                data[at:end] = dice.choice(TELLING)
            case 5:
                if at < len(data):
                    data[at] ^= 1 << dice.randrange(8)
            case 6:
                stretch = data[at:end]
                del data[at:end]
                place = dice.randrange(len(data) + 1)
                data[place:place] = stretch
            case 7:
                other = dice.choice(others)
                start = dice.randrange(len(other))
                data[at:end] = other[start : start + int(dice.expovariate(1 / 200))]
            case 8:
                del data[at if dice.random() < 0.1 else len(data) :]
            case 9:
                if dice.random() < 0.1:
                    data[at:at] = dice.choice((b"[", b'{"a":', b"\x0a\xff\xff\x03", b"\x00", b'"')) * dice.choice(
                        (50, 20_000)
                    )
    return bytes(data)


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
        start = time.perf_counter()
        try:
            profile, message = check(data)
            tally.read += profile is not None
            if message:
                tally.refusals["".join(c for c in message.split("'")[0] if not c.isdigit())[:80]] += 1
        except Exception:
            tally.failures.append(f"input {number} of seed {seed}: {traceback.format_exc(limit=-3)}")
        seconds = time.perf_counter() - start
        tally.longest_s = max(tally.longest_s, seconds)
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_profiles", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", metavar="DIR", help="write inputs that fail there")
    options = parser.parse_args()
    os.nice(10)
    shares = [range(first, options.count, options.processes) for first in range(options.processes)]
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.starmap(run, [(options.seed, share, options.keep) for share in shares])
    total: dict[str, Tally] = {}
    for tallies, _ in results:
        for name, tally in tallies.items():
            total.setdefault(name, Tally()).add(tally)
    print(f"| {'format':<30} | inputs | read | refused | longest |\n|---|---|---|---|---|")
    for name, tally in sorted(total.items()):
        refused = tally.inputs - tally.read - len(tally.failures)
        print(f"| {name:<30} | {tally.inputs:,} | {tally.read:,} | {refused:,} | {tally.longest_s * 1e3:,.0f} ms |")
    failures = [failure for tally in total.values() for failure in tally.failures]
    kinds = set().union(*(tally.refusals for tally in total.values()))
    print(f"\n{sum(tally.inputs for tally in total.values()):,} inputs, seed {options.seed}, {len(failures)} failures,")
    print(f"{len(kinds)} kinds of refusals, memory grew by at most {max(growth for _, growth in results):.0f} MiB,")
    print(f"{time.perf_counter() - start:.0f} s in {options.processes} processes")
    print("\n".join(failures[:20]), file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
