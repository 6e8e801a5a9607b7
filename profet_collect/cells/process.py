"""Runs a cell's process: what it answers, or what its end says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profet_collect.cells.task import Measured, Seen, Task, measured_of, says_full_memory
from profet_core.collected.record import Status
from profet_core.errors import InputError

_ROOT = Path(__file__).resolve().parents[2]
_TORCH_OR_TENSORFLOW = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
_LONGEST_WHY = 300
_LOG_BYTES = 20_000
#: A process that a driver holds can't be killed: it is left behind after so many seconds.
_DEATH_S = 30.0
#: What forces or forbids TF32 whatever a program sets.
_OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")


@dataclass(frozen=True, slots=True)
class _End:
    """How a process ended: its exit status (None: it took too long), its log's end, its answer (None: it gave none)."""

    status: int | None
    log: str
    document: Mapping[str, Any] | None

    @property
    def said(self) -> str:
        """The log's last line that is not the recorder's own, behind a colon; empty without one."""
        lines = (line.strip() for line in reversed(self.log.splitlines()))
        last = next((line for line in lines if line and not line.startswith("profet: ")), "")
        return f": {last[:_LONGEST_WHY]}" if last else ""


def measure(task: Task, timeout_s: float) -> Measured:
    """A cell's measurement; whatever becomes of its process is a status."""
    with tempfile.TemporaryDirectory(prefix="profet-collect-") as folder:
        end = _end_of(task, Path(folder), timeout_s)
    if end.document is not None:
        return measured_of(end.document)
    if end.status is None:
        return Measured("failed", f"it took more than {timeout_s:g} s")
    if end.status == -signal.SIGKILL:
        return Measured("out-of-memory", "the system killed it, as it does where the machine runs out of memory")
    words = f"signal {-end.status}" if end.status < 0 else f"exit status {end.status}"
    status: Status = "out-of-memory" if says_full_memory(end.log) else "failed"
    return Measured(status, f"its process ended with {words}{end.said}")


def look(task: Task, timeout_s: float) -> Seen:
    """What a framework sees of the machine.

    Raises
    ------
    InputError : it can't be started.
    """
    with tempfile.TemporaryDirectory(prefix="profet-collect-") as folder:
        end = _end_of(task, Path(folder), timeout_s)
    if end.document is None:
        name = _TORCH_OR_TENSORFLOW[task.framework]
        raise InputError(f"{name} can't be started{end.said}: fix it, or exclude it with --frameworks.")
    return Seen(**end.document)


def _end_of(task: Task, folder: Path, timeout_s: float) -> _End:
    answer, log = folder / "answer.json", folder / "log"
    command = [sys.executable, "-m", "profet_collect.cells.child", task.text(), str(answer)]
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            env=_environment(task),
            # Ctrl-C is for the collector, which ends its cell itself.
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
    document = json.loads(answer.read_bytes()) if answer.exists() else None
    return _End(status, log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace"), document)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DEATH_S)
    if process.stdin is not None:
        process.stdin.close()


def _environment(task: Task) -> dict[str, str]:
    own = {"PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))}
    own |= {"TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"}
    if task.device == "cpu":
        # As if there were no GPU, whichever there is.
        own["CUDA_VISIBLE_DEVICES"] = ""
    if task.threads is not None:
        own |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(task.threads))
    return {name: value for name, value in os.environ.items() if name not in _OVERRIDES} | own
