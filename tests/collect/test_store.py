"""A collection that is killed, torn, full or opened twice: no finished cell is lost, none read in half, none twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from profet_collect.store import open_store
from profet_core.collected.lines import line_of, whole_lines
from profet_core.collected.reading import read_collection
from profet_core.errors import InputError
from tests.made.collected import MANIFEST, result

#: Appends cells for ever, and says on stdout that one is finished only once it is on the disk.
WRITER = """
import sys
from pathlib import Path
from collected import MANIFEST, result
from profet_collect.store import open_store
with open_store(Path(sys.argv[1]), MANIFEST) as store:
    print("open", flush=True)
    for number in range(10_000):
        made = result(number)
        if made.cell not in store.finished:
            store.append(made)
            print(number, flush=True)
"""


def environment(repository: Path) -> dict[str, str]:
    """Beside the code what makes cells: another `tests` may be installed."""
    return {**os.environ, "PYTHONPATH": f"{repository}{os.pathsep}{repository / 'tests' / 'made'}"}


def writer(folder: Path, repository: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        env=environment(repository), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def numbers(folder: Path) -> list[int]:
    """The cells that are there; each must hold just what was written."""
    results = read_collection(folder).results
    assert all(one == result(one.cell.repeat) for one in results)
    return [one.cell.repeat for one in results]


def test_torn_at_200_points_no_whole_cell_is_lost_and_no_half_one_read(tmp_path):
    lines = [line_of(result(number)) for number in range(12)]
    data = b"".join(lines)
    ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    chance = random.Random(15)
    points = [
        0,
        len(data),
        *ends[:4],
        *(end - 1 for end in ends[:4]),
        *(chance.randrange(len(data)) for _ in range(190)),
    ]
    for index, point in enumerate(points):
        folder = tmp_path / str(index)
        with open_store(folder, MANIFEST):
            pass
        (folder / "cells.jsonl").write_bytes(data[:point])
        whole = sum(end <= point for end in ends)
        assert numbers(folder) == list(range(whole))
        with open_store(folder, MANIFEST) as store:
            assert len(store.finished) == whole
            store.append(result(99))
        assert numbers(folder) == [*range(whole), 99]


def test_killed_at_random_points_and_gone_on_with(tmp_path, repository):
    """Kill -9 within milliseconds of a line, again and again, on one folder."""
    chance = random.Random(6)
    said: set[int] = set()
    for _ in range(16):
        process = writer(tmp_path / "c", repository)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        time.sleep(chance.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=60)
        said |= {int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")}
        there = numbers(tmp_path / "c")
        assert said <= set(there), "a finished cell is lost"
        assert len(there) == len(set(there)), "a cell is there twice"
        # What was written and not yet said may be there too: the next run doesn't measure it again.
        said |= set(there)
    assert len(said) > 16


def test_two_collectors_into_one_folder_refuse_each_other(tmp_path):
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(result(0))
        with pytest.raises(InputError, match=r"Another `profet collect` writes into .*: let it end, or name another"):
            open_store(tmp_path / "c", MANIFEST).__enter__()
    with open_store(tmp_path / "c", MANIFEST) as store:
        assert list(store.finished) == [result(0).cell]


def test_a_cell_is_never_there_twice(tmp_path):
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(result(0))
        with pytest.raises(InputError, match="already"):
            store.append(result(0))
    path = tmp_path / "c" / "cells.jsonl"
    path.write_bytes(path.read_bytes() * 2 + line_of(result(1)))
    with pytest.raises(InputError, match=r"line 2 of cells\.jsonl has a cell that is there already"):
        read_collection(tmp_path / "c")


def test_a_changed_line_before_the_last_is_named(tmp_path):
    lines = [line_of(result(number)) for number in range(3)]
    lines[1] = lines[1].replace(b'"pixels":32', b'"pixels":64')
    with pytest.raises(InputError, match=r"line 2 of cells\.jsonl is damaged"):
        list(whole_lines(b"".join(lines), "cells.jsonl"))


@pytest.mark.parametrize("change", [{"pixels": True}, {"framework": "jax"}, {"status": "odd"}, {"operations_us": 3}])
def test_a_line_with_a_right_checksum_and_a_wrong_cell_is_damaged(change):
    from profet_core.collected import lines

    cell = {**result(0).document(), **change}
    line = json.dumps({"crc": lines._crc(cell), "cell": cell}).encode() + b"\n"
    with pytest.raises(InputError, match="line 1"):
        list(whole_lines(line + line_of(result(1)), "cells.jsonl"))


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path, repository):
    code = """
import resource, signal, sys
from pathlib import Path
from collected import MANIFEST, result
from profet_collect.store import open_store
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
    assert "can't be written: File too large; its" in line and "Make room" in line
    whole = numbers(tmp_path / "c")
    assert whole == list(range(int(line.split()[0]))) and whole
    assert (tmp_path / "c" / "cells.jsonl").read_bytes().endswith(b"\n")


def test_what_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"can't be written: .*; name another --out"):
        open_store(tmp_path / "file" / "c", MANIFEST).__enter__()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_folder_is_one_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="can't be written: Permission denied"):
        open_store(tmp_path / "c", MANIFEST).__enter__()


def test_another_machine_s_cells_belong_into_another_folder(tmp_path):
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(result(0))
    with pytest.raises(InputError, match="holds cells of gpu 'none', not 'T4': name another --out"):
        open_store(tmp_path / "c", {**MANIFEST, "gpu": "T4"}).__enter__()
    assert numbers(tmp_path / "c") == [0]


def test_a_cell_that_did_not_run_is_kept_with_its_reason(tmp_path):
    full = replace(
        result(3), status="out-of-memory", why="8 GiB asked", batch_latency_ms=None, latency_repeats_ms=(),
        peak_memory_bytes=None, operations_us={},
    )  # fmt: skip
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.append(full)
    assert read_collection(tmp_path / "c").results == (full,)
