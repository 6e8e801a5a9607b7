"""Files made to take much memory or time with few bytes, each below what a browser may upload.

Names without end and texts of four bytes a letter, as many threads, events and archive members as fit, values that take
many times their text, and profiles of operation types that nobody knows. Each is written in the shape of one reader's
format; most are packed, as an attacker would.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator

from profet_core.profiles.tensorflow.xplane.schema import messages

#: Ten million letters take forty million bytes in memory where one of them is as wide as this.
_WIDE = "\U0001f600"
_CHUNK = 2**20
_HEAD = '{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},' + (
    '{"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:0"}}'
)
_PYTORCH_HEAD = '{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":9}'
_TIMELINE_HEAD = (
    '{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/job:localhost/replica:0/task:0/'
    'device:GPU:0/stream:all Compute"}}'
)


def wide_files() -> dict[str, Callable[[], bytes]]:
    """Name -> what makes the file."""
    return {**_xplanes(), **_traces(), **_pytorch_traces(), **_documents(), **_archives()}


def unknown_profile(types: int, number: int = 0) -> bytes:
    """PROFET JSON of so many device operations, one of them known; another `number` has others."""
    rows = {f"Device_Z{number}q{each}{_letters(each)}": 10.0 + each % 97 for each in range(types - 1)}
    known = {"Device_Conv2D": sum(rows.values()), "Device_IDLE": 50_000.0}
    return json.dumps({"operations": {**rows, **known}}).encode()


def _letters(number: int) -> str:
    """Twenty letters that differ for every number, so that no part of a name is found again."""
    return "".join(chr(97 + (number * factor) % 26) for factor in range(3, 43, 2))


# --- xplane -----------------------------------------------------------------------------------------------------------


def _xplanes() -> dict[str, Callable[[], bytes]]:
    host, gpu = b"/host:CPU", b"/device:GPU:0"
    wide = (_WIDE * 1000).encode()
    return {
        "xplane, 480,000 kernel names": lambda: _plane(gpu, ((b"k%d" % n, 4) for n in range(480_000))),
        "xplane, 480,000 operation names": lambda: _plane(host, ((b"n/a%d:Mul" % n, 4) for n in range(480_000))),
        "xplane, 480,000 operation types": lambda: _plane(host, ((b"n/a:M%d" % n, 4) for n in range(480_000))),
        "xplane, 480,000 references": lambda: _plane(gpu, ((b"n/a:M%d" % n, 5) for n in range(480_000))),
        "xplane, 200,000 wide kernel names": lambda: packed(
            _plane_chunks(gpu, ((b"%d" % n + wide[:2396], 4) for n in range(200_000)))
        ),
        "xplane, 200,000 wide operation types": lambda: packed(
            _plane_chunks(host, ((b"n/" + b"a" * 3900 + b":M%d" % n, 4) for n in range(200_000)))
        ),
        "xplane, 900 names of 1 MB": lambda: packed(
            _plane_chunks(gpu, ((b"%d" % n + b"k" * 1_040_000, 4) for n in range(900)))
        ),
        "xplane, 200 GPUs of 2,000 kernels": lambda: packed(
            chunk
            for number in range(200)
            for chunk in _plane_chunks(b"/device:GPU:%d" % number, ((b"%d" % n + b"k" * 590, 4) for n in range(2_000)))
        ),
        "xplane, 2,000,000 operations on one thread": lambda: packed(_threads_xplane(1, 1_990_000)),
        "xplane, 19,000 threads of 100 operations": lambda: packed(_threads_xplane(19_000, 100)),
        "xplane, 15,000 threads that mark 500 steps": lambda: packed(_steps_xplane(15_000, 500)),
        "xplane, 990 planes of labels": lambda: packed(
            chunk
            for number in range(990)
            for chunk in _plane_chunks(b"/device:GPU:%d" % number, ((b"n/a:M%d" % n, 5) for n in range(500)))
        ),
        "xplane, an event of 500,000 statistics": lambda: packed(
            [_field(1, b"\x12\x09/host:CPU" + _field(3, _field(4, b"\x22\x00" * 500_000) * 20))]
        ),
        "xplane, 40,000 kernels on 40 streams": lambda: packed([_kernels_xplane(40_000, 40)]),
    }


def _plane(name: bytes, names: Iterable[tuple[bytes, int]]) -> bytes:
    return b"".join(_plane_chunks(name, names))


def _plane_chunks(name: bytes, names: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    """A plane whose names of events (field 4) or statistics (field 5) are these, each with one event."""
    parts = [_field(2, name), _field(5, b"\x08\x01" + _field(2, b"\x08\x01" + _field(2, b"tf_op")))]
    entries = []
    count = 0
    for count, (text, field) in enumerate(names, 2):
        entries.append(_field(field, b"\x08" + _varint(count) + _field(2, _field(2, text))))
    events = [
        _field(4, b"\x08" + _varint(n) + b"\x10" + _varint(100 * n) + b"\x18\x32" + _label(n)) for n in range(2, count)
    ]
    for first in range(0, len(events), 50_000):
        parts.append(_field(3, b"".join(events[first : first + 50_000])))
    parts += entries
    yield b"\x0a" + _varint(sum(map(len, parts)))
    yield from parts


def _label(number: int) -> bytes:
    """A statistic that names an operation by the number of its text."""
    return _field(4, b"\x08\x01\x38" + _varint(number))


def _threads_xplane(threads: int, operations: int) -> Iterator[bytes]:
    events = b"".join(
        _field(4, b"\x08\x01\x10" + _varint((n * 7919) % 100_003 * 100) + b"\x18\x32") for n in range(operations)
    )
    yield from _host_xplane(b"n/a:Mul", [_field(3, events)] * threads)


def _steps_xplane(threads: int, steps: int) -> Iterator[bytes]:
    marks = b"".join(_field(4, b"\x08\x01" + _field(4, b"\x08\x01\x20" + _varint(n))) for n in range(steps))
    yield from _host_xplane(b"train", [_field(3, marks)] * threads)


def _host_xplane(name: bytes, lines: list[bytes]) -> Iterator[bytes]:
    parts = [_field(2, b"/host:CPU"), _field(4, b"\x08\x01" + _field(2, _field(2, name)))]
    parts += [_field(5, b"\x08\x01" + _field(2, _field(2, b"step_num"))), *lines]
    yield b"\x0a" + _varint(sum(map(len, parts)))
    yield from parts


def _kernels_xplane(kernels: int, streams: int) -> bytes:
    space = messages().Space()
    plane = space.planes.add(name=b"/device:GPU:0")
    for number in range(kernels):
        plane.event_metadata.add(key=number + 1, value={"id": number + 1, "name": b"%d" % number + b"k" * 590})
    for stream in range(streams):
        line = plane.lines.add(id=stream, name=b"Stream #1")
        for number in range(kernels):
            line.events.add(metadata_id=number + 1, offset_ps=number * 100, duration_ps=50)
    return space.SerializeToString()


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# --- chrome traces ----------------------------------------------------------------------------------------------------


def _traces() -> dict[str, Callable[[], bytes]]:
    def trace(*events: Iterable[str]) -> bytes:
        return packed(_document(_HEAD, *events))

    long, wide = "a" * 4000, _WIDE * 4000
    return {
        "TensorFlow trace, 49,000 wide names": lambda: trace(_named(f"{_WIDE}{n}/{long}:Mul" for n in range(49_000))),
        "TensorFlow trace, 49,000 long operations": lambda: trace(_named(f"{n}/{long}:Mul" for n in range(49_000))),
        "TensorFlow trace, 49,000 wide kernels": lambda: trace(_named((f"{n}{wide[:590]}" for n in range(49_000)), 2)),
        "TensorFlow trace, 49,000 wide marks": lambda: trace(
            _named((f"{_letters(n)}{n}x{wide}" for n in range(49_000)), args='"step_num":"1"')
        ),
        "TensorFlow trace, 20,000 wide processes": lambda: trace(
            f'{{"ph":"M","pid":{n},"name":"process_name","args":{{"name":"{wide}"}}}}' for n in range(5, 20_005)
        ),
        "TensorFlow trace, 20,000 wide numbers of threads": lambda: trace(
            f'{{"ph":"M","pid":"{n}{wide[:90]}","tid":"{n}{wide[:90]}","name":"thread_name","args":{{"name":"{wide}"}}}}'
            for n in range(20_000)
        ),
        "TensorFlow trace, 1,500,000 operations": lambda: trace(_at_times('"name":"n/a:Mul","pid":1', 1_490_000)),
        "TensorFlow trace, 5,000,000 kernels": lambda: trace(_at_times('"name":"k","pid":2', 4_990_000)),
        "TensorFlow trace, 9,000 streams of 5 kernels": lambda: trace(
            f'{{"ph":"X","pid":2,"tid":{n},"ts":{n},"dur":1,"name":"k{n}_{k}"}}' for n in range(9_000) for k in range(5)
        ),
        "TensorFlow trace, entries of many lists": lambda: packed(
            [_HEAD.encode(), *[b',{"args":[' + b"[],[0]," * 290_000 + b"0]}"] * 40, b"]}"]
        ),
        "TensorFlow trace, entries of many objects": lambda: packed(
            [_HEAD.encode(), *[b',{"args":[' + b'{"":0},' * 290_000 + b"0]}"] * 40, b"]}"]
        ),
        "TensorFlow trace, entries of a million keys": lambda: packed(
            [_HEAD.encode(), *[b',{"args":{%s}}' % b",".join(b'"%d":0' % n for n in range(190_000))] * 20, b"]}"]
        ),
        "TensorFlow trace, wide entries": lambda: trace([f'{{"args":"{_WIDE * 2_000_000}"}}'] * 20),
        "TensorFlow trace, stack frames": lambda: packed(
            [_HEAD.encode(), b'],"stackFrames":{', *(b'"%d":{"name":"a"},' % n for n in range(90_000)), b'"":0}}']
        ),
        "Timeline, 4,900 unknown types": lambda: packed(
            _document(_TIMELINE_HEAD, _named((f"Z{n}{_letters(n)}" for n in range(4_900)), args='"op":"NAME"'))
        ),
        "Timeline, 200,000 wide names": lambda: packed(
            _document(_TIMELINE_HEAD, _named((f"{n}{wide[:200]}" for n in range(200_000)), args='"op":"NAME"'))
        ),
    }


def _pytorch_traces() -> dict[str, Callable[[], bytes]]:
    def trace(*events: Iterable[str], behind: str = "") -> bytes:
        return packed(_document(_PYTORCH_HEAD, *events, behind=behind))

    wide = _WIDE * 495
    cpu = '"cat":"cpu_op","pid":1'
    lists = "[[],[0]," * 120_000 + "0" + "]" * 120_000
    flat = "[" + "[],[0]," * 290_000 + "0]"
    return {
        "PyTorch trace, 19,900 wide names": lambda: trace(
            _named((f"{n}{wide}" for n in range(19_900)), more='"cat":"cpu_op"'),
            _named((f"{n}{wide}" for n in range(19_900)), more='"cat":"user_annotation"'),
            _named((f"{n}{wide}" for n in range(4_990)), more='"cat":"kernel"'),
        ),
        "PyTorch trace, 700,000 of each kind": lambda: trace(
            _at_times(f'{cpu},"name":"aten::mm"', 700_000),
            _at_times('"cat":"cuda_runtime","pid":1,"name":"x","args":{"correlation":NUMBER}', 700_000),
            _at_times('"cat":"kernel","pid":0,"name":"k","args":{"correlation":NUMBER,"device":0}', 700_000),
        ),
        "PyTorch trace, 1,500,000 kernels of 900 GPUs": lambda: trace(
            f'{{"ph":"X","cat":"kernel","name":"k{n % 4000}","ts":{n},"dur":3,"args":{{"device":{n % 900}}}}}'
            for n in range(1_490_000)
        ),
        "PyTorch trace, 1,500,000 optimizers inside each other": lambda: trace(
            f'{{"ph":"X","cat":"user_annotation","name":"Optimizer.step#{n % 9000}","tid":{n % 9000},"ts":{n},"dur":9}}'
            for n in range(1_490_000)
        ),
        "PyTorch trace, a period that nearly repeats": lambda: trace(
            f'{{"ph":"X","cat":"cpu_op","name":"aten::{"a" if n % 2 else "b" if n % 1000 else "c"}","ts":{n},"dur":1}}'
            for n in range(1_490_000)
        ),
        "PyTorch trace, 9,000 steps over 9,000 threads": lambda: trace(
            (
                f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{n}","ts":{100 * n},"dur":90}}'
                for n in range(9_000)
            ),
            (
                f'{{"ph":"X","cat":"cpu_op","name":"aten::mm","tid":{n % 9000},"ts":{n},"dur":900000}}'
                for n in range(900_000)
            ),
        ),
        "PyTorch trace, entries of lists that are kept": lambda: packed(
            [
                f'{_PYTORCH_HEAD}],"deviceProperties":{flat},"distributedInfo":{flat},"torch_version":{flat},'
                f'"pytorch_version":{flat}}}'.encode()
            ]
        ),
        "PyTorch trace, deep lists": lambda: packed([f'{_PYTORCH_HEAD}],"deviceProperties":{lists}}}'.encode()]),
        "PyTorch trace, the events twice": lambda: trace(
            _at_times(f'{cpu},"name":"aten::mm"', 900_000),
            behind='],"traceEvents":[' + ",".join(_at_times('"cat":"kernel","name":"k","pid":1', 100_000)),
        ),
    }


def _document(head: str, *events: Iterable[str], behind: str = "") -> Iterator[bytes]:
    yield head.encode()
    for some in events:
        for event in some:
            yield b"," + event.encode()
    yield f"{behind}]}}".encode()


def _named(names: Iterable[str], process: int = 1, args: str = "", more: str = '"cat":""') -> Iterator[str]:
    for number, name in enumerate(names):
        yield (
            f'{{"ph":"X","pid":{process},"tid":1,"ts":{number},"dur":1,"name":"{name}",{more},'
            f'"args":{{{args.replace("NAME", name)}}}}}'
        )


def _at_times(what: str, count: int) -> Iterator[str]:
    """Events in no order."""
    for number in range(count):
        yield f'{{"ph":"X","ts":{number * 7919 % 1_000_003},"dur":0.5,{what.replace("NUMBER", str(number))}}}'


# --- tables, JSON and archives ----------------------------------------------------------------------------------------


def _documents() -> dict[str, Callable[[], bytes]]:
    head = b'{"operations":{"Device_A":1},"x":'
    cells = '{"c":[{"v":"Device"},{"v":"M%d"},{"v":1}]}'
    rows = ",".join(cells % n for n in range(19_900))
    table = '{"cols":[{"id":"host_or_device"},{"id":"type"},{"id":"total_time"}],"rows":['
    lines = "\n".join(f"1,Device,M{n},{'a/' * 90},1,5" for n in range(19_900))
    return {
        "PROFET JSON, 990 unknown types": lambda: unknown_profile(990),
        "PROFET JSON, 4,990 unknown types": lambda: unknown_profile(4_990),
        "PROFET JSON, lists": lambda: packed([head, b"[", b"[],[0]," * 480_000, b"0]}"]),
        "PROFET JSON, objects": lambda: packed([head, b"[", b'{"":0},' * 580_000, b"0]}"]),
        "PROFET JSON, keys": lambda: packed([head, b"{", *(b'"%d":0,' % n for n in range(380_000)), b'"x":0}}']),
        "PROFET JSON, wide text": lambda: packed([head, f'"{_WIDE * 1_000_000}"}}'.encode()]),
        "statistics CSV, 19,900 types": lambda: (
            f"Rank,Host/device,Type,Operation,#Occurrences,Total time (us)\n{lines}\n"
        ).encode(),
        "framework_op_stats, 19,900 types": lambda: f"{table}{rows}]}}".encode(),
        "framework_op_stats, objects": lambda: packed([table.encode(), b'{"":0},' * 580_000, b"0]}"]),
    }


def _archives() -> dict[str, Callable[[], bytes]]:
    return {
        "zip of 2,000 profiles": lambda: _zip({f"{n}.json": unknown_profile(200, n) for n in range(2_000)}),
        "zip of three times the widest trace": lambda: _zip({f"{n}.json": _wide_trace() for n in range(3)}),
        "tar.gz of 2,000 profiles": lambda: _tar({f"{n}.json": unknown_profile(200, n) for n in range(2_000)}),
    }


def _wide_trace() -> bytes:
    long = "a" * 4080
    return b"".join(_document(_HEAD, _named(f"{_WIDE}{n}/{long}:Mul" for n in range(20_000))))


def _zip(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def _tar(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=6) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def packed(chunks: Iterable[bytes]) -> bytes:
    """Chunks as one gzip file, without ever holding them all.

    Some bytes of each stretch are stored as they are, so that no file shrinks by more than an upload may.
    """
    out = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    checksum = size = 0
    for data in _joined(chunks):
        checksum, size = zlib.crc32(data, checksum), size + len(data)
        stored = len(data) - len(data) // 64
        for part, level in ((data[:stored], 1), (data[stored:], 0)):
            packer = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
            out += [packer.compress(part), packer.flush(zlib.Z_FULL_FLUSH)]
    out += [zlib.compressobj(wbits=-zlib.MAX_WBITS).flush(), struct.pack("<2L", checksum, size % 2**32)]
    return b"".join(out)


def _joined(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
