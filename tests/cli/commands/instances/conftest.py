"""Runs `profet instances` with a file of your own that is empty at first."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "mine" / "instances.csv"
    monkeypatch.setenv("PROFET_INSTANCES", str(path))
    return path


@pytest.fixture
def run(run, own):
    return lambda *arguments: run("instances", *arguments)


@pytest.fixture
def refused(refused, own):
    """The one line of a command that exits with 2 and leaves the file as it was."""

    def read(*arguments: object) -> str:
        before = own.read_bytes() if own.exists() else None
        line = refused(*arguments)
        assert (own.read_bytes() if own.exists() else None) == before
        return line

    return read
