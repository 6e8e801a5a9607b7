"""Many visitors at once.

Each opens the app, then acts every few seconds: chooses, types, slides, goes from page to page, uploads. An action's
time is from sending it until all of the changed page has arrived. Visitors and server share the machine.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benchmarks.served_app import Server
from benchmarks.visitor import RunFailedError, Visitor
from profet_core.artifacts.samples import load_samples
from ui.inputs.training import STOPS

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
    server_share : of one processor, while actions were timed. server_mib : memory of the server at the end.
    """

    seen: Seen
    server_share: float
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
    before_s, started = cpu_s(server.process.pid), time.perf_counter()
    await asyncio.sleep(window[1] - time.perf_counter())
    share = (cpu_s(server.process.pid) - before_s) / (time.perf_counter() - started)
    await asyncio.gather(*every)
    return Level(seen, share, memory_mib(server.process.pid))


def cpu_s(pid: int) -> float:
    """Processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
