"""A prediction and a starting server ask no outside host; what a served session asks is in tests/browser."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from benchmarks.served_app import served
from tests.made.asked import Asked

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def asked(tmp_path) -> Asked:
    return Asked(tmp_path)


def run(asked: Asked, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**asked.environment, "HOME": str(asked.folder / "home"), "PATH": "/usr/bin:/bin"}
    command = (*asked.under, sys.executable, *command)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_a_prediction_asks_nobody_and_leaves_nothing_behind(asked, samples):
    sample = next(iter(samples.values()))
    (asked.folder / "home").mkdir()
    arguments = ["predict", str(sample.path), "--anchor", sample.anchor]
    done = run(asked, "-m", "profet_cli", *arguments)
    assert done.returncode == 0, done.stderr
    assert asked.hosts == []
    assert list((asked.folder / "home").iterdir()) == []


def test_what_is_asked_by_name_or_number_from_python_or_native_code_is_seen(asked):
    code = """
import ctypes, socket
for ask in (lambda: socket.getaddrinfo("profet.invalid", 80), lambda: socket.gethostbyname("other.invalid")):
    try:
        ask()
    except OSError:
        pass
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
libc = ctypes.CDLL(None)
address = (2).to_bytes(2, "little") + (9).to_bytes(2, "big") + bytes([192, 0, 2, 7]) + bytes(8)
libc.connect(libc.socket(2, 2, 0), address, len(address))
"""
    assert run(asked, "-c", code).returncode == 0
    assert {"profet.invalid", "other.invalid", "192.0.2.1"} <= asked.outside
    if not asked.under:
        pytest.skip("strace is not installed: sudo apt-get install strace")
    assert "192.0.2.7" in asked.outside


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", None], ids=["a page's", "the image's", "none named"])
def test_neither_a_starting_server_nor_a_browser_from_elsewhere_makes_it_ask_anybody(asked, address):
    with served(address=address, under=asked.under, environment=asked.environment) as url:
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=20)
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        key = {"Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Origin": "http://elsewhere.example"}
        connection.request("GET", "/_stcore/stream", headers={**upgrade, **key})
        assert connection.getresponse().status == 403
        connection.close()
        # The first answer is drawn before anybody asks for it.
        deadline = time.monotonic() + 60
        while b"first-paint" not in urllib.request.urlopen(url).read():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert asked.outside == set()
