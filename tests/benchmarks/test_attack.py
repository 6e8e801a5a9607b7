"""The whole app under attack: no more readers than may be, and visitors are served."""

from __future__ import annotations

import asyncio

from benchmarks.attack import WORST, measure
from benchmarks.served_app import server_of
from benchmarks.wide_files import wide_files
from profet_core.sandbox.waiting import AT_ONCE


def test_visitors_are_served_while_hostile_files_are_read():
    makers = wide_files()
    assert set(WORST) <= set(makers)
    data = makers["TensorFlow trace, entries of many lists"]()
    with server_of() as server:
        # A busy machine takes longer until somebody is served and something is read.
        for seconds in (6.0, 30.0, 120.0):
            seen, attack = asyncio.run(measure(server, 1, seconds, [(str(number), data) for number in range(4)]))
            if seen.every_action_s and attack.readers:
                break
    assert seen.failures == [] and seen.every_action_s
    assert 1 <= attack.readers <= AT_ONCE
    assert attack.readers_mib < 250 * AT_ONCE
