"""Record from your own training loop: a context manager and an iterator.

Both may stand inside a loop over epochs: the recording goes on where the last epoch left it, and once it is written
everything passes through. Nothing here ends the training: what can't be recorded is reported on stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from profet_recorder.plan import absolute, print_progress, record_plan, warn_and_continue
from profet_recorder.recording import Recording, choose_engine

Batch = TypeVar("Batch")

#: The recordings of this process, by their output: an epoch goes on with that of the one before.
_recorders: dict[Path, StepRecorder] = {}


class StepRecorder:
    """What `record_step` hands out: call `step` at the end of every training step."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._failed = False

    @property
    def done(self) -> bool:
        """The profile is written, or won't be; the loop may stop or go on."""
        return self._recording.finished or self._failed

    def step(self, batch: object = None) -> bool:
        """A training step has ended; with `batch`, what it was fed, batch and pixel size are found. True once done."""
        self._try(self._recording.end_step, batch)
        self._begin()
        return self.done

    def _begin(self) -> None:
        self._try(self._recording.begin_step)

    def _leave(self, where: str) -> None:
        """The loop has ended: say so if it was too short, and undo every switch until the next one."""
        if not self.done:
            self._try(self._recording.abort)
            if not self._failed:
                print_progress(f"{self._recording.shortage(where)}; the next loop with this output goes on with it")

    def _try(self, observe: Callable[..., object], *arguments: object) -> None:
        """Observe a step that is still to be recorded; the training goes on if that fails."""
        if self.done:
            return
        try:
            observe(*arguments)
        except Exception as error:
            self._failed = True
            with suppress(Exception):
                self._recording.abort()
            warn_and_continue(error)


def _recorder(
    output: str | PathLike[str],
    model: object = None,
    optimizer: object = None,
    framework: str | None = None,
    **options: Any,
) -> StepRecorder:
    """The recorder of this output, in its first loop a new one."""
    path = absolute(output)
    if path not in _recorders:
        engine = choose_engine(framework, model, optimizer)
        _recorders[path] = StepRecorder(Recording(record_plan(output, **options), engine))
    return _recorders[path]


@contextmanager
def record_step(output: str | PathLike[str] = "profile.json", **options: Any) -> Iterator[StepRecorder]:
    """Record the loop inside the `with` block; its step latency includes all that the loop does between two steps.

    >>> with record_step("profile.json", model=model) as recorder:  # doctest: +SKIP
    ...     for images, labels in dataset:
    ...         train_step(images, labels)
    ...         if recorder.step(images):
    ...             break

    Parameters
    ----------
    output : the version-2 profile to write.
    model : Keras or torch model: parameters and precision are read off it.
    optimizer : for PyTorch: parameters are read off it where no module is called.
    framework : "tensorflow" or "pytorch", where both are loaded.
    options : also fields of `RecordPlan`: warm_up, timed, profiled, batch_size, pixels, parameters, precision,
        as_device, force, keep_trace.

    Raises
    ------
    RecorderError : the output can't be written; nothing is raised later.
    """
    recorder = _recorder(output, **options)
    recorder._begin()
    try:
        yield recorder
    finally:
        recorder._leave("The block")


def record_steps(
    loader: Iterable[Batch], output: str | PathLike[str] = "profile.json", **options: Any
) -> Iterator[Batch]:
    """The batches of `loader`, one training step each; the profile is written on the way.

    >>> for images, labels in record_steps(loader, "profile.json"):  # doctest: +SKIP
    ...     train_step(images, labels)

    A step's latency includes waiting for its batch. Parameters and errors as in `record_step`; what can be refused is
    refused here, not at the first batch.
    """
    return _recorded(loader, _recorder(output, **options))


def _recorded(loader: Iterable[Batch], recorder: StepRecorder) -> Iterator[Batch]:
    try:
        batches = iter(loader)
        while True:
            recorder._begin()
            try:
                batch = next(batches)
            except StopIteration:
                break
            yield batch
            recorder._try(recorder._recording.end_step, batch)
    finally:
        recorder._leave("The loop")
