"""Plan of a recording, checked before the training starts; progress lines and errors."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import time
from typing import TypedDict, Unpack

from profet_profiles.errors import ProfetError
from profet_profiles.limits import is_short_text
from profet_profiles.units import whole_number
from profet_profiles.whole_files import write_whole


class RecorderError(ProfetError):
    """The step can't be recorded; the message says in one line what to do."""


#: A pipe with one byte, for whichever forked process records first, and the process that made it.
_turn: tuple[int, int] | None = None
_has_turn = True


def share_recording() -> None:
    """Share one recording with forked processes: only the first that calls `take_turn` records."""
    global _turn
    if hasattr(os, "fork"):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, b"1")
        _turn = reading, os.getpid()


def take_turn() -> None:
    """Begin to record in this process."""
    global _turn, _has_turn
    if _turn is not None and os.getpid() != _turn[1]:
        try:
            os.read(_turn[0], 1)
        except OSError:
            _has_turn = False
        _turn = None


def is_first_process() -> bool:
    """Return False in all but one of the processes that torchrun starts, or a script forks: one speaks and writes."""
    return _has_turn and os.environ.get("RANK", "0") in ("", "0")


_last_line_s = 0.0


def print_progress(text: str) -> None:
    """One line on stderr: stdout belongs to the user's training."""
    global _last_line_s
    if is_first_process():
        # A progress bar of tqdm's leaves its line unfinished.
        bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", ())
        begin = "\n" if any(getattr(bar, "last_print_t", 0.0) > _last_line_s for bar in list(bars)) else ""
        print(f"{begin}profet: {text}", file=sys.stderr, flush=True)
        _last_line_s = time()


_printed: set[str] = set()


def print_once(text: str) -> None:
    """Print the same, the first time only: a recording may begin again."""
    if text not in _printed:
        _printed.add(text)
        print_progress(text)


def failure_line(error: Exception) -> str:
    """One line: why there will be no profile."""
    return str(error) if isinstance(error, RecorderError) else f"The recorder failed ({type(error).__name__}: {error})."


def warn_and_continue(error: Exception) -> None:
    """Say why nothing is recorded while the training goes on."""
    print_progress(f"{failure_line(error)} The training goes on without it.")


@dataclass(frozen=True)
class RecordPlan:
    """Plan of one recording, made by `record_plan`. Raises ProfetError for what can't be meant or written.

    Attributes
    ----------
    output : the profile to write; absolute, since a script may change its folder.
    warm_up : steps before anything is measured: compilation, cuDNN's search, caches.
    timed : steps whose median is the step latency; no profiler runs meanwhile.
    profiled : steps in the profile, averaged.
    batch_size, pixels, parameters, precision : what the user knows better than the recorder finds out; None: found.
    as_device : a CPU's operations count as a device's: a stand-in, to try out what needs a GPU's profile.
    force : overwrite `output`.
    keep_trace : folder that gets a copy of the raw trace, which names layers; None: the trace is deleted.
    """

    output: Path
    warm_up: int = 5
    timed: int = 10
    profiled: int = 1
    batch_size: int | None = None
    pixels: int | None = None
    parameters: int | None = None
    precision: str | None = None
    as_device: bool = False
    force: bool = False
    keep_trace: Path | None = None

    def __post_init__(self) -> None:
        for name, number in (
            ("The number of warm-up steps", self.warm_up),
            ("The number of timed steps", self.timed),
            ("The number of profiled steps", self.profiled),
            ("Batch size", self.batch_size),
            ("Pixels", self.pixels),
            ("Parameters", self.parameters),
        ):
            if number is not None:
                whole_number(name, number)
        if self.precision is not None and not (is_short_text(self.precision) and self.precision.strip()):
            raise RecorderError("The precision must be a short text: fp32, tf32, mixed fp16 ...")
        output = self.output
        if output.is_dir():
            raise RecorderError(f"{output} is a folder: name a file, such as {output / 'profile.json'}.")
        if output.exists() and not self.force:
            raise RecorderError(f"{output} exists: name another file, or overwrite it with --force (force=True).")
        if not output.parent.is_dir():
            raise RecorderError(f"Folder {output.parent} not found: make it, or name another file.")
        try:
            tempfile.NamedTemporaryFile(dir=output.parent, prefix=".profet-").close()
        except OSError as error:
            raise RecorderError(f"Can't write into {output.parent}: {error.strerror}.") from None
        if self.keep_trace is not None:
            try:
                self.keep_trace.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecorderError(f"The folder {self.keep_trace} can't be made: {error.strerror}.") from None

    def write(self, data: bytes) -> None:
        """Write the profile, whole or not at all; of processes that train together the first one does."""
        if is_first_process():
            try:
                write_whole(self.output, data)
            except OSError as error:
                raise RecorderError(f"{self.output} can't be written: {error.strerror}.") from None


class PlanOptions(TypedDict, total=False):
    """Fields of `RecordPlan`, and where they are given its errors."""

    warm_up: int
    timed: int
    profiled: int
    batch_size: int | None
    pixels: int | None
    parameters: int | None
    precision: str | None
    as_device: bool
    force: bool
    keep_trace: str | PathLike[str] | None


def record_plan(output: str | PathLike[str], **options: Unpack[PlanOptions]) -> RecordPlan:
    """Return the plan of a recording into `output`; errors are those of `RecordPlan`."""
    folder = options.get("keep_trace")
    kept = None if folder is None else absolute(folder)
    return RecordPlan(absolute(output), **{**options, "keep_trace": kept})  # type: ignore[arg-type]


def absolute(path: str | PathLike[str]) -> Path:
    """`path` as it is now: a script may change its folder."""
    return Path(path).expanduser().absolute()
