"""Faults of a machine: a program killed, a disk full, a file damaged, and nothing lost."""

from __future__ import annotations

import os
import random
import sys

import pytest

from tests.fuzz.faults import LossError, World, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")
COUNT = int(os.environ.get("FUZZ_FAULTS", "16"))


def test_faults_lose_nothing(tmp_path):
    came_of = run(COUNT, 5, tmp_path)
    assert came_of.total() == COUNT
    assert {what.partition(":")[0] for what in came_of} == {"killed", "full disk", "damaged", "own file"}


def test_a_loss_is_seen(tmp_path, monkeypatch):
    for name in ("PROFET_HOME", "PROFET_INSTANCES", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "")
    world = World(tmp_path, random.Random(1)).build()
    world.check_whole()
    world.check_tidy()
    (world.own.parent / ".instances.csv-0.new").touch()
    with pytest.raises(LossError, match="left lying about"):
        world.check_tidy()
    world.own.write_text(world.own.read_text().replace("kept.1", "lost.1"))
    with pytest.raises(LossError, match="own rows are lost"):
        world.check_whole()
