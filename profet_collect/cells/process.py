"""Runs a cell's process: what it answers, or what its end says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profet_collect.cells.task import Measured, Seen, Task, measured_of
from profet_core.errors import InputError

_ROOT = Path(__file__).resolve().parents[2]
_TORCH_OR_TENSORFLOW = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
_LONGEST_WHY = 300


def measure(task: Task, timeout_s: float) -> Measured:
    """A cell's measurement; whatever becomes of its process is a status."""
    killed_before = _killed_for_memory()
    with tempfile.TemporaryDirectory(prefix="profet-collect-") as folder:
        status, said, document = _answer(task, Path(folder), timeout_s)
    if document is not None:
        return measured_of(document)
    if status is None:
        return Measured("failed", f"it took more than {timeout_s:g} s")
    if status == -signal.SIGKILL and _killed_for_memory() > killed_before:
        return Measured("out-of-memory", "the system ended it: the machine's memory was full")
    end = f"signal {-status}" if status < 0 else f"exit status {status}"
    return Measured("failed", f"its process ended with {end}{': ' if said else ''}{said}")


def look(task: Task, timeout_s: float) -> Seen:
    """What a framework sees of the machine.

    Raises
    ------
    InputError : it can't be started.
    """
    with tempfile.TemporaryDirectory(prefix="profet-collect-") as folder:
        _, said, document = _answer(task, Path(folder), timeout_s)
    if document is None:
        name = _TORCH_OR_TENSORFLOW[task.framework]
        raise InputError(f"{name} can't be started{': ' if said else ''}{said or ''}: mend it, or leave it out with "
                         "--frameworks.")  # fmt: skip
    return Seen(**document)


def _answer(task: Task, folder: Path, timeout_s: float) -> tuple[int | None, str, Mapping[str, Any] | None]:
    """Exit status (None: it took too long), the last line it said, and its answer (None: it gave none)."""
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
    return status, _last_line(log), document


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
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
    return {**os.environ, **own}


def _last_line(log: Path) -> str:
    """The last line that is not the recorder's own."""
    lines = log.read_bytes()[-20_000:].decode("utf-8", "replace").splitlines()
    said = (line.strip() for line in reversed(lines) if line.strip() and not line.startswith("profet: "))
    return next(said, "")[:_LONGEST_WHY]


def _killed_for_memory() -> int:
    """How many processes Linux has ended because memory was full; 0 where it doesn't tell."""
    try:
        counters = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in counters if line.startswith("oom_kill ")), 0)
