"""Where a script's training updates its weights: from one update of an optimizer to its next is a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from profet_recorder.recording import Recording

if TYPE_CHECKING:
    from profet_recorder.engines.choose import Engine

#: After so many updates of others the optimizer whose steps were followed trains no longer.
_GONE = 50
MakeEngine = Callable[[], "Engine"]


class StepMarks:
    """Records between the updates of one optimizer, with all that happens in between.

    That is the first to update, unless one comes later that updates less often (a GAN's generator, after several steps
    of its critic) or instead of it (a fine-tuning, after some steps of another training).

    Parameters
    ----------
    begin : makes the recording, or begins it again, with another engine.

    Attributes
    ----------
    recording : None until something trains.
    """

    def __init__(self, begin: Callable[[MakeEngine], Recording]) -> None:
        self._begin = begin
        self._followed: object = None
        self._others: list[object] = []
        self._since = 0
        self.recording: Recording | None = None

    def mark(self, owner: object, make_engine: MakeEngine, trains: Sequence[object] = (), batch: object = None) -> bool:
        """`owner` has updated weights; True once the profile is written.

        Parameters
        ----------
        owner : an optimizer, or what one updates in, such as a tf.function: the same at each of its steps.
        trains : the optimizers, or networks, that are trained in it.
        batch : what the step was fed, if it is known.
        """
        recording = self.recording
        if recording is None:
            self._follow(owner, make_engine, trains, batch)
            return False
        if recording.finished:
            return True
        if owner is self._followed:
            self._since = 0
            recording.end_step(batch)
            recording.begin_step()
            return recording.finished
        self._since += 1
        is_new = all(owner is not other for other in self._others)
        if self._since > _GONE or (is_new and recording.steps_seen > 1):
            self._follow(owner, make_engine, trains, batch)
            return False
        if is_new:
            self._others.append(owner)
            for one in trains:
                recording.engine.trains(one)
        if batch is not None:
            recording.engine.observe_batch(batch)
        return False

    def forget(self) -> None:
        """Something else trains now: what is marked next is followed."""
        self.recording = self._followed = None

    def _follow(self, owner: object, make_engine: MakeEngine, trains: Sequence[object], batch: object) -> None:
        self._followed, self._others, self._since = owner, [], 0
        self.recording = self._begin(make_engine)
        for one in trains:
            self.recording.engine.trains(one)
        # The step that ends here started unobserved; it counts all the same.
        self.recording.pass_step(batch)
        self.recording.begin_step()
