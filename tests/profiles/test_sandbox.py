"""Reading in a limited process: the same profiles, ended with whoever asked; what is no result is one line."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from profet_core import ProfileError, read_profile
from profet_core.errors import BusyError, InputError
from profet_profiles import sandbox
from profet_profiles.queues import BoundedQueue
from profet_profiles.record import Profile, ProfileMeta
from profet_profiles.sandbox import SMALL_BYTES, Task, profile_document, profile_in, read_guarded, taken

FORMATS = Path(__file__).resolve().parents[2] / "sample_traces" / "formats"

#: Lists that take some hundred megabytes once they are read.
LISTS = b'{"operations":{"Device_A":1},"x":[' + b"[],[0]," * 560_000 + b"0]}"
#: Events that take some ten seconds.
LONG = (
    b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":9}' + b',{"a":NaN}' * 2_000_000
)

PROFILE = Profile(
    {"Device_Conv2D": 1 / 3, "Host_IDLE": 2.0},
    meta=ProfileMeta(gpu="Tesla T4", compiled=True, batch_size=32, step_latency_ms=0.1),
    source_format="PyTorch trace",
    ignored=("2 events",),
    steps=3,
    warnings=("one", "two"),
    steps_basis="marked",
    refusal="no",
    may_be_cut=False,
)


@pytest.fixture
def started(monkeypatch) -> list[subprocess.Popen]:
    """Every process that is started for reading."""
    processes: list[subprocess.Popen] = []
    start = subprocess.Popen

    def noted(*args, **named):
        processes.append(start(*args, **named))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    return processes


@pytest.mark.parametrize("name", ["tensorflow-3-steps.xplane.pb.gz", "pytorch_cpu.pt.trace.json.gz"])
def test_a_file_reads_as_in_this_process(name):
    shares = []
    with (FORMATS / name).open("rb") as file:
        profile = read_guarded(file, name, progress=shares.append)
    expected = read_profile((FORMATS / name).read_bytes(), name)
    assert profile == expected and profile.with_steps(1) == expected.with_steps(1)
    assert shares == sorted(shares)


def test_a_refusal_is_the_same_line_and_a_small_profile_starts_no_process(started):
    for name, data in {"a\n.json": b"[" * 90_000, "trace.json": b'{"traceEvents":['}.items():
        with pytest.raises(ProfileError) as here:
            read_profile(data, name)
        with pytest.raises(ProfileError) as there:
            read_guarded(data, name)
        assert str(there.value) == str(here.value)
    assert len(started) == 2
    started.clear()
    data = b'{"Device_Conv2D": 1.5, "Host_IDLE": 2}'
    assert read_guarded(data) == read_profile(data)
    assert not started
    read_guarded(data + b" " * SMALL_BYTES)
    assert len(started) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is limited on Linux")
def test_a_file_that_takes_too_much_memory_is_one_line(started, monkeypatch):
    with monkeypatch.context() as limited:
        limited.setattr(sandbox, "limits_for", lambda size: (60, 5))
        with pytest.raises(ProfileError, match=r"^net\.json: it takes more than 60 MB of memory"):
            read_guarded(LISTS, "net.json")
    assert started[0].poll() is not None
    assert read_guarded(LISTS).operations == {"Device_A": 1.0}


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited where there are signals")
@pytest.mark.parametrize(("cpu_s", "wall_s", "error"), [(1, 600.0, ProfileError), (12, 0.3, BusyError)])
def test_a_file_is_blamed_for_processor_time_and_a_busy_machine_for_the_rest(
    started, cpu_s, wall_s, error, monkeypatch
):
    monkeypatch.setattr(sandbox, "limits_for", lambda size: (250, cpu_s))
    monkeypatch.setattr(sandbox, "MAX_WALL_S", wall_s)
    with pytest.raises(error, match=r"^net: it takes more than 1 s|^The machine is too busy"):
        read_guarded(LONG, "net")
    assert started[0].poll() is not None


def test_whoever_leaves_ends_the_reading(started, monkeypatch):
    queue, shares = BoundedQueue(1), []
    monkeypatch.setattr(sandbox, "QUEUE", queue)

    def leave(share: float) -> None:
        shares.append(share)
        raise LeftError

    with pytest.raises(LeftError):
        read_guarded(LONG, progress=leave)
    assert len(shares) == 1
    assert started[0].poll() is not None
    with queue.turn(1, lambda _: pytest.fail("the queue still waits")):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="processes end by signals")
@pytest.mark.parametrize(
    ("number", "line"), [(signal.SIGKILL, "more than 250 MB"), (signal.SIGTERM, "ended without a result")]
)
def test_a_killed_process_is_one_line(started, number, line):
    def kill(_: float) -> None:
        os.kill(started[0].pid, number)

    with pytest.raises(ProfileError, match=rf"^net\.json: .*{line}.*\.$"):
        read_guarded(LONG, "net.json", progress=kill)


def test_the_process_knows_nothing_of_the_environment_and_of_a_name_only_its_plain_end(monkeypatch):
    given = {}

    def note(arguments, **named):
        given.update(named["env"], arguments=arguments)
        raise OSError

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(subprocess, "Popen", note)
    for name, end in {"my secret.JSON": ".json", "secret": "", "secret.x;rm": ".x", "secret.tar.gz": ".gz"}.items():
        with pytest.raises(BusyError, match="try again in a minute"):
            read_guarded(LISTS, name)
        assert "secret" not in repr(given) and given["OPENBLAS_NUM_THREADS"] == "1" and given["arguments"][-1] == end


def test_what_is_no_file_of_the_systems_is_copied(tmp_path):
    source = io.BytesIO(b'{"Device_Conv2D": 1.5}')
    source.read(3)
    with taken(source) as copy:
        source.close()
        assert read_guarded(copy).operations == {"Device_Conv2D": 0.75}
        assert copy.fileno() >= 0
    assert copy.closed
    (tmp_path / "profile.json").write_bytes(LISTS)
    with (tmp_path / "profile.json").open("rb") as file, taken(file) as same:
        assert same is file


def test_the_process_loads_the_standard_library_only():
    script = (
        "import sys, profet_profiles.sandbox; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'}))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert [name for name in eval(out) if not name.startswith("_")] == ["profet_profiles"]


def test_a_profile_comes_back_to_the_last_digit_and_what_is_none_is_refused():
    again = profile_in(json.loads(json.dumps(profile_document(PROFILE))))
    assert again == PROFILE and again.with_steps(1) == PROFILE.with_steps(1)
    record = json.loads(json.dumps(profile_document(PROFILE)))
    changes = (
        {"operations": {"a": -1.0}},
        {"operations": {"a": float("inf")}},
        {"operations": {"a": "1"}},
        {"operations": {f"a{number}": 1.0 for number in range(1_001)}},
        {"operations": {"a\n": 1.0}},
        {"meta": record["meta"] | {"gpu": ["T4"]}},
        {"meta": record["meta"] | {"gpu": "x" * 2_000}},
        {"steps": 0},
        {"steps": "3"},
        {"steps_basis": "guessed"},
        {"warnings": [1]},
        {"ignored": "text"},
        {"refusal": "two\nlines"},
    )
    documents = [None, {}, *(record | change for change in changes)]
    documents += [{key: record[key] for key in record if key != left_out} for left_out in record]
    for document in documents:
        with pytest.raises(ValueError):
            profile_in(document)


# --- output that is not trusted, and the queue ---


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
        return TASK.run(file, "mine", 20_000_000, **named)


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
        (b'{"limit": "time"}\n', r"mine: it takes more than 10 s to read: do otherwise\."),
    ],
)
def test_errors_and_limits_are_one_line(monkeypatch, out, line):
    with pytest.raises(InputError, match=f"^{line}$"):
        run(monkeypatch, out)


COUNT = 5


def test_no_more_than_so_many_have_their_turn_at_once_and_first_come_is_first_served():
    at_once = 2
    queue, lock = BoundedQueue(at_once), threading.Lock()
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


class LeftError(BaseException):
    """As Streamlit's, no Exception."""


def test_whoever_leaves_makes_room():
    queue = BoundedQueue(1)

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


@pytest.mark.parametrize(("limit", "value"), [("places", 2), ("places_bytes", 20)])
def test_a_full_queue_is_reported_at_once(limit, value):
    queue = BoundedQueue(1, **{limit: value})

    def third(_: int) -> None:
        with pytest.raises(BusyError, match="try again in a minute"), queue.turn(10):
            pytest.fail("the queue was full")
        raise LeftError

    def second(_: int) -> None:
        with queue.turn(10, third):
            pytest.fail("it was not its turn")

    with queue.turn(10), pytest.raises(LeftError), queue.turn(10, second):
        pytest.fail("it was not its turn")
