"""Somebody at a machine of their own, who has nothing but the `profet` command and a folder."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: A busy machine takes its time.
TIMEOUT_S = 1_800


@dataclass(frozen=True)
class Load:
    """CPU seconds of the machine's cores since boot, for any program, and the time of the reading."""

    busy_s: float
    at_s: float

    @classmethod
    def now(cls) -> Load:
        """Until now."""
        with Path("/proc/stat").open() as file:
            user, nice, system, _idle, _iowait, *rest = map(int, file.readline().split()[1:9])
        return cls((user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), time.monotonic())

    def others_share(self, before: Load, own_s: float) -> float:
        """Share of all cores since then that went to others than those that took `own_s`."""
        others_s = max(self.busy_s - before.busy_s - own_s, 0.0)
        return others_s / ((self.at_s - before.at_s) * (os.cpu_count() or 1))


@dataclass
class Person:
    """Runs commands in a folder, with models and instances of their own.

    Attributes
    ----------
    others_share : of the machine's processors, the most that other programs had during a measurement.
    """

    folder: Path
    repository: Path
    others_share: float = field(default=0.0, init=False)

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
        """Note what other programs have of the machine meanwhile, where the system tells."""
        if not Path("/proc/stat").exists():
            yield
            return
        before, own_s = Load.now(), _commands_s()
        yield
        self.others_share = max(self.others_share, Load.now().others_share(before, _commands_s() - own_s))


def _commands_s() -> float:
    """Processor time of all commands that ended, and of what they ran."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="package")
def person(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Person:
    return Person(tmp_path_factory.mktemp("person"), repository)
