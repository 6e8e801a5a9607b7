"""Which optimizer's updates delimit the steps that are recorded."""

from __future__ import annotations

import pytest

from profet_recorder import hooks
from profet_recorder.engine import StepFacts
from profet_recorder.plan import record_plan
from profet_recorder.recording import Recording


class CountingEngine:
    """Takes the place of a framework: this is about the order of steps, not about what they hold."""

    profiler_warm_up = 0

    def __init__(self):
        self.trained = []

    def trains(self, optimizer):
        self.trained.append(optimizer)

    def is_disturbed(self):
        return False

    def facts(self):
        return StepFacts()

    def __getattr__(self, name):
        return lambda *args: None


@pytest.fixture
def recorded(tmp_path):
    """`recorded("DDG" * 9)` -> the optimizers of the steps recorded, how many steps were seen, how often it began."""

    def run(updates):
        begun = []

        def begin(make_engine):
            if not begun:
                begun.append(Recording(record_plan(tmp_path / "profile.json", timed=1_000), make_engine()))
            else:
                begun.append(begun[0])
                begun[0].start_over(make_engine())
            return begun[0]

        seen = hooks.StepMarks(begin)
        owners = {name: object() for name in set(updates)}
        for name in updates:
            seen.mark(owners[name], CountingEngine, [name])
        return "".join(sorted(begun[0].engine.trained)), begun[0].steps_seen, len(begun)

    return run


@pytest.mark.parametrize(
    "updates, trained, steps, begun",
    [
        ("A" * 9, "A", 9, 1),
        # A GAN: both in each step, whichever comes first.
        ("DG" * 9, "DG", 9, 1),
        # Who updates less often has the longer step: the first G begins it again.
        ("DDG" * 9, "DG", 9, 2),
        ("CCCCCG" * 9, "CG", 9, 2),
        ("DGG" * 9, "DG", 9, 1),
        # Some steps of a pretraining.
        ("A" * 5 + "B" * 9, "B", 9, 2),
        ("A" + "B" * 9, "AB", 1, 1),
        # One that does not come back is not waited for forever.
        ("A" + "B" * 60, "B", 60 - hooks.GONE, 2),
        ("AAB" + "A" * 60, "A", 60 - hooks.GONE, 3),
    ],
)
def test_the_steps_that_are_recorded(recorded, updates, trained, steps, begun):
    assert recorded(updates) == (trained, steps, begun)
