"""Runs the `profet` command in this process, with the shipped models."""

from __future__ import annotations

import json

import pytest

from profet_cli.main import main
from profet_core.prediction.models import Sample


@pytest.fixture
def sample(samples) -> Sample:
    return next(iter(samples.values()))


@pytest.fixture
def run(capsys, monkeypatch):
    """`run("predict", ...)` -> exit status, stdout, stderr; with the shipped models."""
    monkeypatch.delenv("PROFET_HOME", raising=False)

    def run_command(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run_command


@pytest.fixture
def document(run):
    """`document("predict", ...)` -> the one JSON document on stdout."""

    def read(*arguments: object):
        status, out, err = run(*arguments, "--format", "json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return read


@pytest.fixture
def refused(run):
    """`refused("predict", ...)` -> the one line on stderr of a command that exits with 2."""

    def read(*arguments: object) -> str:
        status, out, err = run(*arguments)
        assert (status, out) == (2, "")
        assert err.startswith("profet: ") and err.endswith("\n")
        assert err[:-1].isprintable(), "one line"
        return err[len("profet: ") : -1]

    return read
