"""Serves the app or the endpoint from a process of its own, and finds a browser: for benchmarks, pictures and tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
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
    command = [*under, sys.executable, "-m", "streamlit", "run", str(script), *options]
    with _running(command, f"{url}/_stcore/health", started_in, environment or {}) as process:
        yield Server(url, process)


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


@contextmanager
def served_endpoint(workers: int = 1, **environment: str) -> Iterator[int]:
    """Serve the endpoint alone on a free port, healthy or not; yields the port and stops it at the end."""
    port = free_port()
    command = [sys.executable, "-m", "profet_cli", "serve", "--port", str(port), "--workers", str(workers)]
    with _running(command, f"http://127.0.0.1:{port}/v1/openapi.json", REPOSITORY, environment):
        yield port


@contextmanager
def _running(
    command: Sequence[str], address: str, started_in: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen]:
    """A server, from when `address` is answered; it is stopped at the end.

    Raises
    ------
    RuntimeError : it did not start.
    """
    server = subprocess.Popen(
        command,
        cwd=started_in,
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
        yield server
    finally:
        server.terminate()
        server.wait(timeout=20)


def _is_answered(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True
