"""Damaged files of every format, and files made by hand to take much memory or time with few bytes."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable, Iterable

from benchmarks import REPOSITORY
from benchmarks.made_trace import write_pytorch_trace
from profet_profiles import xplane
from profet_profiles.reading import find_reader
from profet_profiles.unpacking import Content
from profet_profiles.xplane import messages
from tests.made.protobuf import entry, varint

FOLDERS = ("sample_traces", "sample_traces/formats", "tests/profiles/tensorflow/xprof_views")
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
    return [(reader.name, data) for data in contents if (reader := find_reader(data[: 2**20]))]


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
        if token := _TOKEN.search(data, dice.randrange(len(data))):
            other = _TOKEN.search(data, dice.randrange(len(data)))
            choices = [dice.choice(ODD), bytes(other[0]) if other else b"0", b"", bytes(token[0]) * 2]
            data[token.start() : token.end()] = dice.choice(choices)
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


_WIDE = "\U0001f600"
_MIB = 2**20
_TENSORFLOW = (
    b'{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},'
    b'{"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:0"}}'
)
_PYTORCH = b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":9}'
_TABLE = b"Rank,Host/device,Type,Operation,#Occurrences,Total time (us)\n1,Device,Conv2D,a,1,5\n"
_LISTS = b"[" + b"[],[0]," * 290_000 + b"0]"


def hostile_files() -> dict[str, tuple[Callable[[], bytes], str]]:
    """Name -> what makes the file, and a part of the line that refuses it; "" if it is read."""
    return {
        "xplane, 480,000 operation types": (
            lambda: _plane(b"/host:CPU", (b"n/a:M%d" % number for number in range(480_000))),
            "names: record fewer steps",
        ),
        "xplane, 25,000 wide kernel names": (
            lambda: _plane(b"/device:GPU:0", (b"%d" % n + (_WIDE * 599).encode() for n in range(25_000))),
            "names that are too long",
        ),
        "xplane, fields without end": (
            lambda: entry(1, entry(2, b"/host:CPU") + b"\x08\x00" * 2_000_000),
            "more than 1,000,000 parts",
        ),
        "xplane, streams": (
            lambda: entry(1, entry(2, b"/device:GPU:0") + entry(3, b"") * 20_001),
            "damaged or truncated",
        ),
        "xplane, operations on one thread": (
            lambda: _line(b"".join(entry(4, b"\x08\x01\x10" + varint(n * 100) + b"\x18\x32") for n in range(400_000))),
            "",
        ),
        "TensorFlow trace, 7,000 wide marks": (
            lambda: _trace(_TENSORFLOW, (_event(f"{n}x{_WIDE * 2000}", n, '"step_num":"1"') for n in range(7_000))),
            "names that are too long",
        ),
        "TensorFlow trace, empty events": (
            lambda: _TENSORFLOW + b",{}" * 2_100_000 + b"]}",
            "more than 2,000,000 events",
        ),
        "TensorFlow trace, an open text": (lambda: _TENSORFLOW + b',"' + b"a" * (5 * _MIB), "entry that is too long"),
        "PyTorch trace, entries of lists": (
            lambda: _PYTORCH + b'],"deviceProperties":%s,"distributedInfo":%s}' % (_LISTS, _LISTS),
            "",
        ),
        "PyTorch trace, operations inside each other": (
            lambda: _trace(_PYTORCH, (_event("aten::mm", n, cat="cpu_op", dur=9_000 - n) for n in range(3_000))),
            "nested more than 1,000 deep",
        ),
        "PyTorch trace, 12,000 threads": (
            lambda: _trace(_PYTORCH, (_event("aten::mm", n, cat="cpu_op", tid=n) for n in range(12_000))),
            "10,000 different names or threads",
        ),
        "statistics CSV, rows": (lambda: _TABLE + b"1,Device,Conv2D,a,1,5\n" * 21_000, "more than 20,000 rows"),
        "statistics JSON, too large": (
            lambda: b'{"cols": [{"id": "host_or_device"}]}' + b" " * (5 * _MIB),
            "more than 4 MB",
        ),
        "PyTorch trace, 20,001 names": (
            lambda: _trace(_PYTORCH, (_event(f"aten::{n}", n, cat="cpu_op") for n in range(20_001))),
            "20,000 different names",
        ),
        "PROFET JSON, digits": (lambda: b'{"Device_A":' + b"9" * (3 * _MIB), "digits"),
        "PROFET JSON, too large": (lambda: b'{"Device_A":1,"x":' + b" " * (5 * _MIB) + b"1}", "has more than 4 MB"),
        "a bomb": (lambda: gzip.compress(_PYTORCH + b" " * (20 * _MIB), 9), "more than 100 times its size"),
    }


def _plane(name: bytes, names: Iterable[bytes]) -> bytes:
    """A plane with names of events."""
    parts = [entry(2, name)]
    parts += [entry(4, b"\x08" + varint(n) + entry(2, entry(2, text))) for n, text in enumerate(names, 1)]
    return entry(1, b"".join(parts))


def _line(events: bytes) -> bytes:
    """A host's plane with a line."""
    named = entry(4, b"\x08\x01" + entry(2, entry(2, b"n/a:Mul")))
    return entry(1, entry(2, b"/host:CPU") + named + entry(3, events))


def _trace(head: bytes, events: Iterable[str]) -> bytes:
    return b"".join([head, *(b"," + event.encode() for event in events), b"]}"])


def _event(name: str, at: int, args: str = "", cat: str = "", tid: int = 1, dur: int = 1) -> str:
    where = f'"pid":1,"tid":{tid},"ts":{at},"dur":{dur}'
    return f'{{"ph":"X","cat":"{cat}","name":"{name}",{where},"args":{{{args}}}}}'
