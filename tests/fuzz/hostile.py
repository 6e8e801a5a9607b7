"""Files made by hand to take much memory or time with few bytes, each in the shape of one reader's format."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable

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
            lambda: _field(1, _field(2, b"/host:CPU") + b"\x08\x00" * 2_000_000),
            "more than 1,000,000 parts",
        ),
        "xplane, streams": (
            lambda: _field(1, _field(2, b"/device:GPU:0") + _field(3, b"") * 20_001),
            "damaged or truncated",
        ),
        "xplane, operations on one thread": (
            lambda: _line(
                b"".join(_field(4, b"\x08\x01\x10" + _varint(n * 100) + b"\x18\x32") for n in range(400_000))
            ),
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
    parts = [_field(2, name)]
    parts += [_field(4, b"\x08" + _varint(n) + _field(2, _field(2, text))) for n, text in enumerate(names, 1)]
    body = b"".join(parts)
    return b"\x0a" + _varint(len(body)) + body


def _line(events: bytes) -> bytes:
    """A host's plane with a line."""
    named = _field(4, b"\x08\x01" + _field(2, _field(2, b"n/a:Mul")))
    return _field(1, _field(2, b"/host:CPU") + named + _field(3, events))


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _trace(head: bytes, events: Iterable[str]) -> bytes:
    return b"".join([head, *(b"," + event.encode() for event in events), b"]}"])


def _event(name: str, at: int, args: str = "", cat: str = "", tid: int = 1, dur: int = 1) -> str:
    where = f'"pid":1,"tid":{tid},"ts":{at},"dur":{dur}'
    return f'{{"ph":"X","cat":"{cat}","name":"{name}",{where},"args":{{{args}}}}}'
