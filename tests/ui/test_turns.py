"""Pages are drawn one at a time, but nobody waits for a visitor who waits for something else."""

from __future__ import annotations

import threading

from ui.turns import in_turn, others_first

_SOON_S = 30


def test_one_at_a_time_unless_it_only_waits():
    order: list[str] = []
    first_is_in, first_waits, second_is_done = (threading.Event() for _ in range(3))

    def first() -> None:
        with in_turn():
            first_is_in.set()
            order.append("first draws")
            with others_first():
                first_waits.set()
                assert second_is_done.wait(_SOON_S)
            order.append("first draws on")

    def second() -> None:
        assert first_is_in.wait(_SOON_S)
        with in_turn():
            assert first_waits.is_set()
            order.append("second draws")
        second_is_done.set()

    threads = [threading.Thread(target=run) for run in (second, first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SOON_S)
    assert order == ["first draws", "second draws", "first draws on"]


def test_a_page_that_fails_gives_its_turn_back():
    for _ in range(2):
        try:
            with in_turn(), others_first():
                raise ValueError
        except ValueError:
            continue
