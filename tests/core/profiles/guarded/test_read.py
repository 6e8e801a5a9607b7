"""Reading in a process of its own: the same profiles, under limits, ended with whoever asked."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from profet_core import ProfileError, read_profile
from profet_core.errors import BusyError
from profet_core.profiles.guarded import read as guarded
from profet_core.profiles.guarded.line import ReadingLine
from profet_core.profiles.guarded.read import ReadLimits, read_guarded, taken

FORMATS = Path(__file__).resolve().parents[4] / "sample_traces" / "formats"

#: Lists that take some hundred megabytes once they are read.
LISTS = b'{"operations":{"Device_A":1},"x":[' + b"[],[0]," * 560_000 + b"0]}"
#: Events that take some ten seconds.
LONG = (
    b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":9}' + b',{"a":NaN}' * 2_000_000
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


def test_a_refusal_is_the_same_line(started):
    for name, data in {
        "a\n.json": b"[" * 90_000,
        "trace.json": b'{"traceEvents":[',
    }.items():
        with pytest.raises(ProfileError) as here:
            read_profile(data, name)
        with pytest.raises(ProfileError) as there:
            read_guarded(data, name)
        assert str(there.value) == str(here.value)
    assert len(started) == 2


def test_a_small_profile_starts_no_process(started):
    data = b'{"Device_Conv2D": 1.5, "Host_IDLE": 2}'
    assert read_guarded(data) == read_profile(data)
    assert not started
    read_guarded(data + b" " * guarded.SMALL_BYTES)
    assert len(started) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is limited on Linux")
def test_a_file_that_takes_too_much_memory_is_one_line(started):
    with pytest.raises(ProfileError, match=r"^net\.json: it takes more than 60 MB of memory"):
        read_guarded(LISTS, "net.json", limits=ReadLimits(memory_mb=60))
    assert started[0].poll() is not None
    assert read_guarded(LISTS).operations == {"Device_A": 1.0}


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited where there are signals")
@pytest.mark.parametrize("limits", [ReadLimits(cpu_s=1), ReadLimits(wall_s=0.3)])
def test_a_file_that_takes_too_long_is_one_line(started, limits):
    with pytest.raises(ProfileError, match=r"^net: it takes more than \d+ s"):
        read_guarded(LONG, "net", limits=limits)
    assert started[0].poll() is not None


class LeftError(BaseException):
    """As Streamlit's, no Exception."""


def test_whoever_leaves_ends_the_reading(started):
    line, shares = ReadingLine(1), []

    def leave(share: float) -> None:
        shares.append(share)
        raise LeftError

    with pytest.raises(LeftError):
        read_guarded(LONG, progress=leave, line=line)
    assert len(shares) == 1
    assert started[0].poll() is not None
    with line.turn(1, lambda _: pytest.fail("the line still waits")):
        pass


def test_whoever_leaves_the_line_starts_nothing(started):
    line, places = ReadingLine(1), []

    def leave(place: int) -> None:
        places.append(place)
        raise LeftError

    with line.turn(1), pytest.raises(LeftError):
        read_guarded(LONG, waiting=leave, line=line)
    assert places == [1] and not started


@pytest.mark.skipif(sys.platform == "win32", reason="processes end by signals")
@pytest.mark.parametrize(
    ("number", "line"), [(signal.SIGKILL, "more than 400 MB"), (signal.SIGTERM, "ended without a result")]
)
def test_a_killed_process_is_one_line(started, number, line):
    def kill(_: float) -> None:
        os.kill(started[0].pid, number)

    with pytest.raises(ProfileError, match=rf"^net\.json: .*{line}.*\.$"):
        read_guarded(LONG, "net.json", progress=kill)


@pytest.mark.parametrize("module", ["this", "no.such.module"])
def test_garbage_from_the_process_is_one_line(monkeypatch, module):
    monkeypatch.setattr(guarded, "_READER", replace(guarded._READER, module=module))
    with pytest.raises(ProfileError, match=r"^net: reading it ended without a result.*\.$"):
        read_guarded(LISTS, "net")


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
        "import sys, profet_core.profiles.guarded.child; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'}))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert [name for name in eval(out) if not name.startswith("_")] == ["profet_core"]
