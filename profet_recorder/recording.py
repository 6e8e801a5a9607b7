"""One recording: warm-up steps, timed steps without the profiler, profiled steps, and the profile they make."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from profet_recorder.engine import PYTORCH, TENSORFLOW, StepFacts, framework_of, imported_framework
from profet_recorder.plan import RecorderError, RecordPlan, print_progress, take_turn
from profet_recorder.profiles import Profile, read_profile, write_profile
from profet_recorder.profiles.record import (
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
from profet_recorder.units import MS_PER_S, format_ms

if TYPE_CHECKING:
    from profet_recorder.pytorch import PyTorchEngine
    from profet_recorder.tensorflow import ObservedKeras, TensorFlowEngine

    #: Its methods are called on the thread that trains, in the order in which they are defined.
    Engine: TypeAlias = PyTorchEngine | TensorFlowEngine

#: A profiled step that took more than this many of the timed ones did something else besides: validation, a checkpoint.
MAX_SLOWDOWN = 1.5
#: Such a step, or one of another batch size, is profiled again, so often at most.
MAX_REPEATS = 5
#: A profiler of the script's own may be on for some steps; after so many it is on for good.
_PATIENCE = 20
#: What the recorder itself asks the framework to do.
_SYNC_OPERATIONS = ("Host_SyncDevice", "Device_SyncDevice")
#: What matters first about a profile of a CPU.
ON_CPU = "Recorded on a CPU: run this on the GPU you want to use as anchor."


def choose_engine(
    framework: str | None = None,
    model: object = None,
    optimizer: object = None,
    keras_calls: ObservedKeras | None = None,
) -> Engine:
    """The engine of `framework` ("tensorflow", "pytorch"), `model`, `optimizer`, or the imported framework.

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
        from profet_recorder.pytorch import PyTorchEngine

        return PyTorchEngine(model, optimizer)
    raise RecorderError(f"Steps of {framework!r} can't be recorded: use framework='tensorflow' or 'pytorch'.")


#: Who records in this process: two profilers at once end it.
_recorders: list[object] = []


def claim_process(owner: object) -> None:
    """Let `owner` alone record from here on; RecorderError where another does."""
    if any(one is not owner for one in _recorders):
        raise RecorderError("This training is being recorded already, and two recordings can't run at once.")
    _recorders[:] = [owner]


def release_process(owner: object) -> None:
    """Let others record."""
    _recorders[:] = [one for one in _recorders if one is not owner]


class Recording:
    """Counts a training's steps and records them; `begin_step` and `end_step` enclose each, on the training's thread.

    Attributes
    ----------
    steps_seen : steps that ended since the recording began (or began again).
    passes_next : the next step is not recorded, such as a fold's first one, which is traced.
    skipped : steps that could not be recorded, such as the last one of each epoch of Keras'.
    finished : the profile is written for good; further steps are ignored.
    latencies_ms, peak_memory_mib : of the timed steps so far; the memory once they are over, None on a CPU.
    """

    def __init__(self, plan: RecordPlan, engine: Engine, owner: object = None) -> None:
        """`owner` is who claimed the process; None: the recording claims it itself."""
        self.plan = plan
        self.engine = engine
        self.steps_seen = self.skipped = 0
        self.finished = False
        self._owner = self if owner is None else owner
        #: The best profile so far, which is written already, and how good it is: what is odd about its step, and its
        #: duration.
        self._profile: Profile | None = None
        self._rank: tuple[bool, float] | None = None
        self._slowest_ms = 0.0
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
        return (
            f"{where} ended after {self.steps_seen + self.skipped} of the {self.steps_needed + self.skipped} training "
            f"steps that a recording takes ({self.plan.warm_up} warm-up, {self.plan.timed} timed, the rest profiled or "
            "skipped): train longer, or take fewer with --warm-up 1 --timed 3 (warm_up=1, timed=3); nothing was written"
        )

    def prepare(self) -> None:
        """Apply the settings for a recording; `begin_step` does so if needed."""
        if not self._prepared:
            claim_process(self._owner)
            self._prepared = True
            if not self.steps_seen:
                take_turn()
                print_progress(f"recording takes {self.steps_needed} training steps; {self.plan.warm_up} to warm up")
            self.engine.prepare()
            if self.latencies_ms:
                self.engine.stop_observing()

    def begin_step(self) -> None:
        """A training step begins."""
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
        if self.steps_seen == self.plan.warm_up and not self.latencies_ms:
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
        """The training step that began last has ended; True once the profile is written."""
        if self.finished or self._began is None or self._is_disturbed():
            return self.finished
        if self.steps_seen >= self.plan.warm_up:
            self.engine.synchronize()
            step_ms = (perf_counter() - self._began) * MS_PER_S
            if self._is_profiling():
                self.engine.end_profiled_step()
                self._profiler_steps += 1
                if self._profiler_steps > self.engine.profiler_warm_up:
                    self._slowest_ms = max(self._slowest_ms, step_ms)
            else:
                self.latencies_ms.append(step_ms)
        self.pass_step(batch)
        if self._folder is not None and self._profiler_steps == self.profiled_steps:
            self._take_or_try_again(Path(self._folder.name))
        return self.finished

    def pass_step(self, batch: object = None) -> None:
        """End a step, whether its start was observed or, as of the first of a warm-up, not."""
        self.prepare()
        if batch is not None:
            self.engine.observe_batch(batch)
        self.engine.end_observed_step()
        self.steps_seen += 1

    def pause(self) -> None:
        """Pause for something other than a training step; restart an unfinished profile afterwards."""
        if self._folder is not None and not self.finished:
            self.engine.discard()
            self._drop_folder()
            self._began = None

    def start_over(self, engine: Engine) -> None:
        """Forget the steps so far: what follows is another network's training."""
        self.go_on_with(engine)
        self.steps_seen, self.latencies_ms, self._attempts, self._waited = 0, [], 0, 0
        self._rank, self.passes_next = None, False

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

    def settle(self) -> bool:
        """The training has ended: finish with the best profile so far; False if there is none."""
        if self._profile is None or self.finished:
            return self.finished
        self.abort()
        self._finish(self._profile)
        return True

    def _is_profiling(self) -> bool:
        return len(self.latencies_ms) == self.plan.timed

    def _is_disturbed(self) -> bool:
        """True while the script's own profiler is on: what it slows down is not timed."""
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
        other = self.engine.odd_step()
        median_ms, slowest_ms = median(self.latencies_ms), self._slowest_ms
        is_slow = slowest_ms > MAX_SLOWDOWN * median_ms
        odd = other or (f"it took {format_ms(slowest_ms)} instead of {format_ms(median_ms)}" if is_slow else None)
        # Of processes that train together none may go on alone.
        again = odd and self._attempts <= MAX_REPEATS and (other or os.environ.get("WORLD_SIZE", "1") in ("", "1"))
        rank = (other is not None, slowest_ms)
        try:
            if self._rank is None or rank < self._rank:
                # Written even if it is to be profiled again: the training may end before.
                meta, sizes, warnings = self.engine.facts()
                peak_mib = None if self.peak_memory_mib is None else round(self.peak_memory_mib, 1)
                facts = replace(meta, peak_memory_mib=peak_mib), sizes, warnings
                self._profile = recorded_profile(trace, facts, self.plan, self.latencies_ms, odd)
                self.plan.write(write_profile(self._profile))
                self._rank = rank
                self._keep(trace)
            if again:
                print_progress(f"that step was not like the others ({odd}); profiling again")
            else:
                self.engine.restore()
                assert self._profile is not None
                self._finish(self._profile)
        finally:
            self._drop_folder()

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
        self._profiler_steps, self._slowest_ms = 0, 0.0


def recorded_profile(
    trace: Path, facts: StepFacts, plan: RecordPlan, latencies_ms: Sequence[float], odd: str | None
) -> Profile:
    """What the trace holds, with all that is known of the step; what the user knows goes before what was found.

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
        read = read_profile(file, "the recorded trace")
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
    known = [text.format(number) for text, number in numbers.items() if number is not None]
    described = ", ".join(filter(None, [step, *known, meta.precision, meta.gpu or "CPU", meta.framework]))
    yield f"wrote {plan.output}: {len(profile.operations)} operation types, {described}"
