"""Visitors' actions while the worst files are uploaded: `python -m benchmarks.attack`.

A few visitors act; then eight others upload, each one file made to take much memory or time again and again, as fast as
the server takes them. Told are the visitors' times without and with them, and what server and readers took of memory.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import LATENCY, SAMPLE, Seen, memory_mib, page, visit
from benchmarks.served_app import Server, server_of
from benchmarks.visitor import RunFailedError, Visitor
from benchmarks.wide_files import wide_files

#: One of each format, those that take most of memory, of time, or of both.
WORST = (
    "PyTorch trace, 9,000 steps over 9,000 threads",
    "xplane, 15,000 threads that mark 500 steps",
    "TensorFlow trace, 49,000 long operations",
    "TensorFlow trace, entries of many lists",
    "TensorFlow trace, entries of many objects",
    "PyTorch trace, entries of lists that are kept",
    "PROFET JSON, objects",
    "zip of 2,000 profiles",
)
ACTIONS = (page("predict"), SAMPLE, LATENCY, SAMPLE, LATENCY, page("compare"), page("sizes"))


@dataclass
class Attack:
    """What came of the attackers' uploads.

    Attributes
    ----------
    ended : name of a file -> how often the page ended with it, read or refused.
    server_mib, readers_mib : largest memory of the server, and of all its readers together.
    readers : most of them at once.
    """

    ended: dict[str, int] = field(default_factory=dict)
    server_mib: float = 0.0
    readers_mib: float = 0.0
    readers: int = 0


async def measure(
    server: Server, visitors: int, seconds: float, files: Sequence[tuple[str, bytes]]
) -> tuple[Seen, Attack]:
    """Times of that many visitors who act every second or so, while each of `files` is uploaded again and again."""
    seen, attack = Seen(), Attack()
    attackers = [asyncio.create_task(_attack(server.url, name, data, attack)) for name, data in files]
    watcher = asyncio.create_task(_watch(server, attack))
    await asyncio.sleep(3)
    window = (time.perf_counter() + 2, time.perf_counter() + 2 + seconds)
    await asyncio.gather(*(visit(server.url, ACTIONS, number, 1.0, window, seen) for number in range(visitors)))
    for task in (*attackers, watcher):
        task.cancel()
    await asyncio.gather(*attackers, watcher, return_exceptions=True)
    return seen, attack


async def _attack(url: str, name: str, data: bytes, attack: Attack) -> None:
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
        attack.ended[name] = attack.ended.get(name, 0) + 1


async def _watch(server: Server, attack: Attack) -> None:
    while True:
        attack.server_mib = max(attack.server_mib, memory_mib(server.process.pid))
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


def main() -> None:
    """Measure quiet and under attack, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("--visitors", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long actions are timed, each time")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    makers = wide_files()
    files = [(name, makers[name]()) for name in WORST]
    print(f"{len(files)} files of {sum(len(data) for _, data in files) / 1e6:.0f} MB in all", flush=True)
    ratios = []
    with server_of() as server:
        for _ in range(options.repeats):
            quiet, _ = asyncio.run(measure(server, options.visitors, options.seconds, ()))
            under, attack = asyncio.run(measure(server, options.visitors, options.seconds, files))
            middle = [statistics.median(seen.every_action_s) for seen in (quiet, under)]
            ratios.append(middle[1] / middle[0])
            print(
                f"quiet {middle[0]:.3f} s of {len(quiet.every_action_s)} actions, under attack {middle[1]:.3f} s of "
                f"{len(under.every_action_s)}: {ratios[-1]:.2f} times; lost {len(quiet.failures)} and "
                f"{len(under.failures)}; uploads ended {sum(attack.ended.values())}; at most {attack.readers} readers, "
                f"{attack.readers_mib:.0f} MiB, the server {attack.server_mib:.0f} MiB",
                flush=True,
            )
    print(f"median of {options.repeats}: {statistics.median(ratios):.2f} times the usual time (at most 2)")


if __name__ == "__main__":
    main()
