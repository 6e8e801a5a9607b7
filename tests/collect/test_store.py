"""A collection that is killed, torn, full or opened twice: no finished cell is lost, none read in half, none twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from profet_collect.store import json_line, only_collector, open_store, read_collection, whole_lines
from profet_core.errors import InputError
from tests.made.collected import MANIFEST, result

#: Writers one after another, each killed: a line of stdin is a folder and the milliseconds until `kill -9`; a line of
#: stdout is how that writer ended, and which cells it had said were on the disk. Forked: starting Python takes longer.
KILLED = """
import os, signal, sys, time
from pathlib import Path
from collected import MANIFEST, result
from profet_collect.store import only_collector, open_store
for turn, line in enumerate(sys.stdin):
    folder, after_ms = line.rsplit(" ", 1)
    heard, said = os.pipe()
    writer = os.fork()
    if not writer:
        with open_store(Path(folder), MANIFEST) as store:
            number = len(store.finished)
            os.write(said, b"open ")
            while True:
                store.append(result(number))
                os.write(said, b"%d " % number)
                number += 1
    os.close(said)
    # Every other one is killed while it opens the folder.
    if turn % 2:
        os.read(heard, 5)
    time.sleep(float(after_ms) / 1000)
    os.kill(writer, signal.SIGKILL)
    ended = os.waitpid(writer, 0)[1]
    with os.fdopen(heard, "rb") as rest:
        words = rest.read().decode().removeprefix("open ").split(" ")[:-1]
    print(ended, *words, flush=True)
"""


def environment(repository: Path) -> dict[str, str]:
    """Beside the code what makes cells: another `tests` may be installed."""
    return {**os.environ, "PYTHONPATH": f"{repository}{os.pathsep}{repository / 'tests' / 'made'}"}


def numbers(folder: Path) -> list[int]:
    """The cells that are there; each must hold just what was written."""
    _, results = read_collection(folder)
    assert all(kept == result(kept.cell.repeat) for kept in results)
    return [kept.cell.repeat for kept in results]


def test_torn_at_any_byte_no_whole_cell_is_lost_and_no_half_one_read():
    lines = [json_line(result(number)) for number in range(3)]
    data = b"".join(lines)
    ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    for point in range(len(data) + 1):
        whole = [(kept.cell.repeat, end) for kept, end in whole_lines(data[:point], "cells.jsonl")]
        assert whole == [(number, end) for number, end in enumerate(ends) if end <= point]
    lines[1] = lines[1].replace(b'"pixels":32', b'"pixels":64')
    with pytest.raises(InputError, match=r"line 2 of cells\.jsonl is"):
        list(whole_lines(b"".join(lines), "cells.jsonl"))


def test_killed_at_100_random_points_and_gone_on_with(tmp_path, repository):
    """Kill -9 while a folder is opened or a line written, again and again, on five folders."""
    chance = random.Random(6)
    folders = [tmp_path / f"{number}" for number in range(5)]
    points = [(folder, chance.random() * 15) for folder in folders for _ in range(20)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED],
        input="".join(f"{folder} {after_ms}\n" for folder, after_ms in points),
        env=environment(repository), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    announced: dict[Path, list[int]] = {folder: [] for folder in folders}
    for (folder, _), line in zip(points, done.stdout.splitlines(), strict=True):
        ended, *words = map(int, line.split())
        assert ended == signal.SIGKILL
        assert not words or words[0] > max(announced[folder], default=-1), "a finished cell is lost"
        announced[folder] += words
    for folder in folders:
        # What was written and not yet said may be there too: the next writer goes on behind it.
        there = numbers(folder)
        assert there == list(range(len(there))), "a cell is lost, or there twice"
        assert set(announced[folder]) <= set(there)
    assert all(announced.values())


def test_beside_a_collection_that_runs_no_other_is_started(tmp_path, refused, monkeypatch):
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(result(0))
        with pytest.raises(InputError, match="Another `profet collect`"):
            open_store(tmp_path / "c", MANIFEST).__enter__()
    with open_store(tmp_path / "c", MANIFEST) as store:
        assert list(store.finished) == [result(0).cell]
    from profet_cli import collect

    monkeypatch.setattr(collect, "machine_at_hand", lambda *_: pytest.fail("a framework was started"))
    with open_store(tmp_path / "c", MANIFEST):
        line = refused("collect", "--instance", "test", "--device", "cpu", "--out", tmp_path / "c")
    assert "Another `profet collect`" in line and str(tmp_path / "c") in line


def test_a_folder_into_which_nothing_came_goes_again(tmp_path):
    (tmp_path / "kept").mkdir()
    for folder in (tmp_path / "c", tmp_path / "kept" / "collected" / "c"):
        with pytest.raises(ZeroDivisionError), only_collector(folder):
            raise ZeroDivisionError
    assert list(tmp_path.rglob("*")) == [tmp_path / "kept"]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="another --out"):
        open_store(tmp_path / "file" / "c", MANIFEST).__enter__()
    with open_store(tmp_path / "c", MANIFEST):
        pass
    assert numbers(tmp_path / "c") == []


def test_a_cell_is_never_there_twice_and_a_wrong_one_with_a_right_checksum_is_damaged(tmp_path):
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(result(0))
        with pytest.raises(InputError, match="already"):
            store.append(result(0))
    path = tmp_path / "c" / "cells.jsonl"
    path.write_bytes(path.read_bytes() * 2 + json_line(result(1)))
    with pytest.raises(InputError, match=r"line 2 of cells\.jsonl has"):
        read_collection(tmp_path / "c")
    changes = (
        {"pixels": True}, {"pixels": 2**40}, {"batch_size": 0}, {"repeat": "1"}, {"repeat": -1},
        {"framework": "jax"}, {"status": "odd"}, {"operations_us": 3}, {"operations_us": {"Device_\x1b": 1.0}},
        {"operations_us": {"": 1.0}}, {"operations_us": {"Device_Conv2D": "1"}}, {"operations_us": {"Device_Mul": -1}},
        {"model": ["A"]}, {"model": ""}, {"model": "A\nB"}, {"model": "A" * 1000}, {"framework_version": None},
        {"recorded_at": ["2026"]}, {"why": ["full"]}, {"peak_memory_bytes": "abc"}, {"peak_memory_bytes": 2**70},
        {"batch_latency_ms": True}, {"batch_latency_ms": None}, {"latency_repeats_ms": "55"},
        {"latency_repeats_ms": [10**400]}, {"status": "failed", "batch_latency_ms": -1},
    )  # fmt: skip
    for change in changes:
        cell = {**result(0).document(), **change}
        compact = json.dumps(cell, sort_keys=True, separators=(",", ":")).encode()
        line = json.dumps({"crc": zlib.crc32(compact), "cell": cell}).encode() + b"\n"
        with pytest.raises(InputError, match="line 1"):
            list(whole_lines(line + json_line(result(1)), "cells.jsonl"))
            pytest.fail(f"{change} is taken")


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path, repository):
    code = """
import resource, signal, sys
from pathlib import Path
from collected import MANIFEST, result
from profet_collect.store import only_collector, open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open_store(Path(sys.argv[1]), MANIFEST) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    try:
        for number in range(100):
            store.append(result(number))
    except Exception as error:
        print(len(store.finished), error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "c")],
        env=environment(repository),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert "can't be written: File too large; its" in line and "Free some space" in line
    whole = numbers(tmp_path / "c")
    assert whole == list(range(int(line.split()[0]))) and whole
    assert (tmp_path / "c" / "cells.jsonl").read_bytes().endswith(b"\n")


def test_what_did_not_run_is_forgotten_to_be_measured_again(tmp_path):
    ended = [replace(result(number), status=status, why="so", batch_latency_ms=None, latency_repeats_ms=())
             for number, status in ((1, "failed"), (2, "out-of-memory"))]  # fmt: skip
    with open_store(tmp_path / "c", MANIFEST) as store:
        for ended_result in (result(0), *ended, result(3)):
            store.append(ended_result)
    assert read_collection(tmp_path / "c")[1][1:3] == tuple(ended), "kept with their reason"
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.retry()
        assert [cell.repeat for cell in store.finished] == [0, 3]
        store.append(result(1))
        with pytest.raises(InputError, match="Another `profet collect`"):
            open_store(tmp_path / "c", MANIFEST).__enter__()
    assert numbers(tmp_path / "c") == [0, 3, 1]


def test_frameworks_are_added_and_another_version_or_machine_belongs_into_another_folder(tmp_path):
    for frameworks in ({"pytorch": "2.13.0"}, {"tensorflow": "2.21.0 keras 3.15.1"}):
        with open_store(tmp_path / "c", {**MANIFEST, "frameworks": frameworks}):
            pass
    both = {"pytorch": "2.13.0", "tensorflow": "2.21.0 keras 3.15.1"}
    assert read_collection(tmp_path / "c")[0]["frameworks"] == both
    with pytest.raises(InputError, match=r"pytorch 2\.13\.0, not 2\.14\.0"):
        open_store(tmp_path / "c", {**MANIFEST, "frameworks": {"pytorch": "2.14.0"}}).__enter__()
    with open_store(tmp_path / "d", MANIFEST) as store:
        store.append(result(0))
    with pytest.raises(InputError, match="gpu 'none', not 'T4'"):
        open_store(tmp_path / "d", {**MANIFEST, "gpu": "T4"}).__enter__()
    assert numbers(tmp_path / "d") == [0]
