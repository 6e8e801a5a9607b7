"""Connections: heads that don't come, too many at once, and two workers that share them."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import psutil
import pytest

from benchmarks import REPOSITORY
from benchmarks.served_app import free_port, served_endpoint
from profet_http.serving import HEAD_LIMIT_S, MAX_CONNECTIONS
from tests.http.conftest import send

HEAD = b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n"


def connected(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=3 * HEAD_LIMIT_S)
    connection.sendall(sent)
    return connection


def closed_after_s(connection: socket.socket, started: float) -> float:
    while connection.recv(2**16):
        pass
    return time.monotonic() - started


def test_a_head_that_does_not_come_is_not_waited_for_and_too_many_connections_get_json():
    with served_endpoint() as port, ExitStack() as stack:
        started = time.monotonic()
        idle = [stack.enter_context(connected(port)) for _ in range(MAX_CONNECTIONS - 2)]
        half = stack.enter_context(connected(port, HEAD))
        second = stack.enter_context(connected(port, HEAD + b"\r\n" + HEAD))
        answer = send(port, "GET", "/v1/health")
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert answer.document == {"error": "The server is busy: try again in a moment.", "code": "busy"}
        for connection in (idle[0], idle[-1], half, second):
            assert 0.5 * HEAD_LIMIT_S < closed_after_s(connection, started) < 2 * HEAD_LIMIT_S
        assert send(port, "GET", "/v1/health").status == 200


def process_on(port: int) -> psutil.Process:
    """The child of this process that serves a port; other tests' servers are children too."""
    return next(child for child in psutil.Process().children() if str(port) in child.cmdline())


def test_connections_are_handed_to_workers_in_turn_and_a_dead_worker_is_replaced(asked):
    with served_endpoint(workers=2) as port, ExitStack() as stack:
        dispatcher = process_on(port)
        workers = dispatcher.children()
        assert len(workers) == 2
        kept = []
        for _ in range(8):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            stack.callback(connection.close)
            connection.request("GET", "/v1/openapi.json")
            assert connection.getresponse().read()
            kept.append(connection)
        shares = [sum(one.laddr.port == port for one in worker.net_connections()) for worker in workers]
        assert abs(shares[0] - shares[1]) <= 1 and sum(shares) >= 8
        workers[0].kill()
        workers[0].wait()
        body = json.dumps(asked).encode()
        assert [send(port, "POST", "/v1/predict", body, "application/json").status for _ in range(4)] == [200] * 4
        assert len([one for one in dispatcher.children() if one.status() != psutil.STATUS_ZOMBIE]) == 2
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive


def test_workers_end_when_their_dispatcher_is_killed():
    with served_endpoint(workers=2) as port:
        dispatcher = process_on(port)
        workers = dispatcher.children()
        dispatcher.kill()
        _, alive = psutil.wait_procs(workers, timeout=15)
        assert not alive


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "profet_cli", "serve", "--port", str(taken.getsockname()[1]), "--workers", "2"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.startswith("profet: Port ") and done.stderr.count("\n") == 1


def test_the_app_waits_for_no_head_and_logs_no_address(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    command = [sys.executable, "-m", "profet_cli", "app", "--port", str(port)]
    with log.open("w") as file:
        server = subprocess.Popen(command, cwd=REPOSITORY, stdout=file, stderr=file)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                connection = connected(port, HEAD)
                break
            except OSError:
                assert time.monotonic() < deadline and server.poll() is None, log.read_text()
                time.sleep(0.05)
        started = time.monotonic()
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        upgrade["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
        for origin, status in (("http://elsewhere.example", 403), (f"http://127.0.0.1:{port}", 101)):
            asking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            asking.request("GET", "/_stcore/stream", headers={**upgrade, "Origin": origin})
            assert asking.getresponse().status == status
            asking.close()
        with connection:
            assert 0.5 * HEAD_LIMIT_S < closed_after_s(connection, started) < 2 * HEAD_LIMIT_S
    finally:
        server.terminate()
        server.wait(timeout=20)
    # The address at which it listens is the first line's.
    assert "WebSocket" not in log.read_text() and "/_stcore/stream" not in log.read_text()


@pytest.mark.parametrize("profile", ['{"\\ud800": 1}', '{"Device_Conv2D": 1, "\\ud800": 1}', '[{"a": "\\udfff"}]'])
@pytest.mark.parametrize("path", ["predict", "scaleout"])
def test_half_of_a_surrogate_pair_is_no_fault_of_the_server(path, profile, port):
    body = f'{{"profile": {profile}, "anchor": "g4dn.xlarge"}}'.encode()
    answer = send(port, "POST", f"/v1/{path}", body, "application/json")
    assert answer.status == 400 and "surrogate" in answer.error
