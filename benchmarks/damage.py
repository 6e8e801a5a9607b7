"""Damages sound files of every format that is read: bytes anywhere, tokens of JSON and CSV, parts of an xplane."""

from __future__ import annotations

import gzip
import io
import random
import re
from pathlib import Path

from benchmarks.made_trace import write_pytorch_trace
from profet_core import read_profile
from profet_core.profiles import READERS, Content, xplane
from profet_core.profiles.xplane_schema import messages

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("sample_traces", "sample_traces/formats", "tests/unit/xprof_views")
NOT_PROFILES = {"index.json", "README.md"}

# fmt: off
#: Bytes that mean something to JSON, CSV, gzip, protobuf or UTF-8. Another order or length draws other inputs.
_TEXTS = [
    "{", "}", "[", "]", '"', ",", ":", "-", ".", "e", "0", "9", "\\", "\\u", "\n", ";", "\t", '""', "null",
    "true", "NaN", "Infinity", "1e999", "-1", "1e308", "9" * 400, '"1,012.5"', "Device_", "Host_", '"meta"',
    '"operations"', "Host/device", "IDLE", '"cols"', '"traceEvents"', '"ph":"X"', '"dur"', "ProfilerStep#1",
    "/device:GPU:0", ":Conv2D",
]
_BYTES = [
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04", b"\xe2\x80\xae",
    b"\xed\xa0\x80", b"\x80" * 9 + b"\x01", b"\xff" * 10, b"\x0a\x00", b"\x1a\x00", b"\x22\x00", b"\x7f",
    b"\x0a", b"\x12", b"\x08",
]
_VALUES = [
    b"0", b"-1", b"1e308", b"1e999", b"1e13", b"0.1", b"9" * 19, b"null", b"true", b"[]", b"{}", b'""',
    b"NaN", b'"X"', b'"M"', b'"5"', b'"a/b:Conv2D"', b'"\\u0000"', b'"\\ud800"', b'"IDLE"',
    b'"/device:GPU:0"', b'"cpu_op"', b'"kernel"', b"[" * 300, b'"ProfilerStep#7"', b'"' + b"x" * 5000 + b'"',
    b'{"v":null}', b'{"ph":"X","ts":1,"dur":1e300,"name":"aten::mm"}',
]
# fmt: on
TELLING = [text.encode() for text in _TEXTS] + _BYTES
_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"[^"\n]{0,200}"|\{[^{}]{0,300}\}')
_INTEGERS = (0, 1, -1, 2**63 - 1, -(2**63), 10**18, 10**6, 12345)


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
