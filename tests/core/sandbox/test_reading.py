"""Reading in a process of its own: the same profiles, under limits, ended with whoever asked."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profet_core import ProfileError, read_profile
from profet_core.errors import BusyError
from profet_core.sandbox import process
from profet_core.sandbox.process import SMALL_BYTES, ReadingQueue, ReadLimits, taken
from profet_core.sandbox.reading import profile_document, profile_in, read_guarded
from profet_recorder.profiles.record import Profile, ProfileMeta

FORMATS = Path(__file__).resolve().parents[3] / "sample_traces" / "formats"

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
        limited.setattr(ReadLimits, "for_size", lambda size: ReadLimits(60, 5))
        with pytest.raises(ProfileError, match=r"^net\.json: it takes more than 60 MB of memory"):
            read_guarded(LISTS, "net.json")
    assert started[0].poll() is not None
    assert read_guarded(LISTS).operations == {"Device_A": 1.0}


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited where there are signals")
@pytest.mark.parametrize("limits", [ReadLimits(250, 1), ReadLimits(250, 12, 0.3)])
def test_a_file_that_takes_too_long_is_one_line(started, limits, monkeypatch):
    monkeypatch.setattr(ReadLimits, "for_size", lambda size: limits)
    with pytest.raises(ProfileError, match=r"^net: it takes more than \d+ s"):
        read_guarded(LONG, "net")
    assert started[0].poll() is not None


class LeftError(BaseException):
    """As Streamlit's, no Exception."""


def test_whoever_leaves_ends_the_reading(started, monkeypatch):
    queue, shares = ReadingQueue(1), []
    monkeypatch.setattr(process, "QUEUE", queue)

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


def test_the_process_knows_nothing_of_the_servers_environment(monkeypatch):
    given = {}

    def note(arguments, **named):
        given.update(named["env"], arguments=arguments)
        raise OSError

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(subprocess, "Popen", note)
    with pytest.raises(BusyError, match="try again in a minute"):
        read_guarded(LISTS, "my secret network.json")
    assert "secret" not in repr(given) and given["OPENBLAS_NUM_THREADS"] == "1"


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
        "import sys, profet_core.sandbox.child, profet_core.sandbox.reading; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'}))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert [name for name in eval(out) if not name.startswith("_")] == ["profet_core", "profet_recorder"]


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
        {"meta": {}},
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
