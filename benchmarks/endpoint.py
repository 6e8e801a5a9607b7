"""Answers a second over HTTP, client and server on the same cores."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from itertools import cycle

from profet_core.artifacts.samples import load_samples


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers a second, and the 95th percentile of their latencies, milliseconds."""

    per_s: float
    p95_ms: float


async def answers(port: int, question: str, connections: int, seconds: float) -> Answered:
    """Ask about every sample in turn, each connection again as soon as it is answered.

    Parameters
    ----------
    question : "predict" or "advise".

    Raises
    ------
    RuntimeError : an answer is no answer.
    """
    requests = cycle(_requests(question))
    found_ms: list[float] = []
    started = time.perf_counter()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (asked := time.perf_counter()) < started + seconds:
            writer.write(next(requests))
            await _take_answer(reader)
            found_ms.append(1000 * (time.perf_counter() - asked))
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    took_s = time.perf_counter() - started
    return Answered(len(found_ms) / took_s, sorted(found_ms)[int(0.95 * len(found_ms))])


def _requests(question: str) -> list[bytes]:
    """A request about every sample, as bytes on the wire."""
    more = {"advise": {"images": 50_000}}.get(question, {})
    found = []
    for sample in load_samples():
        asked = {"profile": json.loads(sample.data), "anchor": sample.anchor, "latency_ms": sample.latency_ms, **more}
        body = json.dumps(asked).encode()
        head = (
            f"POST /v1/{question} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


async def _take_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(body.decode(errors="replace")[:300])
