"""Hostile shapes: each changes the whole of a sound file of any format in one way, drawn from a seed."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable

from tests.fuzz.damage import archived, corpus, crowded, damaged, drawn_out, wrong_metadata, wrong_tokens

#: What repeated records and padding come to, bytes; a bomb is nine times that, beyond what may unpack unchecked.
_LARGE = 2 * 2**20
_NUMBER, _TEXT = rb"(?<=[:\[,])\s*-?\d[\d.eE+-]*(?=[,\]}\r\n])", rb'(?<=:)\s*"[^"\\\n]*"'
_RECORD = re.compile(rb"\{[^{}]{2,300}\},?|(?<=\n)[^\n]{2,300}\n")

Shape = Callable[[bytes, random.Random], bytes]


def _each(pattern: bytes, value: Callable[[bytes, random.Random], bytes], share: float = 0.3) -> Shape:
    """Replace a share of all matches, drawn one by one."""

    def changed(data: bytes, dice: random.Random) -> bytes:
        return re.sub(pattern, lambda found: value(found[0], dice) if dice.random() < share else found[0], data)

    return changed


def _always(value: bytes) -> Callable[[bytes, random.Random], bytes]:
    return lambda _, __: value


def _ended(*ends: bytes) -> Shape:
    """Texts that end in one of these."""
    return _each(_TEXT, lambda found, dice: found[:-1] + dice.choice(ends) + b'"')


def _inside(what: Callable[[random.Random], bytes]) -> Shape:
    """Insert after the first brace, bracket or line."""

    def changed(data: bytes, dice: random.Random) -> bytes:
        found = re.search(rb"[{\[\n]", data)
        at = found.end() if found else 0
        return data[:at] + what(dice) + data[at:]

    return changed


def _many_records(data: bytes, dice: random.Random) -> bytes:
    """One record of the file many times over, where it is."""
    found = _RECORD.search(data, dice.randrange(len(data))) or _RECORD.search(data)
    if found is None:
        return data * (1 + _LARGE // len(data))
    record = found[0] if found[0].endswith((b",", b"\n")) else found[0] + b","
    return data[: found.start()] + record * (_LARGE // len(record)) + data[found.start() :]


def _nested(data: bytes, dice: random.Random) -> bytes:
    """Archives in archives."""
    for depth in range(dice.randint(2, 6)):
        data = archived({f"{depth}/profile.json": data}, dice)
    return data


def _wicked_names(data: bytes, dice: random.Random) -> bytes:
    names = ["../../etc/passwd", "/root/x", "a\x00b", "con", "x" * 5_000, "\u202ejson", ".", "a/" * 300 + "b", "C:\\x"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in dice.sample(names, 4):
            archive.writestr(zipfile.ZipInfo(name.replace("\x00", "_")), data)
    return packed.getvalue()


def _many_files(data: bytes, dice: random.Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(dice.choice((50, 500, 2_100))):
            archive.writestr(f"{number}.json", data[:200])
    return packed.getvalue()


def _zip_that_lies(data: bytes, dice: random.Random) -> bytes:
    """A zip whose headers give other sizes, methods or places."""
    packed = bytearray(archived({"profile": data}, random.Random(2)))
    for _ in range(3):
        at = dice.choice((8, 14, 18, 22, 26, len(packed) - 6, len(packed) - 10, len(packed) - 30)) % len(packed)
        packed[at] = dice.randrange(256)
    return bytes(packed)


def _wrapped(data: bytes, dice: random.Random) -> bytes:
    """The file as a text or a list of itself in JSON."""
    text = json.dumps(data.decode("latin-1")).encode()
    return dice.choice((b"[%s]" % text, b'{"traceEvents":[%s]}' % text, b'{"operations":%s}' % text, b"[%s]" % data))


#: Name -> shape. Numbers and texts are those of JSON and CSV; of a binary file these change whatever looks like one.
SHAPES: dict[str, Shape] = {
    "truncated": lambda data, dice: data[: dice.randrange(1, len(data))],
    "truncated gzip": lambda data, dice: gzip.compress(data, mtime=0)[: -dice.randrange(1, 40)],
    "twice": lambda data, _: data + data,
    "packed twice": lambda data, _: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
    "two members": lambda data, _: gzip.compress(data, mtime=0) * 2,
    "bomb": lambda data, dice: gzip.compress(data + dice.choice((b" ", b"\x00", b"{},")) * (9 * _LARGE), mtime=0),
    "nested archives": _nested,
    "wicked names": _wicked_names,
    "many files": _many_files,
    "zip that lies": _zip_that_lies,
    "deep": _inside(lambda dice: dice.choice((b"[", b'{"a":', b'[{"x":')) * dice.choice((900, 50_000))),
    "closed deep": _inside(lambda dice: b'"a":' + b"[" * 40_000 + b"]" * 40_000 + b","),
    "wide object": _inside(lambda _: b"".join(b'"k%d":%d,' % (at, at) for at in range(60_000))),
    "many records": _many_records,
    "empty records": _inside(lambda dice: dice.choice((b"{},", b"[],", b"0,", b'"",', b"\n", b",,\n")) * (_LARGE // 4)),
    "huge numbers": _each(_NUMBER, lambda _, dice: dice.choice((b"1e308", b"1e999", b"9" * 19, b"9" * 4_400))),
    "negative": _each(_NUMBER, lambda found, _: b"-" + found.strip(), 0.5),
    "not a number": _each(_NUMBER, lambda _, dice: dice.choice((b"NaN", b"Infinity", b"-Infinity", b"0x10", b"1_0"))),
    "tiny": _each(_NUMBER, _always(b"1e-320")),
    "numbers as texts": _each(_NUMBER, lambda found, _: b'"%s"' % found.strip(), 0.8),
    "swapped types": _each(_NUMBER, lambda _, dice: dice.choice((b"null", b"true", b"[]", b"{}", b'""', b"[[1]]"))),
    "texts as others": _each(_TEXT, lambda _, dice: dice.choice((b"0", b"null", b"[]", b"{}", b"false"))),
    "unicode": _ended("\u202e".encode(), "\U0001f600".encode(), "\u0130".encode(), "\ufeff".encode()),
    "broken unicode": _ended(b"\xff", b"\\ud800", b"\xc0\xaf"),
    "control characters": _ended(b"\\u0000", b"\\n\\r", b"\x1b"),
    "one name": _each(_TEXT, _always(b'"a"'), 0.9),
    "UTF-16": lambda data, _: data.decode("latin-1").encode("utf-16"),
    "byte order mark": lambda data, _: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "wrapped": _wrapped,
    "padded": lambda data, dice: dice.choice((b" ", b"\n", b"\x00")) * _LARGE + data,
    "metadata": wrong_metadata,
    "tokens": wrong_tokens,
    "runs": drawn_out,
    "crowds": crowded,
    "bytes": lambda data, dice: damaged(data, dice, [data]),
}


def smallest_files() -> dict[str, bytes]:
    """The smallest sound file of every format."""
    smallest: dict[str, bytes] = {}
    for name, data in corpus():
        smallest[name] = min(smallest.get(name, data), data, key=len)
    return smallest


def hostile_file(data: bytes, shape: str, seed: int) -> bytes:
    """A sound file in that shape."""
    return SHAPES[shape](data, random.Random(f"{seed}/{shape}"))
