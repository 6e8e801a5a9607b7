"""Few read at once, the others wait and get their place."""

from __future__ import annotations

import threading

import pytest

from profet_core.errors import BusyError
from profet_core.sandbox import waiting as queues
from profet_core.sandbox.waiting import ReadingQueue

COUNT = 5


def test_no_more_than_so_many_have_their_turn_at_once_and_first_come_is_first_served():
    at_once = 2
    queue, lock = ReadingQueue(at_once), threading.Lock()
    now: set[int] = set()
    served: list[int] = []
    most: list[int] = []
    places: dict[int, list[int]] = {number: [] for number in range(COUNT)}
    joined = [threading.Event() for _ in range(COUNT)]
    joined[-1].set()
    go_on = threading.Event()

    def visit(number: int) -> None:
        def waiting(place: int) -> None:
            places[number].append(place)
            joined[number].set()

        # The last one doesn't ask for its place.
        with queue.turn(1, waiting if number < COUNT - 1 else None):
            with lock:
                now.add(number)
                served.append(number)
                most.append(len(now))
            joined[number].set()
            assert go_on.wait(30)
            with lock:
                now.remove(number)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(COUNT)]
    for thread, event in zip(threads, joined, strict=True):
        thread.start()
        assert event.wait(30)
    threads[-1].join(0.4)
    assert sorted(now) == list(range(at_once)) and threads[-1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert max(most) == at_once
    assert sorted(served) == list(range(COUNT))
    assert all(places[number] == [] for number in range(at_once))
    for number in range(at_once, COUNT - 1):
        assert places[number][0] == number - at_once + 1
        assert places[number] == sorted(places[number], reverse=True)


class LeftError(Exception):
    pass


def test_whoever_leaves_makes_room():
    queue = ReadingQueue(1)

    def leave(place: int) -> None:
        assert place == 1
        raise LeftError

    with queue.turn(1):
        for _ in range(3):
            with pytest.raises(LeftError), queue.turn(1, leave):
                pytest.fail("it was not its turn")
    with pytest.raises(LeftError), queue.turn(1):
        raise LeftError
    with queue.turn(1, lambda _: pytest.fail("nobody is before it")):
        pass


@pytest.mark.parametrize(("limit", "value"), [("MAX_WAITING", 2), ("MAX_WAITING_BYTES", 20)])
def test_a_full_queue_is_said_at_once(monkeypatch, limit, value):
    monkeypatch.setattr(queues, limit, value)
    queue = ReadingQueue(1)

    def third(_: int) -> None:
        with pytest.raises(BusyError, match="try again in a minute"), queue.turn(10):
            pytest.fail("the queue was full")
        raise LeftError

    def second(_: int) -> None:
        with queue.turn(10, third):
            pytest.fail("it was not its turn")

    with queue.turn(10), pytest.raises(LeftError), queue.turn(10, second):
        pytest.fail("it was not its turn")
