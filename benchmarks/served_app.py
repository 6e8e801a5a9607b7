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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import REPOSITORY

SCRIPT = REPOSITORY / "streamlit_app.py"
#: A busy machine takes its time.
START_TIMEOUT_S = 60
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium_path() -> str | None:
    """A Chromium that is installed, None if none is."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


@dataclass(frozen=True, slots=True)
class Server:
    """A process that serves the app, and its address."""

    url: str
    process: subprocess.Popen


@contextmanager
def served(script: Path = SCRIPT, *, started_in: Path = REPOSITORY) -> Iterator[str]:
    """Serve the app on a free port, without anybody's own instances; yields its address and stops it at the end.

    Raises
    ------
    RuntimeError : it did not start.
    """
    with server_of(script, started_in=started_in) as server:
        yield server.url


@contextmanager
def server_of(
    script: Path = SCRIPT,
    *,
    started_in: Path = REPOSITORY,
    address: str | None = "127.0.0.1",
    under: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """As `served`, with the process.

    Parameters
    ----------
    address : that it listens at; None: none is named.
    under : a command that runs it, such as `strace`. environment : more variables.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    if address is not None:
        options += ["--server.address", address]
    server = subprocess.Popen(
        [*under, sys.executable, "-m", "streamlit", "run", str(script), *options],
        cwd=started_in,
        env={**os.environ, "PROFET_INSTANCES": "", **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_up(url, server)
        yield Server(url, server)
    finally:
        server.terminate()
        server.wait(timeout=20)


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
