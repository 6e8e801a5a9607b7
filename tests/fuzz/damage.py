"""Damages sound files of every format that is read: bytes anywhere, tokens of JSON and CSV, parts of an xplane.

Also what has held readers up: runs of one character in names and numbers, tiny records without end, wrong types in what
stands beside the events, crowds of names, wide ones and unknown ones.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
import zipfile

from google.protobuf.message import DecodeError

from benchmarks import REPOSITORY
from benchmarks.made_trace import write_pytorch_trace
from profet_core import read_profile
from profet_core.profiles import READERS
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.tensorflow.xplane import reader as xplane
from profet_core.profiles.tensorflow.xplane.schema import messages
from tests.fuzz.slow_files import long_named_events

FOLDERS = ("sample_traces", "sample_traces/formats", "tests/core/profiles/tensorflow/xprof_views")
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
_VALUE = rb'(-?[\d.eE+-]+|"[^"\n]{0,200}"|\{[^{}]{0,300}\}|\[[^\[\]]{0,300}\]|true|false|null)'
# fmt: off
#: What stands beside the times, each of which may have any type.
_METADATA = (
    b"args", b"batch_size", b"cat", b"compiled", b"computeMajor", b"Concrete Inputs", b"correlation", b"device",
    b"deviceProperties", b"displayTimeUnit", b"distributedInfo", b"External id", b"framework", b"gpu", b"group_id",
    b"id",
    b"Input Dims", b"Input type", b"long_name", b"meta", b"metadata", b"name", b"otherData", b"ph", b"pid", b"pixels",
    b"precision", b"pytorch_version", b"rank", b"refusal", b"schemaVersion", b"step_latency_ms", b"step_num", b"steps",
    b"stream", b"tf_op", b"tid", b"traceName", b"warnings", b"with_stack", b"annotation", b"kernel_details", b"cols",
    b"p", b"c", b"v", b"label", b"type",
)
_ODD = (
    b"null", b"true", b"0", b"-1", b"1e308", b"1e999", b"NaN", b'""', b'"x"', b"[]", b"[[]]", b"{}", b'{"a":[1]}',
    b"[1,2]", b'["x"]', b"[null]", b"[{}]", b'[{"id":[],"name":["T4"],"computeMajor":{}}]', b'"\\ud800"', b"9" * 400,
    b'{"rank":[0]}', b'{"rank":"0"}', b'"' + b"x" * 5000 + b'"',
)
#: Characters and short texts that patterns repeat over.
_RUNS = (
    b"#", b"0", b"9", b" ", b"a", b"A", b"/", b"_", b":", b"::", b".", b"-", b"<", b"(", b"[", b"{", b'"', b",",
    b"\\\\", b"\t", b"\n", b"#1", b"a/", b"1 ", b"fusion.1", b"half", b"\xc3\xa9",
)
#: Records that say next to nothing, in JSON, CSV and protobuf.
_TINY = (
    b"{},", b"[],", b"1,", b'"",', b'{"ph":"X"},', b'{"ph":"X","cat":"cpu_op","name":"a:B","ts":5,"dur":1},',
    b'{"c":[]},', b'"a":1,', b"\n", b",,\n", b"1,Device,a,b,1,1\n",
    b"\x08\x00", b"\x22\x00", b"\x1a\x00", b"\x32\x00", b"\x7a\x00", b"\x22\x02\x08\x01",
)
# fmt: on
_LONGEST_RUN, _LONGEST_REPEAT = 200_000, 1_000_000
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
    if dice.random() < 0.2:
        data = wrong_metadata(data, dice)
    if dice.random() < 0.15:
        data = drawn_out(data, dice)
    if dice.random() < 0.1:
        data = crowded_xplane(data, dice) if name == xplane.NAME else crowded(data, dice)
    if dice.random() < 0.6:
        data = damaged(data, dice, [content for _, content in files])
    draw = dice.random()
    if draw < 0.1:
        data = gzip.compress(data, 1, mtime=0)
    elif draw < 0.15:
        data = damaged_packing(gzip.compress(data, 1, mtime=0), dice)
    elif draw < 0.2:
        data = archived({"a/profile": data, "a/hello.txt": b"hello"}, dice)
        data = damaged_packing(data, dice) if dice.random() < 0.5 else data
    return name, data


def damaged_packing(content: bytes, dice: random.Random) -> bytes:
    """A packed file with one to three bytes changed, mostly near its ends, where the headers are, and perhaps cut."""
    packed = bytearray(content)
    for _ in range(dice.randint(1, 3)):
        at = int(dice.expovariate(1 / 40)) % len(packed)
        packed[at if dice.random() < 0.7 else -1 - at] = dice.randrange(256)
    return bytes(packed)[: dice.randrange(1, len(packed) + 1) if dice.random() < 0.3 else None]


def archived(files: dict[str, bytes], dice: random.Random) -> bytes:
    """A zip or tar archive of these files."""
    packed = io.BytesIO()
    if dice.random() < 0.5:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name), data, compress_type=dice.choice((0, zipfile.ZIP_DEFLATED)))
        return packed.getvalue()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), 1, mtime=0) if dice.random() < 0.5 else packed.getvalue()


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


def wrong_metadata(content: bytes, dice: random.Random) -> bytes:
    """JSON with values of other types beside the times, or entries before the others that should not be there."""
    data = bytearray(content)
    for _ in range(_few(dice)):
        key, odd = b'"%s"' % dice.choice(_METADATA), dice.choice(_ODD)
        places = [found.span(1) for found in re.finditer(re.escape(key) + rb"\s*:\s*" + _VALUE, data)]
        if places:
            start, end = dice.choice(places)
            data[start:end] = odd
        elif (start := data.find(b"{") + 1) > 0:
            data[start:start] = b"%s:%s," % (key, odd)
    return bytes(data)


def drawn_out(content: bytes, dice: random.Random) -> bytes:
    """`content` with a run of one character, a tiny record many times, or a run in objects that come many times."""
    data = bytearray(content)
    found = _TOKEN.search(data, dice.randrange(len(data)))
    start, end = found.span() if found else (dice.randrange(len(data)),) * 2
    # Inside a text, a number or an object, more often than between.
    at = dice.randrange(start + 1, end) if end - start > 1 else start
    run = dice.choice(_RUNS)
    match dice.randrange(4):
        case 0:
            data[at:at] = run * (dice.randrange(1, _LONGEST_RUN) // len(run))
        case 1:
            tiny = dice.choice(_TINY)
            place = dice.choice((at, start, end))
            data[place:place] = tiny * (dice.randrange(1, _LONGEST_REPEAT) // len(tiny))
        case 2:
            whole = bytes(data[start:at]) + run * (dice.choice((300, 4096)) // len(run)) + bytes(data[at:end])
            data[start:end] = b",".join([whole] * dice.randint(1, max(1, _LONGEST_REPEAT // 4 // len(whole))))
        case 3:
            events = long_named_events(run.decode(), dice.choice((300, 4096)))
            place = data.find(b"[", data.find(b'"traceEvents"')) + 1
            data[place:place] = (events + b",") * dice.randint(1, _LONGEST_REPEAT // 2 // len(events))
    return bytes(data)


def crowded(content: bytes, dice: random.Random) -> bytes:
    """JSON or CSV with many rows more, of names that nobody knows, perhaps wide, perhaps nested in lists."""
    names = _crowd(dice)
    where = content.find(b"[", content.find(b'"traceEvents"') + 1) + 1
    if b'"traceEvents"' in content and where:
        kind, process = dice.choice(("cpu_op", "kernel", "user_annotation", "")), dice.choice((0, 1, 2, 701))
        same_thread, values = (
            dice.random() < 0.5,
            dice.choice(("", '"args":{"tf_op":"NAME"},', '"args":{"op":"NAME"},')),
        )
        rows = (
            f'{{"ph":"X","cat":"{kind}","name":"{name}","pid":{process},"tid":{1 if same_thread else number},'
            f'{values.replace("NAME", name)}"ts":{dice.randrange(10**6)},"dur":{dice.randrange(1000)}}},'
            for number, name in enumerate(names)
        )
    elif content.lstrip()[:1] in (b"{", b"["):
        where = content.find(b"{", content.find(b'"operations"') + 1) + 1
        value = dice.choice(("1.5", "[" * 50 + "]" * 50, "{}", "[]", "null"))
        rows = (f'"{dice.choice(("Device_", "Host_", ""))}{name}":{value},' for name in names)
    else:
        where = len(content)
        rows = (f"1,{dice.choice(('Device', 'Host'))},{name},{name},1,5\n" for name in names)
    return content[:where] + "".join(rows).encode() + content[where:]


def crowded_xplane(content: bytes, dice: random.Random) -> bytes:
    """An xplane with many names more, and an event of each on a line."""
    try:
        space = messages().Space.FromString(content)
        plane = dice.choice(space.planes)
    except (DecodeError, IndexError):
        return content
    entries = dice.choice((plane.event_metadata, plane.stat_metadata))
    first = dice.choice((0, 10**6))
    lines = [plane.lines.add(id=number, name=b"Stream #1") for number in range(dice.choice((1, 1, 50)))]
    for number, name in enumerate(_crowd(dice), first):
        entries.add(key=number, value={"id": number, "name": dice.choice(("", "n/a:")).encode() + name.encode()})
        event = dice.choice(lines).events.add(metadata_id=number, offset_ps=number * 1000, duration_ps=10**6)
        event.stats.add(metadata_id=dice.randrange(30), ref_value=number)
    return space.SerializeToString()


def _crowd(dice: random.Random) -> list[str]:
    """Names that all differ, of at most four megabytes."""
    letter, length = (
        dice.choice(("a", "Grad", "\u00e9", "\u4e2d", "\U0001f600")),
        dice.choice((1, 10, 100, 1_000, 5_000)),
    )
    count = min(dice.choice((50, 999, 1_001, 6_000, 20_000)), 4_000_000 // (length * len(letter.encode())))
    return [f"Z{number}_{letter * length}" for number in range(count)]


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
                entry.value.name += dice.choice(_RUNS) * dice.choice((0, 0, 0, 100, 5000))
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
