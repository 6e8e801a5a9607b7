"""Connections, workers, models that load once, and what healthy means."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import psutil
import pytest

from benchmarks import REPOSITORY
from benchmarks.served_app import free_port, served_endpoint
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.custom_gpus import GPU_COLUMNS
from profet_core.catalog.instance import FILE_COLUMNS
from profet_core.errors import ArtifactError, ProfetError
from profet_core.files import manifest_checksum
from profet_core.prediction.models import load_models
from profet_http.app import Health, SharedContext, Workers, check
from profet_http.bodies import RequestError
from profet_http.connections import HEAD_LIMIT_S, MAX_CONNECTIONS, MAX_WITHOUT_HEAD
from tests.http.conftest import send

HEAD = b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n"


def connected(port: int, sent: bytes = b"", host: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=3 * HEAD_LIMIT_S, source_address=(host, 0))
    connection.sendall(sent)
    return connection


def closed_after_s(connection: socket.socket, started: float) -> float:
    while connection.recv(2**16):
        pass
    return time.monotonic() - started


def test_a_head_that_does_not_come_is_not_waited_for_and_idle_connections_keep_nobody_out():
    with served_endpoint() as port, ExitStack() as stack:
        started = time.monotonic()
        half = stack.enter_context(connected(port, HEAD))
        second = stack.enter_context(connected(port, HEAD + b"\r\n" + HEAD))
        for connection in (half, second):
            assert 0.5 * HEAD_LIMIT_S < closed_after_s(connection, started) < 2 * HEAD_LIMIT_S
        started = time.monotonic()
        idle = [stack.enter_context(connected(port)) for _ in range(MAX_WITHOUT_HEAD + 20)]
        # The oldest of one client's are closed; the others have their five seconds.
        assert all(closed_after_s(connection, started) < 0.5 * HEAD_LIMIT_S for connection in idle[:15])
        assert closed_after_s(idle[-1], started) > 0.5 * HEAD_LIMIT_S
        for place in range(MAX_CONNECTIONS + 100):
            stack.enter_context(connected(port, host=f"127.0.1.{1 + place % 20}"))
        assert send(port, "GET", "/v1/health").status == 200


def process_on(port: int) -> psutil.Process:
    """The child of this process that serves a port; other tests' servers are children too."""
    return next(child for child in psutil.Process().children() if str(port) in child.cmdline())


def workers_of(port: int) -> list[psutil.Process]:
    """The processes that answer; Python has one more that keeps track of resources."""
    return [child for child in process_on(port).children() if "spawn_main" in " ".join(child.cmdline())]


def test_a_dead_worker_is_replaced_a_hang_up_drops_nothing_and_workers_end_with_their_supervisor(asked):
    body = json.dumps(asked).encode()
    with served_endpoint(workers=2) as port:
        workers = workers_of(port)
        assert len(workers) == 2
        workers[0].kill()
        workers[0].wait()
        assert [send(port, "POST", "/v1/predict", body, "application/json").status for _ in range(4)] == [200] * 4
        begun = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        begun.putrequest("POST", "/v1/predict")
        begun.putheader("Content-Type", "application/json")
        begun.putheader("Content-Length", str(len(body)))
        begun.endheaders(body[:-1])
        time.sleep(0.5)
        workers = workers_of(port)
        for process in (process_on(port), *workers):
            process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        begun.send(body[-1:])
        assert begun.getresponse().status == 200
        begun.close()
        _, alive = psutil.wait_procs(workers, timeout=30)
        assert not alive
        assert send(port, "GET", "/v1/health").status == 200
        workers = workers_of(port)
        process_on(port).kill()
        _, alive = psutil.wait_procs(workers, timeout=15)
        assert not alive


def test_more_sockets_than_descriptors_and_clients_that_reset_fill_no_log(tmp_path):
    port, log = free_port(), tmp_path / "log"
    command = f"ulimit -n 128; exec {sys.executable} -m profet_cli serve --port {port} --workers 2"
    with log.open("w") as file:
        server = subprocess.Popen(["bash", "-c", command], cwd=REPOSITORY, stdout=file, stderr=file)
    try:
        with ExitStack() as stack:
            stack.enter_context(first_connection(port, server, log))
            started = time.monotonic()
            for place in range(400):
                stack.enter_context(connected(port, host=f"127.0.1.{1 + place % 20}"))
                connected(port, b"\0\r\n\r\n").close()
                with connected(port) as reset:
                    reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert send(port, "GET", "/v1/openapi.json").status == 200
            lines = [line for line in log.read_text().splitlines() if not line.startswith("INFO")]
            assert len(lines) <= 2 * (2 + time.monotonic() - started), "one a second of each worker"
            assert not any("Traceback" in line or line.startswith(" ") for line in lines)
    finally:
        server.terminate()
        assert server.wait(timeout=20) == 0


@pytest.mark.parametrize("command", [["serve"], ["serve", "--workers", "2"], ["app"]])
def test_a_port_in_use_is_one_line_and_one_exit_code(command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = [sys.executable, "-m", "profet_cli", *command, "--port", str(taken.getsockname()[1])]
        done = subprocess.run(line, capture_output=True, text=True, cwd=REPOSITORY, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.startswith("profet: Port ") and done.stderr.count("\n") == 1


def first_connection(port: int, server: subprocess.Popen, log: Path, sent: bytes = b"") -> socket.socket:
    """Of a server that is starting."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return connected(port, sent)
        except OSError:
            assert time.monotonic() < deadline and server.poll() is None, log.read_text()
            time.sleep(0.05)


def test_the_app_waits_for_no_head_and_logs_no_address(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    command = [sys.executable, "-m", "profet_cli", "app", "--port", str(port)]
    with log.open("w") as file:
        server = subprocess.Popen(command, cwd=REPOSITORY, stdout=file, stderr=file)
    try:
        connection = first_connection(port, server, log, HEAD)
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
    assert answer.status == 400 and "JSON is malformed" in answer.error


@pytest.fixture
def folder(repository, tmp_path):
    """A copy of the shipped models."""
    return shutil.copytree(repository / "models", tmp_path / "models")


def context(folder, catalog) -> Context:
    return Context(load_models(folder), catalog, load_gpus())


def damage(folder) -> None:
    """One bit of one network."""
    path = folder / next(iter(json.loads((folder / "manifest.json").read_bytes())["files"]))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_whole_server_is_healthy(get):
    answer = get("/v1/health")
    assert (answer.status, answer.document["status"]) == (200, "ok")
    assert answer.document["predicted"] >= 4


def test_models_that_are_damaged_while_they_are_served_are_found(folder, catalog):
    served = context(folder, catalog)
    assert check(served)["status"] == "ok"
    damage(folder)
    with pytest.raises(ArtifactError):
        check(served)


def test_models_that_predict_something_else_are_found_though_every_checksum_is_right(folder, catalog):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for row in manifest["stacks"]:
        row["targets"].reverse()
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    load_models(folder).verify()
    with pytest.raises(ProfetError):
        check(context(folder, catalog))


def test_a_server_with_damaged_models_starts_says_so_and_answers_nothing(folder, asked):
    damage(folder)
    with served_endpoint(PROFET_HOME=str(folder)) as port:
        for answer in (
            send(port, "GET", "/v1/health"),
            send(port, "POST", "/v1/predict", json.dumps(asked).encode(), "application/json"),
        ):
            assert answer.status == 503 and str(folder) not in answer.error and answer.headers["retry-after"]
        assert send(port, "GET", "/v1/openapi.json").status == 200


def test_models_are_checked_once_and_a_failed_loading_is_not_repeated(catalog, models):
    loads = []

    def load() -> Context:
        loads.append(1)
        return Context(models, catalog, load_gpus())

    async def asked_often() -> list:
        health = Health(load)
        return await asyncio.gather(*(health.document() for _ in range(50)))

    documents = asyncio.run(asked_often())
    assert len(loads) == 1 and all(document == documents[0] and document["status"] == "ok" for document in documents)

    def fail() -> Context:
        loads.append(1)
        raise ArtifactError("There are no models.")

    shared = SharedContext(fail)
    for _ in range(50):
        with pytest.raises(ArtifactError, match="no models"):
            shared.get()
    assert len(loads) == 2


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    """The file of who runs the server."""
    path = tmp_path / "instances.csv"
    path.write_text(f"{','.join(FILE_COLUMNS)}\nmy.l4,L4,1,24,8,0.5,us-east-1,linux,on-demand,available,2026,mine\n")
    monkeypatch.setenv("PROFET_INSTANCES", str(path))
    monkeypatch.delenv("PROFET_APP_INSTANCES", raising=False)
    return str(path)


def test_own_instances_are_not_shown_unless_they_are_for_everyone(own, tmp_path, monkeypatch, caplog):
    assert list(SharedContext().get().catalog) == list(load_shipped())
    for shown in ("own", own):
        monkeypatch.setenv("PROFET_APP_INSTANCES", shown)
        assert "my.l4" in SharedContext().get().catalog
    # A damaged one is skipped, and the log doesn't say where it is.
    path = tmp_path / "broken.csv"
    path.write_text("instance,gpu\nmy.l4,none\n")
    monkeypatch.setenv("PROFET_APP_INSTANCES", str(path))
    assert list(SharedContext().get().catalog) == list(load_shipped())
    (line,) = caplog.messages
    assert "broken" not in line


@pytest.mark.parametrize(("like", "is_shown"), [("GeForce RTX 2080 Ti", True), ("no such GPU", False)])
def test_gpus_of_one_s_own_are_shown_with_the_instances_beside_them(own, tmp_path, monkeypatch, caplog, like, is_shown):
    row = dict.fromkeys(GPU_COLUMNS, "") | {"gpu": "Quadro RTX 4000", "like": like, "memory_gib": "16"}
    (tmp_path / "gpus.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    assert "quadro-rtx-4000" not in SharedContext().get().catalog
    monkeypatch.setenv("PROFET_APP_INSTANCES", own)
    known = SharedContext().get()
    assert "my.l4" in known.catalog
    assert ("quadro-rtx-4000" in known.catalog) == is_shown == ("Quadro RTX 4000" in known.models.transfer.gpus)
    assert len(caplog.messages) == (not is_shown)


def test_who_finds_no_place_comes_back_and_what_takes_too_long_keeps_its_place():
    ended = Event()

    async def hang() -> None:
        workers = Workers("test", threads=1, places=2, limit_s=0.05)
        for work in (ended.wait, lambda: None):
            # The second waits in the queue, and leaves it.
            with pytest.raises(RequestError, match="too long"):
                await workers.run(work)
        waiting = asyncio.create_task(workers.run(lambda: None))
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="busy") as refused:
            await workers.run(lambda: None)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "2")
        ended.set()
        await waiting
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)

    try:
        asyncio.run(hang())
    finally:
        ended.set()
