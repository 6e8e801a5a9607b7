"""Pages are drawn one at a time, but nobody waits for a visitor who waits for something else, or who takes too long."""

from __future__ import annotations

import threading

import pytest

from ui.turns import Turns

_SOON_S = 30


def both(*runs) -> None:
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SOON_S)
        assert not thread.is_alive()


def test_one_at_a_time_unless_it_only_waits():
    turns, order = Turns(longest_s=_SOON_S), []
    first_is_in, second_is_done = threading.Event(), threading.Event()

    def first() -> None:
        with turns.in_turn():
            first_is_in.set()
            order.append("first draws")
            with turns.others_first():
                assert second_is_done.wait(_SOON_S)
            order.append("first draws on")

    def second() -> None:
        assert first_is_in.wait(_SOON_S)
        with turns.in_turn():
            order.append("second draws")
        second_is_done.set()

    both(second, first)
    assert order == ["first draws", "second draws", "first draws on"]


def test_who_takes_too_long_keeps_nobody_waiting():
    turns, second_is_done, order = Turns(longest_s=0.02), threading.Event(), []
    first_is_in = threading.Event()

    def first() -> None:
        with turns.in_turn():
            first_is_in.set()
            assert second_is_done.wait(_SOON_S)
        order.append("first is done")

    def second() -> None:
        assert first_is_in.wait(_SOON_S)
        with turns.in_turn():
            order.append("second draws")
        second_is_done.set()

    both(first, second)
    assert order == ["second draws", "first is done"]
    # The turn that had been taken from the first was not given back twice.
    with turns.in_turn():
        pass


def test_a_page_that_fails_gives_its_turn_back():
    turns = Turns(longest_s=_SOON_S)
    for _ in range(2):
        with pytest.raises(ValueError, match="drawn"), turns.in_turn(), turns.others_first():
            raise ValueError("not drawn")
