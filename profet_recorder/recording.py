"""One recording: warm-up steps, timed steps without the profiler, profiled steps, and the profile they make."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from profet_core.profiles import Profile, ProfileMeta, read_profile, write_profile
from profet_core.profiles.record import DEVICE_PREFIX, NO_DEVICE
from profet_core.units import MS_PER_S, format_ms
from profet_recorder.engines.engine import Engine, StepFacts
from profet_recorder.errors import RecorderError, say
from profet_recorder.plan import RecordPlan

#: A profiled step that turns out to be another than the timed ones (validation, a rest of a batch) is recorded again.
_ATTEMPTS = 4
#: What the recorder itself asks the framework to do.
_OWN_OPERATIONS = ("Host_SyncDevice", "Device_SyncDevice")

NO_GPU_TIMES = (
    "The profiler saw nothing of what {gpu} did: allow profiling to all users (NVIDIA's driver option "
    "NVreg_RestrictProfilingToAdminUsers=0; in a container also --cap-add=SYS_ADMIN), install CUPTI, or run as root; "
    "nothing was written."
)


class Recording:
    """Counts a training's steps and records them; `begin_step` and `end_step` enclose each, on the training's thread.

    Attributes
    ----------
    steps_seen : steps that ended since the recording began (or began again).
    finished : the profile is written; further steps are ignored.
    """

    def __init__(self, plan: RecordPlan, engine: Engine) -> None:
        self.plan = plan
        self.engine = engine
        self.steps_seen = 0
        self.finished = False
        self._latencies_ms: list[float] = []
        self._peak_memory_mib: float | None = None
        self._folder: tempfile.TemporaryDirectory | None = None
        self._profiler_steps = 0
        self._attempts = 0
        self._began: float | None = None
        self._prepared = False

    @property
    def steps_needed(self) -> int:
        """Steps that a training must have, at the least; more once an odd one was profiled."""
        return self.plan.warm_up + self.plan.timed + self.profiled_steps * (1 + self._attempts)

    @property
    def profiled_steps(self) -> int:
        """Steps in a row that the profiler takes, its own warm-up among them."""
        return self.engine.profiler_warm_up + self.plan.profiled

    def shortage(self, where: str) -> str:
        """A line that says that `where` ended too early."""
        return (
            f"{where} ended after {self.steps_seen} of the {self.steps_needed} training steps that a recording takes "
            f"({self.plan.warm_up} warm-up, {self.plan.timed} timed, the rest profiled): train longer, "
            "or take fewer timed and warm-up steps; nothing was written."
        )

    def prepare(self) -> None:
        """Make the settings for a recording; `begin_step` does if nobody did."""
        if not self._prepared:
            self._prepared = True
            say(f"recording takes {self.steps_needed} training steps; {self.plan.warm_up} to warm up")
            self.engine.prepare()

    def begin_step(self) -> None:
        """A training step begins."""
        if self.finished:
            return
        self.prepare()
        if self.steps_seen == self.plan.warm_up and not self._latencies_ms:
            self.engine.stop_looking()
            say(f"timing {self.plan.timed} steps")
        if self._is_profiling():
            if self._folder is None:
                self._start_profiler()
            self.engine.begin_profiled_step(self.steps_seen)
        elif self._is_timing():
            self.engine.synchronize()
        self._began = perf_counter()

    def end_step(self, batch: object = None) -> bool:
        """The training step that began last has ended; True once the profile is written."""
        if self.finished or self._began is None:
            return self.finished
        if self._is_profiling():
            self.engine.end_profiled_step()
            self._profiler_steps += 1
        elif self._is_timing():
            self.engine.synchronize()
            self._latencies_ms.append((perf_counter() - self._began) * MS_PER_S)
        if batch is not None:
            self.engine.look_at(batch)
        self.steps_seen += 1
        if self._profiler_steps == self.profiled_steps:
            self._take_or_try_again()
        return self.finished

    def pause(self) -> None:
        """Something that is no training step comes next; a profile begun is begun again afterwards."""
        if self._folder is not None and not self.finished:
            self.engine.discard()
            self._drop_folder()

    def start_over(self, engine: Engine) -> None:
        """Forget the steps so far: what follows is another network's training."""
        self.abort()
        self.engine = engine
        self.steps_seen, self._latencies_ms, self._began, self._attempts = 0, [], None, 0
        self._prepared = False

    def abort(self) -> None:
        """Stop whatever runs, undo every switch and leave nothing behind."""
        if not self.finished:
            self.pause()
            self.engine.restore()

    def _is_timing(self) -> bool:
        return self.steps_seen >= self.plan.warm_up and len(self._latencies_ms) < self.plan.timed

    def _is_profiling(self) -> bool:
        return len(self._latencies_ms) == self.plan.timed

    def _start_profiler(self) -> None:
        # The profiler's own buffers must not count.
        self._peak_memory_mib = self.engine.peak_memory_mib() if not self._attempts else self._peak_memory_mib
        say(f"profiling {self.plan.profiled} step{'s' if self.plan.profiled > 1 else ''}")
        self._folder = tempfile.TemporaryDirectory(prefix="profet-")
        self._profiler_steps = 0
        try:
            self.engine.start_profiler(Path(self._folder.name), self.plan.profiled)
        except Exception as error:  # each framework has its own for a profiler that runs already
            self._drop_folder()
            raise RecorderError(f"The profiler can't be started; does another one run? ({error})") from None

    def _take_or_try_again(self) -> None:
        trace = self.engine.stop_profiler()
        self._attempts += 1
        odd = self.engine.odd_step()
        if odd and self._attempts < _ATTEMPTS:
            say(f"that step was not like the others ({odd}); profiling again")
            self._drop_folder()
            return
        self.engine.restore()
        try:
            self._finish(trace, odd)
        finally:
            self._drop_folder()

    def _finish(self, trace: Path, odd: str | None) -> None:
        with trace.open("rb") as file:
            recorded = read_profile(file, "the recorded trace")
        operations = {name: us for name, us in recorded.operations.items() if name not in _OWN_OPERATIONS}
        facts = self.engine.facts()
        if facts.gpu is not None and not any(name.startswith(DEVICE_PREFIX) for name in operations):
            raise RecorderError(NO_GPU_TIMES.format(gpu=facts.gpu))
        compiled = facts.compiled or recorded.meta.compiled or any("Xla" in name for name in operations)
        warnings = [*recorded.warnings, *facts.warnings]
        if odd:
            warnings.append(f"The profiled step was not like the others: {odd}.")
        if facts.gpu is None:
            warnings.insert(0, NO_DEVICE)
        profile = Profile(
            operations,
            self._meta(facts, compiled, recorded.meta.precision),
            recorded.source_format,
            (),
            recorded.steps,
            tuple(warnings),
            recorded.steps_basis,
            recorded.refusal,
        )
        self.plan.write(write_profile(profile))
        self.finished = True
        self._tell(profile)
        if self.plan.keep_trace is not None:
            self._keep(trace)

    def _keep(self, trace: Path) -> None:
        # The framework's own file name holds the machine's name.
        kept = self.plan.keep_trace / f"step.{trace.name.partition('.')[2]}"
        try:
            shutil.copyfile(trace, kept)
        except OSError as error:
            say(f"{kept} can't be written: {error.strerror}; the profile is")

    def _meta(self, facts: StepFacts, compiled: bool, shown_precision: str | None) -> ProfileMeta:
        plan = self.plan
        return ProfileMeta(
            gpu=facts.gpu,
            framework=facts.framework,
            precision=plan.precision or _precision(facts.precision, shown_precision),
            batch_size=plan.batch_size or facts.sizes.batch_size,
            pixels=plan.pixels or facts.sizes.pixels,
            parameters=plan.parameters or facts.parameters or None,
            step_latency_ms=round(median(self._latencies_ms), 4),
            peak_memory_mib=None if self._peak_memory_mib is None else round(self._peak_memory_mib, 1),
            compiled=True if compiled else None,
            onednn=facts.onednn,
        )

    def _tell(self, profile: Profile) -> None:
        for warning in profile.warnings:
            say(f"warning: {warning}")
        if profile.refusal:
            say(f"warning: {profile.refusal}")
        meta = profile.meta
        unknown = [name for name in ("batch_size", "pixels") if getattr(meta, name) is None]
        if unknown:
            say(f"{' and '.join(unknown)} could not be found out: give them ({', '.join(f'{n}=...' for n in unknown)})")
        known = {
            "batch": meta.batch_size,
            "pixels": meta.pixels,
            "parameters": meta.parameters and f"{meta.parameters:,}",
            "peak memory": meta.peak_memory_mib and f"{meta.peak_memory_mib:,.0f} MiB",
        }
        low, high = min(self._latencies_ms), max(self._latencies_ms)
        parts = [
            f"step {format_ms(meta.step_latency_ms)} (median of {len(self._latencies_ms)}, "
            f"{format_ms(low)} to {format_ms(high)})",
            *(f"{name} {value}" for name, value in known.items() if value is not None),
            *(str(value) for value in (meta.precision, meta.gpu or "CPU", meta.framework) if value),
        ]
        say(f"wrote {self.plan.output}: {len(profile.operations)} operation types, {', '.join(parts)}")

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._profiler_steps = 0


def _precision(set_to: str | None, shown: str | None) -> str | None:
    """What the settings say, unless the kernels in the trace show that it was less than FP32."""
    return (shown or set_to) if set_to in (None, "fp32") else set_to
