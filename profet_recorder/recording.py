"""One recording: warm-up steps, timed steps without the profiler, profiled steps, and the profile they make."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from profet_core.profiles import write_profile
from profet_core.units import MS_PER_S
from profet_recorder.errors import RecorderError, print_progress
from profet_recorder.plan import RecordPlan
from profet_recorder.recorded_profile import TimedSteps, recorded_profile, summary

if TYPE_CHECKING:
    from profet_recorder.engines.choose import Engine

#: A profiled step that turns out to be another than the timed ones (validation, a smaller last batch) is taken again.
_ATTEMPTS = 4
#: A profiler of the script's own may be on for some steps; after so many it is on for good.
_PATIENCE = 20


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
        self._waited = 0
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

    @property
    def timed(self) -> TimedSteps:
        """Latencies of the timed steps so far, and the peak memory once they are over."""
        return TimedSteps(tuple(self._latencies_ms), self._peak_memory_mib)

    def shortage(self, where: str) -> str:
        """One line: `where` ended too early."""
        return (
            f"{where} ended after {self.steps_seen} of the {self.steps_needed} training steps that a recording takes "
            f"({self.plan.warm_up} warm-up, {self.plan.timed} timed, the rest profiled): train longer, "
            "or take fewer timed and warm-up steps; nothing was written"
        )

    def prepare(self) -> None:
        """Apply the settings for a recording; `begin_step` does so if needed."""
        if not self._prepared:
            self._prepared = True
            if not self.steps_seen:
                print_progress(f"recording takes {self.steps_needed} training steps; {self.plan.warm_up} to warm up")
            self.engine.prepare()
            if self._latencies_ms:
                self.engine.stop_observing()

    def begin_step(self) -> None:
        """A training step begins."""
        if self.finished:
            return
        self.prepare()
        self._began = None
        if self._is_disturbed():
            return
        if self.steps_seen == self.plan.warm_up and not self._latencies_ms:
            self.engine.stop_observing()
            print_progress(f"timing {self.plan.timed} steps")
        if self._is_profiling():
            if self._folder is None and not self._starts_profiler():
                return
            self.engine.begin_profiled_step(self.steps_seen)
        elif self._is_timing():
            self.engine.synchronize()
        self._began = perf_counter()

    def end_step(self, batch: object = None) -> bool:
        """The training step that began last has ended; True once the profile is written."""
        if self.finished or self._began is None or self._is_disturbed():
            return self.finished
        if self._is_profiling():
            self.engine.end_profiled_step()
            self._profiler_steps += 1
        elif self._is_timing():
            self.engine.synchronize()
            self._latencies_ms.append((perf_counter() - self._began) * MS_PER_S)
        if batch is not None:
            self.engine.observe_batch(batch)
        self.steps_seen += 1
        if self._folder is not None and self._profiler_steps == self.profiled_steps:
            self._take_or_try_again(Path(self._folder.name))
        return self.finished

    def pass_step(self, batch: object = None) -> None:
        """End a step whose start was not observed: the first of a warm-up."""
        self.prepare()
        if batch is not None:
            self.engine.observe_batch(batch)
        self.steps_seen += 1

    def pause(self) -> None:
        """Pause for something other than a training step; restart an unfinished profile afterwards."""
        if self._folder is not None and not self.finished:
            self.engine.discard()
            self._drop_folder()
            self._began = None

    def start_over(self, engine: Engine) -> None:
        """Forget the steps so far: what follows is another network's training."""
        self.abort()
        self.engine = engine
        self.steps_seen, self._latencies_ms, self._attempts, self._waited = 0, [], 0, 0

    def abort(self) -> None:
        """Stop whatever runs, undo every switch and leave nothing behind."""
        if not self.finished:
            self.pause()
            self.engine.restore()
            self._prepared, self._began = False, None

    def _is_timing(self) -> bool:
        return self.steps_seen >= self.plan.warm_up and len(self._latencies_ms) < self.plan.timed

    def _is_profiling(self) -> bool:
        return len(self._latencies_ms) == self.plan.timed

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
        # The profiler's own buffers must not count.
        self._peak_memory_mib = self.engine.peak_memory_mib() if not self._attempts else self._peak_memory_mib
        print_progress(f"profiling {self.plan.profiled} step{'s' if self.plan.profiled > 1 else ''}")
        self._folder = tempfile.TemporaryDirectory(prefix="profet-")
        self._profiler_steps = 0
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
        odd = self.engine.odd_step()
        if odd and self._attempts < _ATTEMPTS:
            print_progress(f"that step was not like the others ({odd}); profiling again")
            self._drop_folder()
            return
        self.engine.restore()
        try:
            self._finish(trace, odd)
        finally:
            self._drop_folder()

    def _finish(self, trace: Path, odd: str | None) -> None:
        timed = self.timed
        profile = recorded_profile(trace, self.engine.facts(), self.plan, timed, odd)
        self.plan.write(write_profile(profile))
        self.finished = True
        for line in summary(profile, self.plan, timed):
            print_progress(line)
        if self.plan.keep_trace is not None:
            _keep(trace, self.plan.keep_trace)

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._profiler_steps = 0


def _keep(trace: Path, folder: Path) -> None:
    # The framework's own file name holds the machine's name.
    kept = folder / f"step.{trace.name.partition('.')[2]}"
    try:
        shutil.copyfile(trace, kept)
    except OSError as error:
        print_progress(f"{kept} can't be written: {error.strerror}; the profile is")
