"""Runs `profet profile` in forks of a process that has loaded a framework, which takes longer than a small script."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

#: Longer than any script takes, on a machine that is busy.
TIMEOUT_S = 280


class Preloaded:
    """A process that has imported `modules`; `run` forks it for one command."""

    def __init__(self, modules: tuple[str, ...], environment: Mapping[str, str], repository: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=repository,
        )

    def run(self, arguments: list[str], folder: Path, out: Path, err: Path) -> int:
        """The exit status of `profet` with these arguments in this folder."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([arguments, str(folder), str(out), str(err)]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def _serve(modules: list[str]) -> None:
    for name in modules:
        importlib.import_module(name)
    for line in sys.stdin:
        arguments, folder, out, err = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(arguments, folder, out, err)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(arguments: list[str], folder: str, out: str, err: str) -> None:
    """This process is the command from here on."""
    signal.alarm(TIMEOUT_S)
    os.chdir(folder)
    for number, (path, mode) in enumerate([(os.devnull, os.O_RDONLY), (out, os.O_WRONLY), (err, os.O_WRONLY)]):
        os.dup2(os.open(path, mode | os.O_CREAT), number)
    sys.argv = ["profet", *arguments]
    from profet_cli.main import main

    sys.exit(main())


if __name__ == "__main__":
    _serve(sys.argv[1:])
