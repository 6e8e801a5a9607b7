"""Files made to take long: few bytes that unpack to many, runs of one character, records without end.

Each is written in the shape of one reader's format, so that it gets past the look at its head.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from profet_core.profiles.tensorflow.xplane.schema import messages

#: A piece of what is repeated, and how much of it is made: above the caps where there are some.
_PIECE = 2**16
_MIB = 2**20
_WHOLE_MIB = 4
_STREAMED_MIB = 64

_TENSORFLOW_HEAD = (
    b'{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},'
    b'{"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:0"}},'
    b'{"ph":"X","pid":1,"tid":1,"ts":0,"dur":9,"name":"a:Mul"}'
)
_PYTORCH_HEAD = b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":9}'
_TABLE_HEAD = b"Rank,Host/device,Type,Operation,#Occurrences,Total time (us)\n1,Device,Conv2D,a,1,5\n"


def slow_files() -> dict[str, Callable[[], bytes]]:
    """Name -> what makes the file; most are packed."""
    made: dict[str, Callable[[], bytes]] = {}
    for number, field in _TINY_FIELDS.items():
        made[f"xplane, tiny fields: {number}"] = lambda field=field: _xplane(field)
    made |= {
        "xplane, a million events": lambda: _events_xplane("/host:CPU", 1_000_000, 1),
        "xplane, a million kernels": lambda: _events_xplane("/device:GPU:0", 1_000_000, 1),
        "xplane, 100,000 kernels of long names": lambda: _events_xplane("/device:GPU:0", 100_000, 100_000),
    }
    for name, head in (("TensorFlow trace", _TENSORFLOW_HEAD), ("PyTorch trace", _PYTORCH_HEAD)):
        for shape, repeated in _JSON_RUNS.items():
            made[f"{name}, {shape}"] = lambda head=head, repeated=repeated: _repeated(head, repeated, _STREAMED_MIB)
        for letter in _LETTERS:
            made[f"{name}, names of {letter!r}"] = lambda head=head, letter=letter: _repeated(
                head, b"," + long_named_events(letter), _WHOLE_MIB * 4, end=b"]}"
            )
    made |= {
        "TensorFlow trace, 10,000 threads": lambda: _events(_TENSORFLOW_HEAD, _threads("x")),
        "PyTorch trace, 10,000 threads of 20,000 operations": lambda: _events(_PYTORCH_HEAD, _threads("cpu_op")),
        "PyTorch trace, calls behind a deep nest": lambda: _events(_PYTORCH_HEAD, _deep_nest()),
        "PyTorch trace, kernels by operations": lambda: _events(_PYTORCH_HEAD, _pairs()),
        "PyTorch trace, long numbers": lambda: _events(_PYTORCH_HEAD, _long_numbers()),
    }
    for shape, repeated in _CSV_RUNS.items():
        made[f"statistics CSV, {shape}"] = lambda repeated=repeated: _repeated(_TABLE_HEAD, repeated, _WHOLE_MIB, cut=1)
    for shape, (head, repeated) in _DOCUMENTS.items():
        made[f"JSON, {shape}"] = lambda head=head, repeated=repeated: _repeated(head, repeated, _WHOLE_MIB, cut=1)
    return made


#: Bytes of fields that say nothing, in the plane, in a line, in an event, beside the planes.
_TINY_FIELDS = {
    "numbers beside the planes": (b"\x08\x00", 0),
    "numbers": (b"\x08\x00", 1),
    "numbers of ten bytes": (b"\x08" + b"\x80" * 9 + b"\x01", 1),
    "empty texts": (b"\x7a\x00", 1),
    "empty lines": (b"\x1a\x00", 1),
    "empty names": (b"\x22\x00", 1),
    "empty facts": (b"\x32\x00", 1),
    "empty events": (b"\x22\x00", 2),
    "numbers in a line": (b"\x08\x00", 2),
    "events with one number": (b"\x22\x02\x08\x01", 2),
    "empty facts of an event": (b"\x22\x00", 3),
}
_JSON_RUNS = {
    "empty events": b",{}",
    "numbers": b",1",
    "lists": b",[]",
    "white space": b" ",
    "commas": b",",
    "events without a time": b',{"ph":"X"}',
    "short events": b',{"ph":"X","cat":"cpu_op","name":"a:B","ts":5,"dur":1}',
    "open lists": b",[",
    "open texts": b',"',
    "escapes": b"\\\\",
}
_LETTERS = ("#", "0", " ", "a", "/", "_", ":", "<", ".", "fusion", "half", "\u0660", "a/", "::", "#1")
_CSV_RUNS = {
    "empty lines": b"\n",
    "lines of separators": b",,\n",
    "separators": b",",
    "quotes": b'"',
    "quoted quotes": b'""',
    "short lines": b"1\n",
    "rows": b"1,Device,Conv2D,a,1,5\n",
    "digits": b"1",
    "spaces": b" ",
}
_DOCUMENTS = {
    "spaces": (b"{", b" "),
    "open lists": (b"{", b'"a":['),
    "digits": (b'{"Device_A":', b"9"),
    "digits behind the point": (b'{"Device_A":0.', b"1"),
    "short lists": (b'{"Device_A":1,"x":[', b"[],"),
    "short objects": (b'{"Device_A":1,"x":[', b"{},"),
    "letters": (b'{"Device_A":1,"', b"a"),
    "escapes": (b'{"Device_A":1,"', b"\\\\"),
    "cells": (b'{"cols":[{"id":"host_or_device"},{"id":"type"},{"id":"total_time"}],"rows":[', b'{"c":[]},'),
    "columns": (b'{"cols":[{"id":"host_or_device"}', b',{"id":"a"}'),
}


def _repeated(head: bytes, repeated: bytes, mib: int, cut: int = 0, end: bytes = b"") -> bytes:
    return b"".join([head, *_many(repeated, mib * _MIB - cut - len(head)), end])


def _many(repeated: bytes, size: int) -> Iterator[bytes]:
    piece = repeated * (_PIECE // len(repeated) + 1)
    for _ in range(size // len(piece)):
        yield piece
    yield repeated * (size % len(piece) // len(repeated))


def long_named_events(run: str, length: int = 4096) -> bytes:
    """An event of a host and two of a GPU, in TensorFlow's and PyTorch's way, whose names are a run and one letter."""
    text = run * (length // len(run))
    events = (
        {"name": text + "x", "cat": "cpu_op", "pid": 1, "args": {"long_name": text + "x", "step_num": "1"}},
        {"name": text + "x", "cat": "user_annotation", "pid": 1, "args": {"step_num": "1"}},
        {
            "name": text[:300] + "x",
            "cat": "kernel",
            "pid": 2,
            "dur": 1,
            "args": {"tf_op": text + "x", "annotation": text + "x"},
        },
    )
    # Without a length none lies in another.
    where = {"ph": "X", "tid": 1, "ts": 5, "dur": 0}
    return ",".join(json.dumps(where | event) for event in events).encode()


def _events(head: bytes, events: Iterable[dict]) -> bytes:
    return b"".join([head, *(b"," + json.dumps(event).encode() for event in events), b"]}"])


def _threads(category: str) -> Iterator[dict]:
    for number in range(40_000):
        yield {
            "ph": "X",
            "cat": category,
            "pid": 1,
            "tid": number % 9_990,
            "ts": number,
            "dur": 1,
            "name": f"{number % 15_000}/x:Mul",
        }


def _deep_nest() -> Iterator[dict]:
    """A thousand operations inside each other, and then calls that lie in the outermost one only."""
    for depth in range(999):
        end_us = 1e7 if depth == 0 else 2_000 - depth
        yield {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": depth, "dur": end_us - depth, "name": "aten::mm"}
    for number in range(300_000):
        args = {"correlation": number}
        yield {
            "ph": "X",
            "cat": "cuda_runtime",
            "pid": 1,
            "tid": 1,
            "ts": 3_000 + number,
            "dur": 1,
            "name": "a",
            "args": args,
        }


def _pairs() -> Iterator[dict]:
    """Every kernel with every operation."""
    for number in range(300_000):
        where = {"pid": 1, "tid": 1, "ts": 10 * number}
        name = f"my::operation_{number // 20}"
        yield {"ph": "X", "cat": "cpu_op", "dur": 9, "name": name, **where}
        yield {"ph": "X", "cat": "cuda_runtime", "dur": 1, "name": "a", "args": {"correlation": number}, **where}
        kernel = f"void kernel_{number % 4_900}" + "x" * 200
        yield {"ph": "X", "cat": "kernel", "dur": 1, "name": kernel, "args": {"correlation": number}, **where}


def _long_numbers() -> Iterator[dict]:
    for _ in range(4_000):
        digits = 10**4200
        yield {"ph": "X", "cat": "cpu_op", "ts": digits, "dur": digits, "name": "a", "args": {"step_num": digits}}


def _xplane(field_and_depth: tuple[bytes, int]) -> bytes:
    """A host's plane with a thread, and somewhere in it one tiny field after another."""
    repeated, depth = field_and_depth
    space = messages().Space()
    plane = space.planes.add(name=b"/host:CPU")
    plane.event_metadata.add(key=1, value={"id": 1, "name": b"net/a:Mul"})
    line = plane.lines.add(id=1)
    line.events.add(metadata_id=1, offset_ps=0, duration_ps=10)
    plane_data, line_data = plane.SerializeToString(), line.SerializeToString()
    size = _STREAMED_MIB * _MIB
    run = b"".join(_many(repeated, size))
    if depth == 3:
        run = b"".join(
            b"\x22" + _varint(len(event)) + event for event in (repeated * 1000 for _ in range(size // 2000))
        )
    if depth >= 2:
        line_data += run
        return b"".join([_field(1, plane_data + _field(3, line_data))])
    if depth == 1:
        return b"".join([_field(1, plane_data + run)])
    return b"".join([_field(1, plane_data), run])


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _events_xplane(plane_name: str, count: int, names: int) -> bytes:
    space = messages().Space()
    plane = space.planes.add(name=plane_name.encode())
    plane.stat_metadata.add(key=1, value={"id": 1, "name": b"tf_op"})
    for number in range(names):
        name = b"%d_kernel_fusion_half_" % number + b"fusion.1" * 30 if names > 1 else b"net/a:Mul"
        plane.event_metadata.add(key=number + 1, value={"id": number + 1, "name": name})
    line = plane.lines.add(id=1, name=b"Stream #1")
    for number in range(count):
        event = line.events.add(metadata_id=number % names + 1, offset_ps=number * 100, duration_ps=50)
        event.stats.add(metadata_id=1, str_value=b"net/layer_%d/a:Op%d" % (number, number % 4000))
    return space.SerializeToString()
