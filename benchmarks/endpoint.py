"""Predictions a second over HTTP, client and server on the same cores: `python -m benchmarks.endpoint`.

Requests are due at a steady rate, whether or not those before them are answered, and a latency counts from when its
request was due; so a server that falls behind shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from benchmarks import REPOSITORY
from profet_core.artifacts.samples import load_samples

START_TIMEOUT_S = 60
WARM_UP_S = 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """Requests a second, for how long, over how many connections."""

    rate: float
    seconds: float
    connections: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What came back: latencies in milliseconds, failures, and the client's own processor time, seconds."""

    latencies_ms: list[float]
    failures: int
    wall_s: float
    client_cpu_s: float

    def percentile_ms(self, share: float) -> float:
        """The latency that this share of all requests stays below, milliseconds."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    """Serve, load, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=300, help="predictions a second (default: 300)")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2, help="processes of the server (default: 2)")
    options = parser.parse_args()
    with served_endpoint(options.workers) as port:
        asyncio.run(loaded(port, Load(options.rate, WARM_UP_S, options.connections)))
        before_s = children_cpu_s()
        found = asyncio.run(loaded(port, Load(options.rate, options.seconds, options.connections)))
        server_cpu_s = children_cpu_s() - before_s
    done = len(found.latencies_ms)
    print(f"{done / found.wall_s:.0f} predictions a second answered, {options.rate:.0f} asked; {found.failures} failed")
    print(f"p50 {found.percentile_ms(0.5):.1f} ms, p95 {found.percentile_ms(0.95):.1f} ms, ", end="")
    print(f"p99 {found.percentile_ms(0.99):.1f} ms; the client took {found.client_cpu_s / found.wall_s:.0%} of a core")
    print(f"processor time of a prediction: {1000 * server_cpu_s / done:.1f} ms on the server")


@contextmanager
def served_endpoint(workers: int = 1, **environment: str) -> Iterator[int]:
    """Serve the endpoint alone on a free port, healthy or not; yields the port and stops it at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "profet_cli", "serve", "--port", str(port), "--workers", str(workers)]
    server = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PROFET_INSTANCES": "", "PROFET_APP_INSTANCES": "", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_up(port, server)
        yield port
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_until_up(port: int, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"The endpoint stopped at once with status {server.returncode}.")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/openapi.json", timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("The endpoint did not start.")


async def loaded(port: int, load: Load) -> Measured:
    """Put a load on a server on this machine."""
    due: asyncio.Queue[float | None] = asyncio.Queue()
    requests = cycle(_requests())
    found: list[float] = []
    failures = 0

    async def connection() -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (due_s := await due.get()) is not None:
            writer.write(next(requests))
            if await _answered(reader):
                found.append((time.perf_counter() - due_s) * 1000)
            else:
                failures += 1
        writer.close()

    cpu_s, start_s = _cpu_s(), time.perf_counter()
    connections = [asyncio.create_task(connection()) for _ in range(load.connections)]
    for number in range(int(load.rate * load.seconds)):
        due_s = start_s + number / load.rate
        await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        due.put_nowait(due_s)
    for _ in connections:
        due.put_nowait(None)
    await asyncio.gather(*connections)
    return Measured(found, failures, time.perf_counter() - start_s, _cpu_s() - cpu_s)


def _requests() -> list[bytes]:
    """A prediction of every sample, as bytes on the wire."""
    return [_request(sample.anchor, sample.latency_ms, json.loads(sample.data)) for sample in load_samples()]


def _request(anchor: str, latency_ms: float, profile: object) -> bytes:
    body = json.dumps({"profile": profile, "anchor": anchor, "latency_ms": latency_ms}).encode()
    head = (
        "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answered(reader: asyncio.StreamReader) -> bool:
    """Take one answer; whether it is a prediction."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    body = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and b'"predictions"' in body


def children_cpu_s() -> float:
    """Processor time of the processes that this one has started, and those of theirs, seconds; Linux alone tells it."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    times_s: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _, parent, *values = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(parent)
            times_s[int(path.parent.name)] = tick_s * (int(values[9]) + int(values[10]))

    def is_ours(process: int) -> bool:
        parent = parents.get(process, 0)
        return parent == os.getpid() or (parent > 1 and is_ours(parent))

    return sum(value for process, value in times_s.items() if is_ours(process))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
