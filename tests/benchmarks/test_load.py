"""Visitors without a browser go through the app as a benchmark's do, and none is lost."""

from __future__ import annotations

import asyncio

from benchmarks.served_app import served
from benchmarks.visitors import ACTIONS, Level, visit

#: A busy machine takes its time.
_LONG_S = 600.0


def test_a_visitor_does_everything_once():
    seen = Level()

    async def once(url: str) -> None:
        async with asyncio.timeout(_LONG_S):
            await visit(url, list(ACTIONS.values()), 0.0, (0.0, float("inf")), seen)

    with served() as url:
        asyncio.run(once(url))
    assert seen.failures == []
    assert len(seen.first_page_s) == 1 and len(seen.action_s) == len(ACTIONS)
