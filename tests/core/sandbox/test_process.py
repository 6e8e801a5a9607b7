"""A limited process is not trusted: any other output than a result is one line."""

from __future__ import annotations

import io
import subprocess
import threading
from dataclasses import dataclass, field

import pytest

from profet_core.errors import BusyError, InputError
from profet_core.sandbox import process as queues
from profet_core.sandbox.process import ReadingQueue, ReadLimits, Task, file_suffix, taken


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


def test_the_result_is_the_last_line_and_of_a_name_only_a_plain_end_is_passed_on(monkeypatch):
    shares: list[float] = []
    out = b'{"share": 0.5}\n{"share": 0.25}\n{"result": 7}\n{"error": "late"}\n'
    assert run(monkeypatch, out, progress=shares.append) == 7 and shares == [0.5, 0.5]
    assert [file_suffix(name) for name in ("a.JSON", "secret", "a.x;rm", "a.tar.gz")] == [".json", "", ".x", ".gz"]


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


COUNT = 5


def test_no_more_than_so_many_have_their_turn_at_once_and_first_come_is_first_served():
    at_once = 2
    queue, lock = ReadingQueue(at_once), threading.Lock()
    now: set[int] = set()
    served: list[int] = []
    most: list[int] = []
    places: dict[int, list[int]] = {number: [] for number in range(COUNT)}
    joined = [threading.Event() for _ in range(COUNT)]
    joined[-1].set()
    go_on = threading.Event()

    def visit(number: int) -> None:
        def waiting(place: int) -> None:
            places[number].append(place)
            joined[number].set()

        # The last one doesn't ask for its place.
        with queue.turn(1, waiting if number < COUNT - 1 else None):
            with lock:
                now.add(number)
                served.append(number)
                most.append(len(now))
            joined[number].set()
            assert go_on.wait(30)
            with lock:
                now.remove(number)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(COUNT)]
    for thread, event in zip(threads, joined, strict=True):
        thread.start()
        assert event.wait(30)
    threads[-1].join(0.4)
    assert sorted(now) == list(range(at_once)) and threads[-1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert max(most) == at_once
    assert sorted(served) == list(range(COUNT))
    assert all(places[number] == [] for number in range(at_once))
    for number in range(at_once, COUNT - 1):
        assert places[number][0] == number - at_once + 1
        assert places[number] == sorted(places[number], reverse=True)


class LeftError(Exception):
    pass


def test_whoever_leaves_makes_room():
    queue = ReadingQueue(1)

    def leave(place: int) -> None:
        assert place == 1
        raise LeftError

    with queue.turn(1):
        for _ in range(3):
            with pytest.raises(LeftError), queue.turn(1, leave):
                pytest.fail("it was not its turn")
    with pytest.raises(LeftError), queue.turn(1):
        raise LeftError
    with queue.turn(1, lambda _: pytest.fail("nobody is before it")):
        pass


@pytest.mark.parametrize(("limit", "value"), [("MAX_WAITING", 2), ("MAX_WAITING_BYTES", 20)])
def test_a_full_queue_is_reported_at_once(monkeypatch, limit, value):
    monkeypatch.setattr(queues, limit, value)
    queue = ReadingQueue(1)

    def third(_: int) -> None:
        with pytest.raises(BusyError, match="try again in a minute"), queue.turn(10):
            pytest.fail("the queue was full")
        raise LeftError

    def second(_: int) -> None:
        with queue.turn(10, third):
            pytest.fail("it was not its turn")

    with queue.turn(10), pytest.raises(LeftError), queue.turn(10, second):
        pytest.fail("it was not its turn")
