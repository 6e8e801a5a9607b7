"""One recording: warm-up steps, timed steps without the profiler, profiled steps, and the profile they make."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from profet_profiles import Profile, read_profile, write_profile
from profet_profiles.record import (
    ACCUMULATED,
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE_OPERATIONS,
    NO_DEVICE,
    NO_WORK,
    REPEATED_UPDATES,
    STAND_IN,
    holds_work,
)
from profet_profiles.units import MS_PER_S, format_ms
from profet_recorder.engine import (
    PYTORCH,
    TENSORFLOW,
    StepFacts,
    StepKind,
    framework_of,
    imported_framework,
    keras_backend,
    other_backend_line,
)
from profet_recorder.plan import RecorderError, RecordPlan, print_once, print_progress, take_turn

if TYPE_CHECKING:
    from profet_recorder.pytorch import PyTorchEngine
    from profet_recorder.tensorflow import ObservedKeras, TensorFlowEngine

    #: Its methods are called on the thread that trains, in the order in which they are defined.
    Engine: TypeAlias = PyTorchEngine | TensorFlowEngine

#: A profiled step that took more than this many of the timed ones did something else besides: validation, a checkpoint.
MAX_SLOWDOWN = 1.5
#: Such a step, or one of another batch size, is profiled again, so often at most.
MAX_REPEATS = 5
#: The profiler itself slows down shorter steps by more: theirs may take so long.
_SHORT_MS, _MAX_SHORT_MS = 0.5, 5.0
#: Steps of another kind in a row, or of another duration, are what the training does from now on.
_NEW_NORMAL = 6
#: Where steps vary, so many times the steps are timed at most until enough are alike, and so few are enough.
_MAX_TIMED, _ENOUGH = 3, 3
#: A profiler of the script's own may be on for some steps; after so many it is on for good.
_PATIENCE = 20
#: What the recorder itself asks the framework to do.
_SYNC_OPERATIONS = ("Host_SyncDevice", "Device_SyncDevice")
#: What matters first about a profile of a CPU.
ON_CPU = "Recorded on a CPU: run this on the GPU you want to use as anchor."
#: The same before it begins, and what else there is.
NO_GPU = (
    "no GPU is seen, and nothing can be predicted from a CPU's profile: record on a GPU, or go without a profile, by "
    "the network's name on the app's Predict page or with `profet estimate NAME --batch N`"
)


def choose_engine(
    framework: str | None = None,
    model: object = None,
    optimizer: object = None,
    keras_calls: ObservedKeras | None = None,
) -> Engine:
    """Return the engine of `framework` ("tensorflow", "pytorch"), `model`, `optimizer`, or the imported framework.

    Parameters
    ----------
    keras_calls : what is observed of Keras already; None: the engine observes it itself.

    Raises
    ------
    RecorderError : it is not known, or not supported.
    """
    framework = framework or framework_of(model) or framework_of(optimizer) or imported_framework()
    if framework == TENSORFLOW:
        from profet_recorder.tensorflow import TensorFlowEngine

        return TensorFlowEngine(model, optimizer, keras_calls)
    if framework == PYTORCH:
        if find_spec("numpy") is None:
            raise RecorderError("PyTorch works without numpy, reading its trace doesn't: pip install numpy.")
        from profet_recorder.pytorch import PyTorchEngine

        return PyTorchEngine(model, optimizer)
    if framework == keras_backend():
        raise RecorderError(other_backend_line(framework))
    raise RecorderError(f"Steps of {framework!r} can't be recorded: use framework='tensorflow' or 'pytorch'.")


#: Who records in this process: two profilers at once end it.
_recorders: list[object] = []


class AlreadyRecordedError(RecorderError):
    """Another, `owner`, records in this process."""

    def __init__(self, owner: object) -> None:
        super().__init__("This training is being recorded already, and two recordings can't run at once.")
        self.owner = owner


def claim_process(owner: object) -> None:
    """Let `owner` alone record from here on; AlreadyRecordedError where another does."""
    for recorder in _recorders:
        if recorder is not owner:
            raise AlreadyRecordedError(recorder)
    _recorders[:] = [owner]


def release_process(owner: object) -> None:
    """Let others record."""
    _recorders[:] = [recorder for recorder in _recorders if recorder is not owner]


class Times:
    """Latencies of the timed steps, `wanted` or more, and what kind of step each was."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._steps: list[tuple[float, StepKind | None]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step_ms: float, kind: StepKind | None) -> None:
        """One more."""
        self._steps.append((step_ms, kind))

    def count(self, kind: StepKind | None) -> int:
        """Count timed steps of a kind."""
        return sum(recorded == kind for _, recorded in self._steps)

    def other(self, kind: StepKind) -> StepKind:
        """Return a kind of timed steps, not this one if there are several."""
        return next((recorded for _, recorded in self._steps if recorded not in (kind, None)), None) or kind

    @property
    def _most_common(self) -> StepKind | None:
        return Counter(kind for _, kind in self._steps).most_common(1)[0][0]

    @property
    def usual(self) -> StepKind | None:
        """The most common kind; None if no kind is common."""
        return kind if self.of(kind := self._most_common)[1] else None

    def are_enough(self, most: int) -> bool:
        """Return True once half as many as are wanted are alike, and after `most` times as many in any case."""
        count = len(self._steps)
        return count >= most * self._wanted or (
            count >= self._wanted and 2 * self.count(self._most_common) >= self._wanted
        )

    def of(self, kind: StepKind | None) -> tuple[list[float], bool]:
        """Latencies of a kind of steps, and True; of all steps where those are too few, and False."""
        alike = [ms for ms, other in self._steps if other == kind]
        if 2 * len(alike) >= min(self._wanted, 2 * _ENOUGH):
            return alike, True
        # Where ever more batches are accumulated, a step takes as long as its batches.
        calls = kind.calls if kind else 0
        return [ms * calls / other.calls if other and other.calls and calls else ms for ms, other in self._steps], False


class Recording:
    """Counts a training's steps and records them; `begin_step` and `end_step` enclose each, on the training's thread.

    Attributes
    ----------
    steps_seen : steps that ended since the recording began (or began again).
    passes_next : the next step is not recorded, such as a fold's first one, which is traced.
    skipped : steps that could not be recorded, such as the last one of each epoch of Keras'.
    finished : the profile is written for good; further steps are ignored.
    latencies_ms : of the timed steps that are like the profiled one, once one was profiled.
    peak_memory_mib : of the timed steps once they are over, None on a CPU.
    """

    def __init__(self, plan: RecordPlan, engine: Engine, owner: object = None) -> None:
        """`owner` is who claimed the process; None: the recording claims it itself."""
        self.plan = plan
        self.engine = engine
        self.steps_seen = self.skipped = 0
        self.finished = False
        self._owner = self if owner is None else owner
        #: The best profile so far, which is written already, and how good it is: whether its step is of an odd kind,
        #: how many of that kind were timed (negative), and its duration.
        self._profile: Profile | None = None
        self._rank: tuple[bool, int, float] | None = None
        self._slowest_ms = 0.0
        self._times = Times(plan.timed)
        #: Kinds of the profiled steps, the last kind of any step and how many there were in a row, sides of images.
        self._profiled: list[StepKind | None] = []
        self._last_kind: StepKind | None = None
        self._in_a_row = 0
        self._sides: set[tuple[int | None, int | None]] = set()
        #: Of profiled steps that were slow, in a row, and the shortest of those after which steps were timed again.
        self._slow_ms: list[float] = []
        self._usually_ms = 0.0
        self.latencies_ms: list[float] = []
        self.peak_memory_mib: float | None = None
        self._folder: tempfile.TemporaryDirectory | None = None
        self._profiler_steps = 0
        self._attempts = 0
        self._waited = 0
        self._began: float | None = None
        self._prepared = self.passes_next = False

    @property
    def steps_needed(self) -> int:
        """Steps that a training must have, at the least; more once an odd one was profiled."""
        return self.plan.warm_up + self.plan.timed + self.profiled_steps * (1 + self._attempts)

    @property
    def profiled_steps(self) -> int:
        """Steps in a row that the profiler takes, its own warm-up among them."""
        return self.engine.profiler_warm_up + self.plan.profiled

    def shortage(self, where: str) -> str:
        """One line: `where` ended too early."""
        if self._profile is not None:
            return f"{where} ended; {self.plan.output} is written, but its step was not like the others"
        fewer = min(3, self.steps_seen - 1 - self.profiled_steps)
        hint = f"train longer, or take fewer with --warm-up 1 --timed {fewer} (warm_up=1, timed={fewer})"
        if fewer < 1:
            hint = f"train for {2 + self.profiled_steps} steps or more, with --warm-up 1 --timed 1 (warm_up=1, timed=1)"
        return (
            f"{where} ended after {self.steps_seen + self.skipped} of the {self.steps_needed + self.skipped} training "
            f"steps that a recording takes ({self.plan.warm_up} warm-up, {self.plan.timed} timed, the rest profiled or "
            f"skipped): {hint}; nothing was written"
        )

    def prepare(self) -> None:
        """Apply the settings for a recording; `begin_step` does so if needed."""
        if not self._prepared:
            claim_process(self._owner)
            self._prepared = True
            if not self.steps_seen:
                take_turn()
                print_progress(f"recording takes {self.steps_needed} training steps; {self.plan.warm_up} to warm up")
                if not (self.plan.as_device or self.engine.sees_gpu()):
                    print_once(NO_GPU)
            self.engine.prepare()
            if self._times:
                self.engine.stop_observing()

    def begin_step(self) -> None:
        """Begin a training step."""
        if self.finished:
            return
        self.prepare()
        self._began = None
        if self._is_disturbed():
            return
        if self.passes_next:
            self.passes_next = False
            self.skipped += 1
            return
        if self.steps_seen == self.plan.warm_up and not self._times:
            self.engine.stop_observing()
            print_progress(f"timing {self.plan.timed} steps")
        if self._is_profiling():
            if self._folder is None and not self._starts_profiler():
                return
            self.engine.begin_profiled_step(self.steps_seen)
        elif self.steps_seen >= self.plan.warm_up:
            self.engine.synchronize()
        self._began = perf_counter()

    def end_step(self, batch: object = None) -> bool:
        """End the training step that began last; True once the profile is written."""
        if self.finished or self._began is None or self._is_disturbed():
            return self.finished
        step_ms, is_profiling = None, self._is_profiling()
        if self.steps_seen >= self.plan.warm_up:
            self.engine.synchronize()
            step_ms = (perf_counter() - self._began) * MS_PER_S
            if is_profiling:
                self.engine.end_profiled_step()
        kind = self.pass_step(batch)
        if is_profiling:
            self._profiler_steps += 1
            if self._profiler_steps > self.engine.profiler_warm_up:
                self._slowest_ms = max(self._slowest_ms, step_ms or 0.0)
                self._profiled.append(kind)
        elif step_ms is not None:
            self._times.add(step_ms, kind)
        if self._folder is not None and self._profiler_steps == self.profiled_steps:
            self._take_or_try_again(Path(self._folder.name))
        return self.finished

    def pass_step(self, batch: object = None) -> StepKind | None:
        """End a step, whether its start was observed or, as of the first of a warm-up, not."""
        self.prepare()
        if batch is not None:
            self.engine.observe_batch(batch)
        kind = self.engine.end_observed_step()
        self._in_a_row = self._in_a_row + 1 if kind == self._last_kind else 1
        self._last_kind = kind
        if kind is not None and kind.sizes.pixels:
            self._sides.add((kind.sizes.height, kind.sizes.width))
        self.steps_seen += 1
        return kind

    def pause(self) -> None:
        """Pause for something other than a training step; restart an unfinished profile afterwards."""
        if self._folder is not None and not self.finished:
            self.engine.discard()
            self._drop_folder()
            self._began = None

    def start_over(self, engine: Engine) -> None:
        """Forget the steps so far: what follows is another network's training."""
        self.go_on_with(engine)
        self.steps_seen, self._waited, self.passes_next = 0, 0, False
        self._sides.clear()
        self._usually_ms = 0.0
        self._forget_times()

    def _forget_times(self) -> None:
        self._times, self._slow_ms, self._attempts, self._rank = Times(self.plan.timed), [], 0, None

    def go_on_with(self, engine: Engine) -> None:
        """Count on with the same kind of network: another fold, or another optimizer of the same weights."""
        self.abort()
        self.engine = engine

    def abort(self) -> None:
        """Stop whatever runs, undo every switch and leave nothing behind."""
        if not self.finished:
            self.pause()
            self.engine.restore()
            self._prepared, self._began = False, None
            if self._owner is self:
                release_process(self)

    def finish_early(self) -> bool:
        """End the training with the best profile so far; False if there is none."""
        if self._profile is None or self.finished:
            return self.finished
        self.abort()
        self._finish(self._profile)
        return True

    def _is_profiling(self) -> bool:
        return self._times.are_enough(1 if _trains_with_others() else _MAX_TIMED)

    def _is_disturbed(self) -> bool:
        """Return True while the script's own profiler is on: what it slows down is not timed."""
        if not self.engine.is_disturbed():
            return False
        self.pause()
        self._wait("a profiler of its own")
        return True

    def _wait(self, what: str) -> None:
        """Step aside for one step, not forever."""
        self._waited += 1
        if self._waited == 1:
            print_progress(f"the training runs {what}, and two can't run at once: waiting for its end")
        if self._waited > _PATIENCE:
            raise RecorderError(f"The training runs {what}, and two can't run at once: switch it off to record a step.")

    def _starts_profiler(self) -> bool:
        if not self._attempts:
            # The profiler's own buffers must not count.
            self.peak_memory_mib = self.engine.peak_memory_mib()
        print_progress(f"profiling {self.plan.profiled} step{'s' if self.plan.profiled > 1 else ''}")
        self._folder = tempfile.TemporaryDirectory(prefix="profet-")
        try:
            self.engine.start_profiler(Path(self._folder.name), self.plan.profiled)
        except Exception as error:  # each framework has its own for a profiler that runs already
            self.engine.discard()
            self._drop_folder()
            self._wait(f"a profiler of its own, it seems ({error})")
            return False
        return True

    def _take_or_try_again(self, folder: Path) -> None:
        trace = self.engine.stop_profiler(folder)
        self._attempts += 1
        kind, usual, slowest_ms = self._profiled[-1], self._times.usual, self._slowest_ms
        latencies_ms, are_alike = self._times.of(kind)
        other_kind = next(
            (recorded for recorded in self._profiled if usual is not None and recorded not in (usual, None)), None
        )
        # Where steps vary, any may be slower than their median.
        limit_ms = max(slow_from_ms(median(latencies_ms)), MAX_SLOWDOWN * self._usually_ms)
        is_slow = are_alike and slowest_ms > limit_ms
        slow = f"it took {format_ms(slowest_ms)} instead of {format_ms(median(latencies_ms))}" if is_slow else None
        other = other_kind.difference(usual) if other_kind and usual else None
        self._slow_ms = [*self._slow_ms, slowest_ms] if slow and not other else []
        # Of a kind with a latency of its own the profile is sound, though not the usual one.
        odd = slow if are_alike and len(set(self._profiled)) == 1 else other or slow
        # Of processes that train together none may go on alone.
        is_alone = not _trains_with_others()
        again = self._attempts <= MAX_REPEATS and (other or (is_alone and slow))
        rank = (bool(odd and other), -self._times.count(kind), slowest_ms)
        try:
            if self._rank is None or rank < self._rank:
                # Written even if it is to be profiled again: the training may end before.
                meta, sizes, warnings = self.engine.facts()
                peak_mib = None if self.peak_memory_mib is None else round(self.peak_memory_mib, 1)
                facts = replace(meta, peak_memory_mib=peak_mib), sizes, (*warnings, *self._varying(kind, are_alike))
                self._profile = recorded_profile(trace, facts, self.plan, latencies_ms, odd)
                self.plan.write(write_profile(self._profile))
                self._rank, self.latencies_ms = rank, latencies_ms
                self._keep(trace)
            if is_alone and other_kind and self._in_a_row >= _NEW_NORMAL:
                self._time_again(f"steps are different now ({other})")
            elif is_alone and len(self._slow_ms) == _NEW_NORMAL:
                self._usually_ms = min(self._slow_ms)
                self._time_again(f"{_NEW_NORMAL} steps in a row were slower")
            elif again:
                print_progress(f"that step was not like the others ({other or slow}); profiling again")
            else:
                self.engine.restore()
                assert self._profile is not None
                self._finish(self._profile)
        finally:
            self._drop_folder()

    def _time_again(self, why: str) -> None:
        print_progress(f"{why}; timing {self.plan.timed} steps again")
        self._forget_times()
        self.engine.stop_observing()

    def _varying(self, kind: StepKind | None, are_alike: bool) -> Iterator[str]:
        """Say which steps the profile is of, where they differ."""
        if kind is None:
            return
        if are_alike and len(self._sides) > 1:
            yield (
                f"The image size varies: pixels, latency and operations are those of steps with {kind.sizes.pixels} "
                "pixels."
            )
        elif self._times.usual is None:
            yield (
                f"Steps vary, such as {self._times.other(kind).difference(kind)}: batch, pixels and operations are "
                "those of the profiled step, the latency is the median of all steps; those with more or fewer batches "
                "are scaled to its number."
            )

    def _finish(self, profile: Profile) -> None:
        self.finished = True
        release_process(self._owner)
        for line in summary(profile, self.plan, self.latencies_ms):
            print_progress(line)

    def _keep(self, trace: Path) -> None:
        if self.plan.keep_trace is not None:
            # The framework's own file name holds the machine's name.
            kept = self.plan.keep_trace / f"step.{trace.name.partition('.')[2]}"
            try:
                shutil.copyfile(trace, kept)
            except OSError as error:
                print_progress(f"{kept} can't be written: {error.strerror}; the profile is")

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._profiler_steps, self._slowest_ms, self._profiled = 0, 0.0, []


def slow_from_ms(latency_ms: float) -> float:
    """Above how long a profiled step did something else besides.

    >>> slow_from_ms(0.2), slow_from_ms(10.0)
    (5.0, 15.0)
    """
    return MAX_SLOWDOWN * latency_ms if latency_ms >= _SHORT_MS else _MAX_SHORT_MS


def _trains_with_others() -> bool:
    return os.environ.get("WORLD_SIZE", "1") not in ("", "1")


def recorded_profile(
    trace: Path, facts: StepFacts, plan: RecordPlan, latencies_ms: Sequence[float], odd: str | None
) -> Profile:
    """Make the profile of a trace with all that is known of the step; what the user says goes before what was observed.

    Parameters
    ----------
    latencies_ms : of steps that ran without the profiler; their median is the step latency.
    odd : why the profiled step is not like the others; None if it is.

    Raises
    ------
    RecorderError : the step ran on a GPU of which the profiler saw nothing, or which a CPU was to stand in for.
    """
    meta, sizes, _ = facts
    if plan.as_device and meta.gpu is not None:
        raise RecorderError(
            f"The step ran on {meta.gpu}: leave --device cpu (as_device=True) out; nothing was written."
        )
    with trace.open("rb") as file:
        # Whatever marks steps in it: tf_keras marks each of the batches of which a step may have several.
        read = read_profile(file, "the recorded trace").with_steps(plan.profiled, "marked")
    operations = {name: us for name, us in read.operations.items() if name not in _SYNC_OPERATIONS}
    if meta.gpu is not None and not any(name.startswith(DEVICE_PREFIX) for name in operations):
        raise RecorderError(
            f"The profiler saw nothing of what {meta.gpu} did: allow profiling to all users (NVIDIA's driver option "
            "NVreg_RestrictProfilingToAdminUsers=0; in a container also --cap-add=SYS_ADMIN), install CUPTI, or run as "
            "root; nothing was written."
        )
    if plan.as_device:
        # As if the CPU, which has no device's operations, were the device.
        work = {name for name in operations if name.startswith(HOST_PREFIX) and name not in IDLE_OPERATIONS}
        operations = {
            DEVICE_PREFIX + name.removeprefix(HOST_PREFIX) if name in work else name: us
            for name, us in operations.items()
        }
    compiled = meta.compiled or read.meta.compiled or any("Xla" in name for name in operations)
    precision = meta.precision
    if precision in (None, "fp32"):
        # The kernels in the trace may show that it was less than the settings say.
        precision = read.meta.precision or precision
    # What is fed may differ from what a convolution gets: a list of images is put together and resized first.
    batch_sizes, pixels = (sizes.batch_size, read.meta.batch_size), (sizes.pixels, read.meta.pixels)
    batch_size = next(filter(None, reversed(batch_sizes) if sizes.is_guess else batch_sizes), None)
    side = next(filter(None, reversed(pixels) if sizes.is_list else pixels), None)
    return replace(
        read,
        operations=operations,
        meta=replace(
            meta,
            precision=plan.precision or precision,
            compiled=True if compiled else None,
            channels_last=read.meta.channels_last,
            work=read.meta.work,
            # Where no network is called as a module, a trace of PyTorch's may show its first convolution.
            batch_size=plan.batch_size or batch_size,
            pixels=plan.pixels or side,
            parameters=plan.parameters or meta.parameters or None,
            step_latency_ms=round(median(latencies_ms), 4),
        ),
        warnings=tuple(dict.fromkeys(_warnings(read, facts, plan, odd))),
    )


def _warnings(read: Profile, facts: StepFacts, plan: RecordPlan, odd: str | None) -> Iterator[str]:
    meta, _, warnings = facts
    if meta.gpu is None:
        yield STAND_IN if plan.as_device else NO_DEVICE
        if not holds_work(read.operations):
            yield NO_WORK
    # Passes and updates of the step are counted already.
    yield from (warning for warning in read.warnings if warning not in (ACCUMULATED, REPEATED_UPDATES))
    yield from warnings
    if odd:
        yield f"The profiled step was not like the others: {odd}."


def summary(profile: Profile, plan: RecordPlan, latencies_ms: Sequence[float]) -> Iterator[str]:
    """Lines for whoever watches: warnings, what could not be found out, and what was written."""
    meta = profile.meta
    if meta.gpu is None and not plan.as_device:
        yield ON_CPU
    for warning in profile.warnings:
        if warning != NO_DEVICE:
            yield f"warning: {warning}"
    if profile.refusal:
        yield f"warning: {profile.refusal}"
    if meta.batch_size is None:
        yield "the batch size is unknown: set it with --batch-size N (batch_size=N)"
        if meta.pixels is None and any("Conv2" in name or "Conv3" in name for name in profile.operations):
            yield "the image size is unknown: set its side with --pixels N (pixels=N)"
    low, high = format_ms(min(latencies_ms)), format_ms(max(latencies_ms))
    step = f"step {format_ms(median(latencies_ms))} (median of {len(latencies_ms)}, {low} to {high})"
    numbers = {
        "batch {}": meta.batch_size,
        "pixels {}": meta.pixels,
        "parameters {:,}": meta.parameters,
        "peak memory {:,.0f} MiB": meta.peak_memory_mib,
    }
    parts = [text.format(number) for text, number in numbers.items() if number is not None]
    described = ", ".join(filter(None, [step, *parts, meta.precision, meta.gpu or "CPU", meta.framework]))
    yield f"wrote {plan.output}: {len(profile.operations)} operation types, {described}"
    if meta.gpu is not None or plan.as_device:
        yield f"next: {next_step(plan.output)}"


def next_step(profile: Path) -> str:
    """Say what to do with a profile: at the app that the recorder was installed from, if it was."""
    try:
        source = distribution("profet-recorder").read_text("direct_url.json")
    except PackageNotFoundError:
        source = None
    address, served, _ = (json.loads(source)["url"] if source else "").rpartition("/recorder/")
    if served and address.startswith("http"):
        return f"upload it at {address}"
    if find_spec("profet_core") is not None:
        return f"`profet advise {profile.name} --images N` (N: training images), or upload it in the app (`profet app`)"
    return "upload it on the app's Predict page"
