"""Benchmarks: visitors without a browser lose nothing, what takes too long is stopped, changes are pointed out."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from benchmarks.__main__ import Figure, limited
from benchmarks.served_app import served, served_endpoint
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


def test_a_part_that_takes_too_long_is_stopped_and_its_server_with_it():
    before = set(psutil.Process().children())
    with pytest.raises(SystemExit, match="stopped after 2 s"), limited(2), served_endpoint():
        time.sleep(60)
    assert set(psutil.Process().children()) <= before


def test_a_change_of_more_than_a_tenth_is_pointed_out():
    figure = Figure("a figure", [1.0, 1.2, 9.0], "s", 1.1)
    assert figure.row(1.0).endswith("MISSED  +20% since 1")
    assert figure.row(1.15).endswith("MISSED") and figure.row(None).endswith("MISSED")
