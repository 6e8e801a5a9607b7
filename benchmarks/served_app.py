"""Serves the app from a process of its own, and finds a browser: for benchmarks, pictures and browser tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec

from benchmarks import REPOSITORY

SCRIPT = REPOSITORY / "streamlit_app.py"
#: A busy machine takes its time.
START_TIMEOUT_S = 60
_Options = ParamSpec("_Options")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium_path() -> str | None:
    """A Chromium that is installed, None if none is."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass(frozen=True, slots=True)
class Server:
    """A process that serves the app, and its address."""

    url: str
    process: subprocess.Popen


@contextmanager
def server_of(
    script: Path = SCRIPT,
    *,
    started_in: Path = REPOSITORY,
    port: int | None = None,
    address: str | None = "127.0.0.1",
    under: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Serve the app, on a free port if none is named, without anybody's own instances.

    It is stopped at the end.

    Parameters
    ----------
    address : that it listens at; None: none is named.
    under : a command that runs it, such as `strace`. environment : more variables.

    Raises
    ------
    RuntimeError : it did not start.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    if address is not None:
        options += ["--server.address", address]
    server = subprocess.Popen(
        [*under, sys.executable, "-m", "streamlit", "run", str(script), *options],
        cwd=started_in,
        env={**os.environ, "PROFET_INSTANCES": "", "PROFET_APP_INSTANCES": "", **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_up(url, server)
        yield Server(url, server)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _address_of(
    start: Callable[_Options, AbstractContextManager[Server]],
) -> Callable[_Options, AbstractContextManager[str]]:
    @contextmanager
    def address_of(*arguments: _Options.args, **options: _Options.kwargs) -> Iterator[str]:
        with start(*arguments, **options) as server:
            yield server.url

    return address_of


#: As `server_of`; yields the address alone.
served = _address_of(server_of)


def _wait_until_up(url: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"The app stopped at once with status {server.returncode}.")
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise RuntimeError("The app did not start.")
