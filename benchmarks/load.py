"""Many visitors at once, beside a bare page under the same load: `python -m benchmarks.load --sessions 25 50 100`.

Each visitor opens the app, then acts every few seconds: chooses, types, slides, goes from page to page, uploads. An
action's time is from sending it until all of the changed page has arrived. Visitors and server share the machine; what
the visitors themselves take of it is told.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks import REPOSITORY
from benchmarks.served_app import SCRIPT, Server, server_of
from benchmarks.visitor import RunFailedError, Visitor
from profet_core.artifacts.samples import load_samples
from ui.inputs.sizes import STOPS

#: Served from its own folder, with Streamlit's own settings.
BARE_PAGE = REPOSITORY / "benchmarks" / "bare_page.py"
#: Visitors come one by one, so that the load is that of actions and not of first pages.
ARRIVAL_S = 0.4


@dataclass(frozen=True, slots=True)
class Action:
    """Something a visitor does; `run` gives the seconds it took."""

    name: str
    run: Callable[[Visitor, random.Random], Awaitable[float]]


def page(name: str) -> Action:
    """Go to a page."""
    return Action(f"open {name}", lambda visitor, _: visitor.open_page(name))


async def _upload(visitor: Visitor, chance: random.Random) -> float:
    sample = chance.choice(load_samples())
    own = sample.path.read_bytes().replace(b"{", b'{"Device_MadeUp":%d,' % chance.randint(1, 10**6), 1)
    (key,) = (key for key in visitor.widgets if ":file:" in key)
    return await visitor.upload(key, f"{sample.name}.json", own)


SAMPLE = Action(
    "another sample", lambda visitor, chance: visitor.choose("sample", chance.choice(visitor.widgets["sample"].options))
)
LATENCY = Action("another latency", lambda visitor, chance: visitor.enter("latency", round(chance.uniform(20, 400), 1)))
SLIDER = Action("the slider", lambda visitor, chance: visitor.slide("slider:batch", chance.choice(STOPS["batch"])))
EPOCHS = Action("more epochs", lambda visitor, chance: visitor.enter("epochs", chance.randint(1, 200)))
UPLOAD = Action("an upload", _upload)

#: A visitor does one after the other, again and again; each part begins on a page of its own.
PARTS: tuple[tuple[Action, ...], ...] = (
    (page("predict"), SAMPLE, LATENCY, SAMPLE, LATENCY, LATENCY),
    (page("sizes"), SLIDER, SLIDER, SLIDER, SLIDER),
    (page("predict"), EPOCHS, EPOCHS, EPOCHS),
    (page("compare"), UPLOAD),
    (page("about"), page("predict"), page("sizes")),
)


def actions_of(number: int) -> tuple[Action, ...]:
    """What a visitor does, each beginning with another part."""
    first = number % len(PARTS)
    return tuple(action for part in (*PARTS[first:], *PARTS[:first]) for action in part)


@dataclass
class Seen:
    """What visitors saw; times in seconds, those of actions by what was done."""

    first_page_s: list[float] = field(default_factory=list)
    action_s: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def every_action_s(self) -> list[float]:
        """Of every kind."""
        return [seconds for of_kind in self.action_s.values() for seconds in of_kind]


@dataclass(frozen=True, slots=True)
class Level:
    """One load.

    Attributes
    ----------
    server_share, client_share : of one processor, while actions were timed.
    server_mib : memory of the server at the end.
    """

    visitors: int
    seen: Seen
    server_share: float
    client_share: float
    server_mib: float


async def visit(
    url: str,
    actions: tuple[Action, ...],
    number: int,
    interval_s: float,
    window: tuple[float, float],
    seen: Seen,
    rounds: int | None = None,
) -> None:
    """One visitor, who stays until the end of `window`, or does all `actions` so many `rounds` times.

    Actions that are due within `window`, on the clock of `time.perf_counter`, are counted.
    """
    chance = random.Random(number)
    try:
        async with Visitor(url) as visitor:
            seen.first_page_s.append(await visitor.open_page())
            due = time.perf_counter() + chance.uniform(0, interval_s)
            for action in cycle(actions) if rounds is None else actions * rounds:
                if due > window[1]:
                    return
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                seconds = await action.run(visitor, chance)
                if due >= window[0]:
                    seen.action_s.setdefault(action.name, []).append(seconds)
                due = max(due + interval_s, time.perf_counter())
    except (RunFailedError, OSError, TimeoutError, KeyError, ValueError) as error:
        seen.failures.append(f"{type(error).__name__}: {error}")


async def run_level(server: Server, bare: bool, visitors: int, interval_s: float, seconds: float) -> Level:
    """That many visitors at once."""
    seen = Seen()
    begin = time.perf_counter() + visitors * ARRIVAL_S + interval_s
    window = (begin, begin + seconds)

    async def arrive(number: int) -> None:
        await asyncio.sleep(number * ARRIVAL_S)
        actions = (SLIDER,) if bare else actions_of(number)
        await visit(server.url, actions, number, interval_s, window, seen)

    every = [asyncio.create_task(arrive(number)) for number in range(visitors)]
    await asyncio.sleep(begin - time.perf_counter())
    before = cpu_s(server.process.pid), time.process_time(), time.perf_counter()
    await asyncio.sleep(window[1] - time.perf_counter())
    passed = time.perf_counter() - before[2]
    shares = (cpu_s(server.process.pid) - before[0]) / passed, (time.process_time() - before[1]) / passed
    await asyncio.gather(*every)
    return Level(visitors, seen, *shares, memory_mib(server.process.pid))


async def come_and_go(url: str, visits: int, at_once: int, seen: Seen) -> None:
    """That many visitors, few at a time; each opens the app, acts on one page and leaves."""
    gate = asyncio.Semaphore(at_once)

    async def short(number: int) -> None:
        async with gate:
            window = (time.perf_counter(), time.perf_counter() + 2)
            await visit(url, actions_of(number), number, 0.5, window, seen)

    await asyncio.gather(*(short(number) for number in range(visits)))


def cpu_s(pid: int) -> float:
    """Processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, nargs="*", default=[25, 50, 100], help="visitors at once, a row each")
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between a visitor's actions")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long actions are timed")
    parser.add_argument("--visits", type=int, default=0, help="that many visitors come and go; prints the memory")
    parser.add_argument("--no-bare", action="store_true", help="the app alone, without the bare page")
    parser.add_argument("--by-action", action="store_true", help="a row for each kind of action too")
    options = parser.parse_args()
    served = [("app", SCRIPT, False)] + ([] if options.no_bare else [("bare page", BARE_PAGE, True)])
    print(f"{'':<22} {'sessions':>8} {'actions':>8} {'p50 s':>7} {'p95 s':>7} {'first p50':>9} {'lost':>5}"
          f" {'server':>7} {'client':>7} {'MiB':>6}")  # fmt: skip
    for visitors in options.sessions:
        for name, script, bare in served:
            with server_of(script, started_in=script.parent) as server:
                level = asyncio.run(run_level(server, bare, visitors, options.interval, options.seconds))
            _print_level(name, level, options.by_action)
    if options.visits:
        _print_visits(options.visits)


def _print_level(name: str, level: Level, by_action: bool) -> None:
    seen = level.seen
    print(_row(name, level.visitors, seen.every_action_s, seen.first_page_s, len(seen.failures))
          + f" {level.server_share:>6.0%} {level.client_share:>7.0%} {level.server_mib:>6.0f}", flush=True)  # fmt: skip
    if by_action:
        for kind, seconds in sorted(seen.action_s.items()):
            print(_row(f"  {kind}", level.visitors, seconds, (), 0))
    for failure in sorted(set(seen.failures))[:3]:
        print(f"  {failure}")


def _row(name: str, visitors: int, seconds: Sequence[float], first_s: Sequence[float], lost: int) -> str:
    middle, late = np.percentile(seconds, (50, 95)) if seconds else (np.nan, np.nan)
    first = f"{np.median(first_s):>9.2f}" if first_s else " " * 9
    return f"{name:<22} {visitors:>8} {len(seconds):>8} {middle:>7.2f} {late:>7.2f} {first} {lost:>5}"


def _print_visits(visits: int) -> None:
    seen = Seen()
    with server_of() as server:
        for part in range(10):
            asyncio.run(come_and_go(server.url, visits // 10, 10, seen))
            print(f"after {visits // 10 * (part + 1)} visits: {memory_mib(server.process.pid):.0f} MiB", flush=True)
    print(f"lost: {len(seen.failures)}")


if __name__ == "__main__":
    main()
