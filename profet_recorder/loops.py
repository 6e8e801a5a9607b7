"""Recording from within a training loop of one's own: a context manager and an iterator, for both frameworks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TypeVar, Unpack

from profet_recorder.engines.choice import choose_engine
from profet_recorder.errors import RecorderError
from profet_recorder.plan import PlanOptions, record_plan
from profet_recorder.progress import print_progress
from profet_recorder.recording import Recording

Batch = TypeVar("Batch")


class StepRecorder:
    """What `record_step` hands out: call `step` at the end of every training step."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def done(self) -> bool:
        """The profile is written; the loop may stop or go on."""
        return self._recording.finished

    def step(self, batch: object = None) -> bool:
        """A training step has ended; with `batch`, what it was fed, batch and pixel size are found. True once done."""
        self._recording.end_step(batch)
        self._recording.begin_step()
        return self.done


@contextmanager
def record_step(
    output: str | PathLike[str] = "profile.json",
    *,
    model: object = None,
    optimizer: object = None,
    framework: str | None = None,
    **options: Unpack[PlanOptions],
) -> Iterator[StepRecorder]:
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
    options : fields of `RecordPlan`: warm_up, timed, profiled, batch_size, pixels, parameters, precision,
        as_device, force, keep_trace.

    Raises
    ------
    RecorderError : the output can't be written, or the block ended before enough steps.
    """
    recording = Recording(record_plan(output, **options), choose_engine(framework, model, optimizer))
    try:
        recording.begin_step()
        yield StepRecorder(recording)
        if not recording.finished:
            raise RecorderError(recording.shortage("The block"))
    finally:
        recording.abort()


def record_steps(
    loader: Iterable[Batch],
    output: str | PathLike[str] = "profile.json",
    *,
    model: object = None,
    optimizer: object = None,
    framework: str | None = None,
    **options: Unpack[PlanOptions],
) -> Iterator[Batch]:
    """The batches of `loader`, one training step each; the profile is written on the way.

    >>> for images, labels in record_steps(loader, "profile.json"):  # doctest: +SKIP
    ...     train_step(images, labels)

    A step's latency includes waiting for its batch. Parameters and errors as in `record_step`; what can be refused is
    refused here, not at the first batch.
    """
    recording = Recording(record_plan(output, **options), choose_engine(framework, model, optimizer))
    return _recorded(loader, recording)


def _recorded(loader: Iterable[Batch], recording: Recording) -> Iterator[Batch]:
    try:
        batches = iter(loader)
        while True:
            recording.begin_step()
            try:
                batch = next(batches)
            except StopIteration:
                break
            yield batch
            recording.end_step(batch)
        if not recording.finished:
            raise RecorderError(recording.shortage("The loader"))
    except GeneratorExit:
        if not recording.finished:
            print_progress(recording.shortage("The loop"))
        raise
    finally:
        recording.abort()
