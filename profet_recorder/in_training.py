"""Record from your own code: an iterator and a context manager for a loop, a callback for Keras' `fit`.

All of them may stand inside a loop over epochs, or folds: the recording goes on where the last one left it, and once it
is written everything passes through. Nothing here ends the training: what can't be recorded is reported on stderr.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from profet_recorder.engine import keras_flavour
from profet_recorder.plan import (
    PlanOptions,
    RecorderError,
    RecordPlan,
    absolute,
    print_progress,
    record_plan,
    warn_and_continue,
)
from profet_recorder.recording import AlreadyRecordedError, Recording, choose_engine

if TYPE_CHECKING:
    from profet_recorder.recording import Engine

Batch = TypeVar("Batch")

#: The recordings of this process, by their output: an epoch goes on with that of the one before.
_recorders: dict[Path, StepRecorder] = {}


class StepRecorder:
    """Recorder that `record_step` hands out: call `step` at the end of every training step."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._failed = False
        #: Who records in this process instead, such as `profet profile`.
        self._other: object = None

    @property
    def done(self) -> bool:
        """The profile is written, by whoever records here, or won't be; the loop may stop or go on."""
        return self._recording.finished or self._failed or bool(getattr(self._other, "finished", False))

    def step(self, batch: object = None) -> bool:
        """End a training step; what it was fed, `batch`, tells batch and pixel size. True once done."""
        self._try(self._recording.end_step, batch)
        self._begin()
        return self.done

    def _begin(self) -> None:
        self._try(self._recording.begin_step)

    def _leave(self, where: str) -> None:
        """End the loop: say so if it was too short, and undo every switch until the next one."""
        if not self.done and self._other is None:
            self._try(self._recording.abort)
            if not self._failed:
                print_progress(f"{self._recording.shortage(where)}; the next loop with this output goes on with it")

    def _try(self, observe: Callable[..., object], *arguments: object) -> None:
        """Observe a step that is still to be recorded; the training goes on if that fails."""
        if self.done or self._other is not None:
            return
        try:
            observe(*arguments)
        except AlreadyRecordedError as error:
            self._other = error.owner
            warn_and_continue(error)
        except Exception as error:
            self._failed = True
            with suppress(Exception):
                self._recording.abort()
            warn_and_continue(error)


class StepOptions(PlanOptions, total=False):
    """Also what parameters and precision are read off, and the framework where both are loaded."""

    model: object
    optimizer: object
    framework: str | None


def _recorder(
    output: str | PathLike[str],
    model: object = None,
    optimizer: object = None,
    framework: str | None = None,
    **options: Unpack[PlanOptions],
) -> StepRecorder:
    """Return the recorder of this output, in its first loop a new one."""
    path = absolute(output)
    if path not in _recorders:
        engine = choose_engine(framework, model, optimizer)
        _recorders[path] = StepRecorder(Recording(record_plan(output, **options), engine))
    return _recorders[path]


@contextmanager
def record_step(output: str | PathLike[str] = "profile.json", **options: Unpack[StepOptions]) -> Iterator[StepRecorder]:
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
    loader: Iterable[Batch], output: str | PathLike[str] = "profile.json", **options: Unpack[StepOptions]
) -> Iterator[Batch]:
    """Yield the batches of `loader`, one training step each; the profile is written on the way.

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


# --- Keras' fit ----------------------------------------------------------------------------------------------------

#: Who records where a callback does so by itself: one that an interrupted fit left behind gives way to the next.
_FITS = object()
#: Keras need not be there: the true base is added when a callback is made.
_Callback: Any = object


def ProfileCallback(  # noqa: N802 - a class to its users
    output: str | PathLike[str] = "profile.json", **options: Unpack[PlanOptions]
) -> RecordingCallback:
    """Make a callback for `model.fit(callbacks=[...])` that writes a version-2 profile of one training step.

    >>> model.fit(images, labels, callbacks=[ProfileCallback("profile.json")])  # doctest: +SKIP

    Parameters
    ----------
    output : the profile to write.
    options : fields of `RecordPlan`: warm_up, timed, profiled, batch_size, pixels, parameters, precision,
        as_device, force, keep_trace.

    Raises
    ------
    RecorderError : the output can't be written, or neither keras nor tf_keras is loaded.
    """
    return recording_callback(record_plan(output, **options), on_error=warn_and_continue)


def recording_callback(
    plan: RecordPlan,
    when_done: Callable[[], None] | None = None,
    *,
    begin: Callable[[object], Recording] | None = None,
    on_error: Callable[[Exception], None] | None = None,
) -> RecordingCallback:
    """Return the callback of a plan.

    Parameters
    ----------
    when_done : called, on the training's thread, after the profile is written.
    begin : makes the recording of a model, or begins it again with that model; None: the callback's own.
    on_error : takes what the recording fails with, so that `fit` goes on; None: `fit` ends with it.
    """
    kerases: list[Any] = [sys.modules.get(name) for name in ("keras", "tf_keras")]
    bases = [keras.callbacks.Callback for keras in kerases if hasattr(keras, "callbacks")]
    if not bases:
        raise RecorderError("Import keras (or tf_keras) before making a ProfileCallback.")
    # One class for whichever Keras calls it: both call the same hooks.
    return type("ProfileCallback", (RecordingCallback, *bases), {})(plan, when_done, begin, on_error)


def _goes_on(hook: Callable[..., None]) -> Callable[..., None]:
    """Wrap `hook` of a callback: where it fails no other is called, and `fit` goes on if it may."""

    @functools.wraps(hook)
    def guarded(callback, *args, **kwargs):
        if callback.failed:
            return
        try:
            hook(callback, *args, **kwargs)
        except Exception as error:
            if callback.on_error is None:
                raise
            callback.failed = True
            callback.on_error(error)

    return guarded


class RecordingCallback(_Callback):
    """Hooks that Keras calls; `set_model` comes before every other one.

    Attributes
    ----------
    recording : what was recorded so far; None before the first fit.
    """

    # tf_keras: logs need not be fetched from the device for this callback.
    _supports_tf_logs = True

    def __init__(
        self,
        plan: RecordPlan,
        when_done: Callable[[], None] | None,
        begin: Callable[[object], Recording] | None,
        on_error: Callable[[Exception], None] | None,
    ) -> None:
        super().__init__()
        self._plan = plan
        self._when_done = when_done
        self._begin = begin or self._begin_recording
        self.on_error = on_error
        self.failed = False
        self.recording: Recording | None = None
        #: The model, its optimizer, and what kind of network it is.
        self._recorded: tuple[object, object, object] | None = None
        self._batches_an_epoch: int | None = None
        #: The batch that ended last has updated weights; a step that is recorded began, and has not ended.
        self._has_updated, self._is_in_step = True, False

    def set_params(self, params: Mapping[str, Any] | None) -> None:
        """Return the number of batches of an epoch, where Keras knows it."""
        super().set_params(params)
        self._batches_an_epoch = (params or {}).get("steps")

    def set_model(self, model: Any) -> None:
        """Prepare the recording, or begin it again if another network or optimizer is trained."""
        super().set_model(model)
        self._follow(model)

    @_goes_on
    def _follow(self, model: Any) -> None:
        if self.finished:
            return
        check_model(model)
        optimizer, kind = getattr(model, "optimizer", None), _kind_of(model)
        before = self._recorded
        if self.recording is None or before is None:
            self.recording = self._begin(model)
        elif before[0] is not model or before[1] is not optimizer or (kind and before[2] and kind != before[2]):
            if before[0] is model and before[1] is not optimizer:
                self.recording.engine.forget(before[1])
            if kind is not None and kind == before[2]:
                # Another fold, or another learning rate: the same kind of step, and it counts on.
                self.recording.go_on_with(self.recording.engine.for_model(model))
                self.recording.passes_next = True
            else:
                self.recording = self._begin(model)
        self._recorded = (model, optimizer, kind)
        # Here and not at the first batch: fit makes its train function in between.
        self.recording.prepare()

    def _begin_recording(self, model: object) -> Recording:
        if self.recording is None:
            return Recording(self._plan, choose_engine(None, model), _FITS)
        print_progress("fit was called with another network or optimizer: the recording starts over")
        self.recording.start_over(choose_engine(None, model))
        return self.recording

    def forget(self) -> None:
        """Something else trains now: the next fit begins the recording again."""
        self._recorded = self.recording = None

    @property
    def finished(self) -> bool:
        """The profile is written."""
        return self.recording is not None and self.recording.finished

    @_goes_on
    def on_train_begin(self, logs: object = None) -> None:
        """Have the first batch observed."""
        if recording := self._unfinished():
            # The last batch of an epoch is skipped.
            accumulated = getattr(self.model.optimizer, "gradient_accumulation_steps", None) or 1
            in_a_row = recording.profiled_steps * accumulated
            if self._batches_an_epoch is not None and 1 < self._batches_an_epoch <= in_a_row:
                raise RecorderError(
                    f"An epoch of {self._batches_an_epoch} batches is too short: {in_a_row} batches in a row are "
                    "profiled, and the last one is skipped. Take fewer profiled steps, or dataset.repeat() and "
                    "steps_per_epoch."
                )
            _observe_batches(self.model, recording)

    @_goes_on
    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        """Begin a step, unless it is the last of an epoch."""
        if recording := self._unfinished():
            if self._is_last(batch):
                self._drop_step(recording)
            elif self._has_updated:
                recording.begin_step()
                self._is_in_step = True

    @_goes_on
    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """End the step."""
        recording = self._unfinished()
        if recording is None:
            return
        # A step is one update: an optimizer may accumulate gradients of several batches.
        self._has_updated = recording.engine.has_updated()
        if self._is_last(batch):
            recording.skipped += 1
        elif self._is_in_step and not self._has_updated:
            recording.engine.end_pass()
        elif self._is_in_step:
            self._is_in_step = False
            if recording.end_step() and self._when_done is not None:
                self._when_done()

    @_goes_on
    def on_test_begin(self, logs: object = None) -> None:
        """Ignore validation steps."""
        if recording := self._unfinished():
            self._drop_step(recording)

    @_goes_on
    def on_train_end(self, logs: object = None) -> None:
        """Too early, if the profile is not written."""
        _stop_observing(self.model)
        if recording := self._unfinished():
            self._drop_step(recording)
            print_progress(f"{recording.shortage('fit')}; the next fit of this network goes on with it")

    def _drop_step(self, recording: Recording) -> None:
        """Record nothing of a step that something else interrupts."""
        recording.pause()
        if self._is_in_step:
            recording.engine.end_observed_step()
        self._is_in_step = False

    def _unfinished(self) -> Recording | None:
        """Return the recording while there is something left to record."""
        return None if self.finished else self.recording

    def _is_last(self, batch: int) -> bool:
        """Tell whether it is an epoch's last batch, which may be smaller than the others."""
        return self._batches_an_epoch is not None and 1 < self._batches_an_epoch == batch + 1


def _kind_of(model: Any) -> object:
    """Return the traits that networks which train alike share; None if they aren't known before the first batch."""
    try:
        trained = {id(weight) for weight in model.trainable_weights}
        weights = [(tuple(weight.shape), id(weight) in trained) for weight in model.weights]
        return (type(model.optimizer), weights) if trained else None
    except (AttributeError, ValueError):
        return None


def check_model(model: Any) -> None:
    """Refuse what can't be recorded."""
    several = getattr(model, "steps_per_execution", None) or getattr(model, "_steps_per_execution", None) or 1
    several = int(several.numpy()) if hasattr(several, "numpy") else int(several)
    if several > 1:
        raise RecorderError(
            f"{keras_flavour(model) or 'Keras'} runs {several} steps at once here: compile with steps_per_execution=1."
        )


def _observe_batches(model: Any, recording: Recording) -> None:
    """Show the next batch on its way into `model.train_function`; where sides of images may differ, each one."""
    _stop_observing(model)
    train_function, is_keras_3 = model.train_function, not hasattr(model, "_steps_per_execution")

    def observe_and_train(batches: object) -> object:
        sides = [side for part in _flat_specs(batches) for side in part.shape[1:3] if len(part.shape) > 3]
        shows_each = is_keras_3 and None in sides and not recording.finished
        if not shows_each:
            model.train_function = train_function
        return train_function(_observed(batches, recording.engine, shows_each))

    observe_and_train.trains = train_function  # type: ignore[attr-defined]
    model.train_function = observe_and_train


def _stop_observing(model: Any) -> None:
    model.train_function = getattr(model.train_function, "trains", model.train_function)


def _flat_specs(batches: Any) -> list[Any]:
    """Describe each tensor of a batch, as an iterator of tf.data does."""
    tensorflow = sys.modules.get("tensorflow")
    specs = getattr(batches, "element_spec", None)
    return [] if tensorflow is None else [spec for spec in tensorflow.nest.flatten(specs) if hasattr(spec, "shape")]


def _observed(batches: Any, engine: Engine, alone: bool) -> object:
    """`batches`, its first one shown to `engine`; `alone`: that one, for a graph that was made of no iterator."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not hasattr(batches, "element_spec"):
        # Keras on PyTorch hands over a list of batches.
        if isinstance(batches, list | tuple) and batches:
            engine.observe_batch(batches[0])
        return batches
    try:
        batch = next(batches)
    except StopIteration:
        return batches
    with suppress(Exception):
        engine.observe_batch(batch)
    if isinstance(batches, tensorflow.data.Iterator):
        if alone:
            return iter([batch])
        # Of the same specification, so that the train function is not traced a second time.
        from_generator = tensorflow.data.Dataset.from_generator
        with suppress(TypeError, ValueError):
            return iter(from_generator(lambda: iter([batch]), output_signature=batches.element_spec))
    return _OneBatch(batch)


class _OneBatch:
    """One batch, such as a strategy spreads over devices, for one call of a train function, which may ask twice."""

    def __init__(self, batch: object) -> None:
        self._batch = batch

    def __iter__(self) -> _OneBatch:
        return self

    def __next__(self) -> object:
        return self._batch

    get_next = __next__
