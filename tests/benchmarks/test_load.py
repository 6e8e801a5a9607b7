"""Visitors without a browser go through the app as a benchmark's do, and none is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.served_app import served
from benchmarks.visitors import PARTS, Seen, actions_of, visit

#: Every action of a visitor once, as fast as the server answers; a busy machine takes its time.
_LONG_S = 600.0


def test_visitors_do_everything_and_none_is_lost(repository: Path) -> None:
    seen = Seen()

    async def two(url: str) -> None:
        async with asyncio.timeout(_LONG_S):
            await asyncio.gather(*(_once_through(url, number, seen) for number in (0, 3)))

    with served(started_in=repository) as url:
        asyncio.run(two(url))
    assert seen.failures == []
    assert set(seen.action_s) == {action.name for part in PARTS for action in part}
    assert len(seen.first_page_s) == 2


async def _once_through(url: str, number: int, seen: Seen) -> None:
    await visit(url, actions_of(number), number, 0.0, (0.0, float("inf")), seen, rounds=1)
