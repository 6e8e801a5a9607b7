"""Somebody at a machine of their own, who has nothing but the `profet` command and a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: A busy machine takes its time.
TIMEOUT_S = 1_800


@dataclass
class Person:
    """Runs commands in a folder, with models and instances of their own.

    Attributes
    ----------
    load : the highest load average of the machine at the end of a measurement.
    """

    folder: Path
    repository: Path
    load: float = field(default=0.0, init=False)

    @property
    def home(self) -> Path:
        """Where models and instances are."""
        return self.folder / "home"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of commands and of the app."""
        return {
            "PROFET_HOME": str(self.home),
            "PROFET_INSTANCES": str(self.home / "instances.csv"),
            # What `make app` sets for whoever opens the app at home.
            "PROFET_APP_INSTANCES": "own",
        }

    def run(self, *arguments: object, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command that succeeds."""
        done = subprocess.run(
            [sys.executable, "-m", "profet_cli", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.repository), **self.environment, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        return done

    def document(self, *arguments: object, variables: Mapping[str, str] | None = None) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.run(*arguments, "--format", "json", variables=variables).stdout)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Note how busy the machine is meanwhile."""
        yield
        self.load = max(self.load, os.getloadavg()[0])


@pytest.fixture(scope="package")
def person(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Person:
    return Person(tmp_path_factory.mktemp("person"), repository)
