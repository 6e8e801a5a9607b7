"""Few requests run, some wait, others get a retry answer; a hanging one is ended."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from profet_http.failures import RequestError
from profet_http.workers import Workers


def test_who_finds_no_place_is_told_to_come_back():
    workers = Workers("test", threads=1, places=2)
    with workers.place(), workers.place():
        with pytest.raises(RequestError, match="busy") as refused, workers.place():
            pass
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "2")
    with workers.place():
        pass


def test_what_takes_too_long_keeps_its_place_until_it_is_done():
    ended = Event()

    async def hang() -> None:
        workers = Workers("test", threads=1, places=1, limit_s=0.05)
        with pytest.raises(RequestError, match="too long"), workers.place():
            await workers.run(ended.wait)
        with pytest.raises(RequestError, match="busy"), workers.place():
            pass
        ended.set()
        for _ in range(200):
            await asyncio.sleep(0.01)
            try:
                with workers.place():
                    return
            except RequestError:
                continue
        pytest.fail("the place never came free")

    try:
        asyncio.run(hang())
    finally:
        ended.set()


def test_what_work_raises_is_raised():
    async def fail() -> None:
        with pytest.raises(ZeroDivisionError):
            await Workers("test", threads=1, places=1).run(lambda: 1 // 0)

    asyncio.run(fail())
