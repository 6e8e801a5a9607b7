"""The own file under many programs at once: each change is kept, and nothing is left beside the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from profet_core.catalog import load_shipped
from profet_core.catalog.own import read_own
from profet_core.whole_files import lock_path

PROCESSES, ROWS = 4, 8
#: Begins with the others, at a line on stdin: most of a program's time is its start. Then changes row after row.
CHANGES = """
import sys
from profet_cli.main import main
action, *names = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
more = ["--gpu", "L4", "--usd-per-hour", "1"] if action == "add" else []
sys.exit(max(main(["instances", action, name, *more]) for name in names))
"""


def changed_at_once(changes: list[tuple[str, list[str]]], repository: Path) -> None:
    """Each `profet instances ACTION` of its names in a process of its own, all at once."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CHANGES, action, *names],
            cwd=repository,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for action, names in changes
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[1] for process in running]
    assert [(process.returncode, line) for process, line in zip(running, said, strict=True)] == [(0, "")] * len(running)


def names(path: Path) -> set[str]:
    return {row.name for row in read_own(path, load_shipped())}


def test_many_adds_at_once_keep_every_row_and_removals_beside_them_theirs(own, repository):
    rows = [[f"my.{number}.{row}" for row in range(ROWS)] for number in range(PROCESSES)]
    changed_at_once([("add", each) for each in rows], repository)
    added = {name for each in rows for name in each}
    assert names(own) == added
    new = [[f"new.{number}.{row}" for row in range(ROWS)] for number in range(2)]
    changed_at_once([*(("add", each) for each in new), *(("remove", each) for each in rows[:2])], repository)
    assert names(own) == added - {*rows[0], *rows[1]} | {*new[0], *new[1]}
    assert [path.name for path in own.parent.iterdir()] == [own.name]


@pytest.mark.parametrize("left", ["lock", "scratch"])
def test_what_a_killed_program_left_is_harmless_and_goes(own, run, left):
    own.parent.mkdir(parents=True, exist_ok=True)
    behind = lock_path(own) if left == "lock" else own.with_name(f".{own.name}.new")
    behind.write_bytes(b"" if left == "lock" else b"instance,gpu\nhal")
    assert run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", 1)[0] == 0
    assert names(own) == {"my.l4"}
    assert [path.name for path in own.parent.iterdir()] == [own.name]
