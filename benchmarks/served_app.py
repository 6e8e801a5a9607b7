"""Serves the app or the endpoint from a process of its own, and finds a browser: for benchmarks, pictures and tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import REPOSITORY

SCRIPT = REPOSITORY / "streamlit_app.py"
#: A busy machine takes its time.
START_TIMEOUT_S = 60
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium_path() -> str | None:
    """Find a Chromium that is installed, None if none is."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(
    script: Path = SCRIPT,
    *,
    address: str | None = "127.0.0.1",
    under: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Serve the app on a free port, without anybody's own instances; yields its address and stops it at the end.

    Parameters
    ----------
    address : that it listens at; None: none is named.
    under : a command that runs it, such as `strace`.
    environment : more variables.

    Raises
    ------
    RuntimeError : it did not start.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    if address is not None:
        options += ["--server.address", address]
    command = [*under, sys.executable, "-m", "streamlit", "run", str(script), *options]
    with _running(command, f"{url}/_stcore/health", environment or {}):
        yield url


@contextmanager
def served_endpoint(workers: int = 1, **environment: str) -> Iterator[int]:
    """Serve the endpoint alone on a free port, healthy or not; yields the port and stops it at the end."""
    port = free_port()
    command = [sys.executable, "-m", "profet_cli", "serve", "--port", str(port), "--workers", str(workers)]
    with _running(command, f"http://127.0.0.1:{port}/v1/openapi.json", environment):
        yield port


@contextmanager
def _running(command: Sequence[str], address: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a server, from when `address` is answered; it is stopped at the end."""
    server = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PROFET_INSTANCES": "", "PROFET_APP_INSTANCES": "", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _is_answered(address):
            if server.poll() is not None:
                raise RuntimeError(f"The server stopped at once with status {server.returncode}.")
            if time.monotonic() > deadline:
                raise RuntimeError("The server did not start.")
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _is_answered(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True
