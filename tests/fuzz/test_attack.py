"""The whole app under attack: no more readers than may be, and visitors are served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.served_app import Server, server_of
from benchmarks.visitor import RunFailedError, Visitor
from benchmarks.visitors import LATENCY, SAMPLE, Seen, memory_mib, page, visit
from profet_core.sandbox.waiting import AT_ONCE
from tests.fuzz.wide_files import wide_files

ACTIONS = (page("predict"), SAMPLE, LATENCY, SAMPLE, LATENCY, page("compare"), page("sizes"))


def test_visitors_are_served_while_hostile_files_are_read():
    data = wide_files()["TensorFlow trace, entries of many lists"]()
    with server_of() as server:
        # A busy machine takes longer until somebody is served and something is read.
        for seconds in (6.0, 30.0, 120.0):
            seen, attack = asyncio.run(_measured(server, 1, seconds, [data] * 4))
            if seen.every_action_s and attack.readers:
                break
    assert seen.failures == [] and seen.every_action_s
    assert 1 <= attack.readers <= AT_ONCE
    assert attack.readers_mib < 250 * AT_ONCE


@dataclass
class Attack:
    """What came of the attackers' uploads.

    Attributes
    ----------
    readers_mib : largest memory of all readers of the server together. readers : most of them at once.
    """

    readers_mib: float = 0.0
    readers: int = 0


async def _measured(server: Server, visitors: int, seconds: float, files: Sequence[bytes]) -> tuple[Seen, Attack]:
    """Times of that many visitors who act every second or so, while each of `files` is uploaded again and again."""
    seen, attack = Seen(), Attack()
    attackers = [asyncio.create_task(_attack(server.url, data)) for data in files]
    watcher = asyncio.create_task(_watch(server, attack))
    await asyncio.sleep(3)
    window = (time.perf_counter() + 2, time.perf_counter() + 2 + seconds)
    await asyncio.gather(*(visit(server.url, ACTIONS, number, 1.0, window, seen) for number in range(visitors)))
    for task in (*attackers, watcher):
        task.cancel()
    await asyncio.gather(*attackers, watcher, return_exceptions=True)
    return seen, attack


async def _attack(url: str, data: bytes) -> None:
    while True:
        try:
            async with Visitor(url) as visitor:
                await visitor.open_page()
                await visitor.open_page("compare")
                (key,) = (key for key in visitor.widgets if ":file:" in key)
                await visitor.upload(key, "trace", data)
        except (RunFailedError, OSError, TimeoutError, ValueError):
            # A refusal is one line on the page, which a visitor takes for a failure.
            pass


async def _watch(server: Server, attack: Attack) -> None:
    while True:
        readers = []
        for child in _children(server.process.pid):
            try:
                readers.append(memory_mib(child))
            except OSError:
                continue
        attack.readers = max(attack.readers, len(readers))
        attack.readers_mib = max(attack.readers_mib, sum(readers))
        await asyncio.sleep(0.2)


def _children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
