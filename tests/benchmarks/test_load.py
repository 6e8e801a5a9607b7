"""Visitors without a browser go through the app as a benchmark's do, and none is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from benchmarks.served_app import served
from benchmarks.visitors import PARTS, Seen, actions_of, visit

#: Every action of a visitor once, as fast as the server answers; a busy machine takes its time.
_LONG_S = 600.0

_AFTER_WARM_UP = """
import gc
from streamlit.testing.v1 import AppTest
from ui.state.warm_up import warm_up
warm_up()
app = AppTest.from_file({navigation!r}, default_timeout=60).run()
assert not app.exception and app.title, app
before = gc.get_freeze_count()
for _ in range(5):
    app.run()
print(before, gc.get_freeze_count(), len(gc.get_objects()))
"""


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


def test_what_lasts_is_not_gone_through_after_every_action(repository: Path) -> None:
    code = _AFTER_WARM_UP.format(navigation=str(repository / "ui" / "navigation.py"))
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    frozen, later, alive = map(int, done.stdout.split())
    assert frozen > 50_000
    # Once for a page, not after every action (2,000 objects each): what a visitor leaves behind is still collected.
    assert later < frozen + 2_000
    assert alive < 20_000


async def _once_through(url: str, number: int, seen: Seen) -> None:
    await visit(url, actions_of(number), number, 0.0, (0.0, float("inf")), seen, rounds=1)
