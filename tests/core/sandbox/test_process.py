"""A limited process is not trusted: any other output than a result is one line."""

from __future__ import annotations

import io
import subprocess
from dataclasses import dataclass, field

import pytest

from profet_core.errors import InputError
from profet_core.sandbox.process import ReadLimits, Task, file_suffix, taken


def number(document: object) -> int:
    if isinstance(document, int):
        return document
    raise ValueError


TASK = Task("tests", number, InputError, "do otherwise", 10_000)


@dataclass
class Printed:
    """A process that printed this and ended."""

    out: bytes
    stdout: io.BytesIO = field(init=False)

    def __post_init__(self) -> None:
        self.stdout = io.BytesIO(self.out)

    def wait(self, timeout: float | None = None) -> int:
        return 1

    def kill(self) -> None:
        """It has ended."""


def run(monkeypatch, out: bytes, **named: object) -> int:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: Printed(out))
    with taken(b"") as file:
        return TASK.run(file, "mine", ReadLimits(250, 12), **named)


def test_the_result_is_the_last_line(monkeypatch):
    shares: list[float] = []
    out = b'{"share": 0.5}\n{"share": 0.25}\n{"result": 7}\n{"error": "late"}\n'
    assert run(monkeypatch, out, progress=shares.append) == 7 and shares == [0.5, 0.5]


@pytest.mark.parametrize(
    "out",
    [
        b"",
        b"\n",
        b"{\n",
        b"[]\n",
        b"null\n",
        b"{}\n",
        b'{"result": 7}',
        b'{"result": "7"}\n',
        b'{"share": 2.0}\n{"result": 7}\n',
        b'{"share": "1"}\n{"result": 7}\n',
        b'{"error": "a\\nb"}\n',
        b'{"limit": 1}\n',
        b"[" * 9_000 + b"\n",
        b'{"share": 0.5}\n' * 1_000 + b'{"result": 7}\n',
    ],
)
def test_any_other_output_is_no_result(monkeypatch, out):
    with pytest.raises(InputError, match=r"^mine: reading it ended without a result: do otherwise\.$"):
        run(monkeypatch, out)


@pytest.mark.parametrize(
    ("out", "line"),
    [
        (b'{"error": "it is bad."}\n', r"mine: it is bad\."),
        (b'{"limit": "memory"}\n', r"mine: it takes more than 250 MB of memory to read: do otherwise\."),
        (b'{"limit": "time"}\n', r"mine: it takes more than 12 s to read: do otherwise\."),
    ],
)
def test_errors_and_limits_are_one_line(monkeypatch, out, line):
    with pytest.raises(InputError, match=f"^{line}$"):
        run(monkeypatch, out)


def test_of_a_name_only_a_plain_end_is_passed_on():
    assert [file_suffix(name) for name in ("a.JSON", "secret", "a.x;rm", "a.tar.gz")] == [".json", "", ".x", ".gz"]
