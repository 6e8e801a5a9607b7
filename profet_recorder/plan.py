"""What is to be recorded and where it goes; everything that can be refused is refused before the training starts."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from profet_core.profiles.limits import is_short_text
from profet_core.units import whole_number
from profet_recorder.errors import RecorderError


@dataclass(frozen=True)
class RecordPlan:
    """How one recording goes.

    Attributes
    ----------
    output : the profile to write; made absolute, since a script may change its folder.
    warm_up : steps before anything is measured: compilation, cuDNN's search, caches.
    timed : steps whose median is the step latency; no profiler runs meanwhile.
    profiled : steps in the profile, averaged.
    batch_size, pixels, parameters, precision : what the user knows better than the recorder finds out; None: found.
    force : overwrite `output`.
    keep_trace : folder that gets a copy of the raw trace, which names layers; None: the trace is deleted.

    Raises
    ------
    ProfetError : a number below its least, a precision that is no short text, or an output that can't be written.
    """

    output: Path
    warm_up: int = 5
    timed: int = 10
    profiled: int = 1
    batch_size: int | None = None
    pixels: int | None = None
    parameters: int | None = None
    precision: str | None = None
    force: bool = False
    keep_trace: Path | None = None

    def __post_init__(self) -> None:
        whole_number("The number of warm-up steps", self.warm_up)
        whole_number("The number of timed steps", self.timed)
        whole_number("The number of profiled steps", self.profiled)
        for name in ("batch_size", "pixels", "parameters"):
            if getattr(self, name) is not None:
                whole_number(name.replace("_", " ").capitalize(), getattr(self, name))
        if self.precision is not None and not (is_short_text(self.precision) and self.precision.strip()):
            raise RecorderError("The precision must be a short text: fp32, tf32, mixed fp16 ...")
        object.__setattr__(self, "output", Path(self.output).expanduser().absolute())
        self._check_output()
        if self.keep_trace is not None:
            object.__setattr__(self, "keep_trace", Path(self.keep_trace).expanduser().absolute())
            self._make_trace_folder()

    def write(self, data: bytes) -> None:
        """Write the profile, whole or not at all."""
        part = self.output.with_name(f".profet-{os.getpid()}.part")
        try:
            part.write_bytes(data)
            part.replace(self.output)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise RecorderError(f"{self.output} can't be written: {error.strerror}.") from None

    def _check_output(self) -> None:
        if self.output.is_dir():
            raise RecorderError(f"{self.output} is a folder: name a file, such as {self.output / 'profile.json'}.")
        if self.output.exists() and not self.force:
            raise RecorderError(f"{self.output} exists: name another file, or overwrite it with --force (force=True).")
        if not self.output.parent.is_dir():
            raise RecorderError(f"There is no folder {self.output.parent}: make it, or name another file.")
        try:
            with tempfile.NamedTemporaryFile(dir=self.output.parent, prefix=".profet-"):
                pass
        except OSError as error:
            raise RecorderError(f"Nothing can be written into {self.output.parent}: {error.strerror}.") from None

    def _make_trace_folder(self) -> None:
        try:
            self.keep_trace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecorderError(f"The folder {self.keep_trace} can't be made: {error.strerror}.") from None
