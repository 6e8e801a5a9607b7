"""Faults of a machine: a program killed, a disk full, a model's file damaged; nothing is lost."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import REPOSITORY
from profet_core.catalog import load_shipped
from profet_core.catalog.custom_instances import read_custom_instances
from profet_profiles import read_profile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")
ROUNDS = int(os.environ.get("FUZZ_FAULTS", "4"))
SAMPLE = REPOSITORY / "sample_traces" / "vgg16-224px-b16-g3s.json"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A folder with an own row and a profile."""
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "own" / "instances.csv"))
    (tmp_path / "own").mkdir()
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "p.json").write_bytes(SAMPLE.read_bytes())
    assert profet("instances", "add", "kept", "--gpu", "L4", "--usd-per-hour", "1").returncode == 0
    return tmp_path


def profet(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "profet_cli", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, **more)


def changes(home: Path, number: int) -> list[list[str]]:
    """Commands that write into the home."""
    row = ["instances", "add", f"new.{number}", "--gpu", "L4", "--usd-per-hour", "2"]
    return [row, ["convert", str(SAMPLE), "-o", str(home / "profile" / "p.json"), "--force"]]


def check_whole(home: Path) -> None:
    rows = {row.name: row.usd_per_hour for row in read_custom_instances(home / "own" / "instances.csv", load_shipped())}
    assert rows["kept"] == 1
    assert read_profile(home / "profile" / "p.json").operations


def test_a_killed_command_loses_nothing(home):
    chance = random.Random(5)
    for number in range(ROUNDS):
        for change in changes(home, number):
            process = subprocess.Popen([sys.executable, "-m", "profet_cli", *change], cwd=REPOSITORY)
            time.sleep(chance.uniform(0.1, 0.6))
            process.kill()
            process.wait()
            check_whole(home)
            assert profet(*change).returncode == 0
            assert sorted(path.name for path in home.glob("*/*")) == ["instances.csv", "p.json"]


@pytest.mark.parametrize("limit", [0, 1, 40])
def test_a_full_disk_changes_nothing(home, limit):
    before = {path: path.read_bytes() for path in home.glob("*/*")}
    for change in changes(home, 0):
        done = profet(*change, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert done.returncode in (1, 2) and not done.stdout
        assert done.stderr.startswith("profet: ") and done.stderr.count("\n") == 1
        assert {path: path.read_bytes() for path in home.glob("*/*")} == before


def test_a_killed_import_leaves_nothing_that_the_next_one_does_not_remove(tmp_path):
    chance = random.Random(7)
    command = [sys.executable, "-m", "profet_cli", "data", "import", "data", "--out", str(tmp_path / "out")]
    for _ in range(ROUNDS):
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
        # Until it writes.
        while process.poll() is None and not (tmp_path / ".out.new").is_dir():
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        process.kill()
        process.wait()
        if (tmp_path / "out").exists():
            break
        assert {path.name for path in tmp_path.iterdir()} <= {".out.new", ".out.new.lock", "..out.new.lock"}
    if not (tmp_path / "out").exists():
        assert profet(*command[3:]).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} - {"..out.new.lock"} == {"out"}
