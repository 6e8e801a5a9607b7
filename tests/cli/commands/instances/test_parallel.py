"""The own file under many programs at once: each change is kept, and nothing is left beside the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from profet_core.catalog import load_shipped
from profet_core.catalog.own import read_own
from profet_core.whole_files import lock_path

PROCESSES = 50


def profet(*arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "profet_cli", "instances", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended_well(running: list[subprocess.Popen]) -> None:
    said = [process.communicate(timeout=300)[1] for process in running]
    assert [(process.returncode, line) for process, line in zip(running, said, strict=True)] == [(0, "")] * len(running)


def names(path: Path) -> set[str]:
    return {row.name for row in read_own(path, load_shipped())}


def test_fifty_adds_at_once_keep_fifty_rows_and_removals_beside_them_theirs(own):
    numbered = {f"my.{number}" for number in range(PROCESSES)}
    ended_well([profet("add", name, "--gpu", "L4", "--usd-per-hour", 1) for name in sorted(numbered)])
    assert names(own) == numbered
    added = {f"new.{number}" for number in range(5)}
    removed = {f"my.{number}" for number in range(5)}
    more = [profet("add", name, "--gpu", "L4", "--usd-per-hour", 1) for name in sorted(added)]
    ended_well([*more, *(profet("remove", name) for name in sorted(removed))])
    assert names(own) == (numbered - removed) | added
    assert [path.name for path in own.parent.iterdir()] == [own.name]


@pytest.mark.parametrize("left", ["lock", "scratch"])
def test_what_a_killed_program_left_is_harmless_and_goes(own, run, left):
    own.parent.mkdir(parents=True, exist_ok=True)
    behind = lock_path(own) if left == "lock" else own.with_name(f".{own.name}-0123abcd.new")
    behind.write_bytes(b"" if left == "lock" else b"instance,gpu\nhal")
    assert run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", 1)[0] == 0
    assert names(own) == {"my.l4"}
    assert [path.name for path in own.parent.iterdir()] == [own.name]
