"""Damages sound files of every format that is read: bytes anywhere, tokens of JSON and CSV, parts of an xplane."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable

from benchmarks import REPOSITORY
from benchmarks.made_trace import write_pytorch_trace
from profet_core.profiles.reading import reader_of
from profet_core.profiles.tensorflow import xplane
from profet_core.profiles.tensorflow.xplane import messages
from profet_core.profiles.unpacking import Content

FOLDERS = ("sample_traces", "sample_traces/formats", "tests/core/profiles/tensorflow/xprof_views")
NOT_PROFILES = {"index.json", "README.md"}

#: What means something to JSON, CSV, gzip, protobuf or UTF-8.
_TEXTS = r"""{ } [ ] " , : - . e 0 \u ; null true NaN 1e999 -1 Device_ "meta" IDLE "ph":"X" /device:GPU:0 :Conv2D"""
TELLING = [text.encode() for text in _TEXTS.split()] + [
    b"9" * 400,
    b"\n",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x22\x00",
]
TELLING += [b"\x1f\x8b", b"PK\x03\x04", b"\xff" * 10, b'"ProfilerStep#1"', b"\xed\xa0\x80", b"\x80" * 9 + b"\x01"]
#: What may stand where a number, a text or an object does.
_VALUES = (
    """0 -1 1e308 1e999 1e13 null true [] [[]] {} "" NaN "X" "M" "5" {"a":[1]} ["x"] "cpu_op" "kernel" {"rank":[0]}"""
)
ODD = [value.encode() for value in _VALUES.split()] + [b"9" * 400, b"[" * 300, b'"\\ud800"', b'"a/b:Conv2D"']
ODD += [b'"/device:GPU:0"', b'"' + b"x" * 5000 + b'"', b'{"ph":"X","ts":1,"dur":1e300,"name":"aten::mm"}']
_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"[^"\n]{0,200}"|\{[^{}]{0,300}\}')
_INTEGERS = (0, 1, -1, 2**63 - 1, -(2**63), 10**18, 12345)
_NAMES = (*TELLING, b"a/b:Conv2D", b"Iterator::X", b"x:", b"tf_op", b"step_num")


def corpus() -> list[tuple[str, bytes]]:
    """Format and content of every sound file that is damaged, unpacked."""
    paths = [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).iterdir()) if path.is_file()]
    contents = [Content(path.read_bytes()).read() for path in paths if path.name not in NOT_PROFILES]
    made = io.StringIO()
    write_pytorch_trace(made, 1_000)
    contents.append(made.getvalue().encode())
    return [(reader.NAME, data) for data in contents if (reader := reader_of(data[: 2**20]))]


def damaged_input(files: list[tuple[str, bytes]], seed: int, number: int) -> tuple[str, bytes]:
    """Format and content of input `number`: formats take turns, files and damage are drawn."""
    dice = random.Random(f"{seed}/{number}")
    formats = sorted({name for name, _ in files})
    name = formats[number % len(formats)]
    data = dice.choice([content for kind, content in files if kind == name])
    if dice.random() < 0.6:
        # Well-formed files with wrong contents get past the parsers.
        data = wrong_xplane(data, dice) if name == xplane.NAME else wrong_tokens(data, dice)
    if dice.random() < 0.6:
        data = damaged(data, dice, [content for _, content in files])
    draw = dice.random()
    if draw < 0.15:
        data = gzip.compress(data, 1, mtime=0)
    elif draw < 0.2:
        data = zipped({"a/profile": data, "a/hello.txt": b"hello"})
    return name, damaged(data, dice, [data]) if draw < 0.1 else data


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive of these files, the same each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def wrong_tokens(content: bytes, dice: random.Random) -> bytes:
    """JSON or CSV with some numbers, texts and whole objects replaced by others, dropped or repeated."""
    data = bytearray(content)
    for _ in range(_few(dice)):
        if found := _TOKEN.search(data, dice.randrange(len(data))):
            other = _TOKEN.search(data, dice.randrange(len(data)))
            choices = [dice.choice(ODD), bytes(other[0]) if other else b"0", b"", bytes(found[0]) * 2]
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
        number = dice.choice((*_INTEGERS, dice.randrange(100)))
        changes: list[Callable[[], object]] = [
            lambda event=event, number=number: setattr(event, "offset_ps", number),
            lambda event=event, number=number: setattr(event, "duration_ps", number),
            lambda event=event, number=number: setattr(event, "metadata_id", number),
            lambda entry=entry: setattr(entry.value, "name", dice.choice(_NAMES) * dice.choice((1, 1, 100))),
            lambda entry=entry, number=number: setattr(entry, "key", number),
            lambda line=line: setattr(line, "name", dice.choice((b"Steps", b"Stream #1", b"XLA Ops", b"", b"\xff"))),
            lambda line=line, event=event: line.events.extend([event] * dice.choice((1, 5, 1000))),
            lambda event=event: event.stats.add(metadata_id=dice.randrange(30), ref_value=dice.choice((0, 1, 2**63))),
            lambda plane=plane: setattr(
                plane, "name", dice.choice((b"/host:CPU", b"/device:GPU:0", b"/device:TPU:0", b""))
            ),
            lambda line=line: line.events.__delitem__(slice(dice.randrange(len(line.events) + 1), None)),
        ]
        dice.choice(changes)()
    return space.SerializeToString()


def damaged(content: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    """`content` with one to eight bytes or stretches changed, dropped, repeated, moved or replaced."""
    data = bytearray(content)
    for _ in range(_few(dice)):
        # Headers decide more than what follows them.
        at = dice.randrange(min(len(data), 200) + 1) if dice.random() < 0.3 else dice.randrange(len(data) + 1)
        end = min(len(data), at + int(dice.expovariate(1 / dice.choice((4, 40, 2000)))))
        stretch, other = bytes(data[at:end]), dice.choice(others)
        start = dice.randrange(len(other))
        match dice.randrange(7):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                data[at:end] = b""
            case 2:
                data[at:at] = stretch * dice.choice((1, 2, 30))
            case 3:
                data[at : dice.choice((at, end))] = dice.choice(TELLING)
            case 4:
                data[at:end] = other[start : start + int(dice.expovariate(1 / 200))]
            case 5:
                del data[at if dice.random() < 0.1 else len(data) :]
            case 6:
                data[at:at] = dice.choice((b"[", b'{"a":', b"\x0a\xff\xff\x03", b'"')) * dice.choice((1, 50, 20_000))
    return bytes(data)


def _few(dice: random.Random) -> int:
    return 1 if dice.random() < 0.5 else dice.randint(2, 8)
