"""What is to be recorded and where it goes; everything that can be refused is refused before the training starts."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from profet_core.profiles.limits import is_short_text
from profet_core.units import whole_number
from profet_core.whole_files import write_whole
from profet_recorder.errors import RecorderError, is_first_process


@dataclass(frozen=True)
class RecordPlan:
    """How one recording goes; made by `record_plan`.

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

    Raises
    ------
    ProfetError : a number below its least, a precision that is not a short text, or an output that can't be written.
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
        _check_writable(self.output, force=self.force)
        if self.keep_trace is not None:
            _make_folder(self.keep_trace)

    def write(self, data: bytes) -> None:
        """Write the profile, whole or not at all; of processes that train together the first one does."""
        if not is_first_process():
            return
        try:
            write_whole(self.output, data)
        except OSError as error:
            raise RecorderError(f"{self.output} can't be written: {error.strerror}.") from None


def record_plan(
    output: str | PathLike[str], *, keep_trace: str | PathLike[str] | None = None, **fields: Any
) -> RecordPlan:
    """The plan of a recording into `output`; `fields` and errors are those of `RecordPlan`."""
    return RecordPlan(absolute(output), keep_trace=None if keep_trace is None else absolute(keep_trace), **fields)


def absolute(path: str | PathLike[str]) -> Path:
    """`path` as it is now: a script may change its folder."""
    return Path(path).expanduser().absolute()


def _check_writable(output: Path, *, force: bool) -> None:
    if output.is_dir():
        raise RecorderError(f"{output} is a folder: name a file, such as {output / 'profile.json'}.")
    if output.exists() and not force:
        raise RecorderError(f"{output} exists: name another file, or overwrite it with --force (force=True).")
    if not output.parent.is_dir():
        raise RecorderError(f"Folder {output.parent} not found: make it, or name another file.")
    try:
        with tempfile.NamedTemporaryFile(dir=output.parent, prefix=".profet-"):
            pass
    except OSError as error:
        raise RecorderError(f"Can't write into {output.parent}: {error.strerror}.") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecorderError(f"The folder {folder} can't be made: {error.strerror}.") from None
