"""Measures one cell in a process of its own, so that a crash or a full memory ends that cell alone; both its ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Literal

import msgspec
from msgspec import Struct

from profet_collect.store import Cell, CellResult, Framework, Status, result_from
from profet_core.errors import InputError
from profet_profiles import read_profile
from profet_profiles.whole_files import write_whole
from profet_recorder.engine import BYTES_PER_MIB
from profet_recorder.plan import RecordPlan
from profet_recorder.recording import Recording

Device = Literal["gpu", "cpu"]
_ROOT = Path(__file__).resolve().parents[1]
_NAMES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
_MODULES = {"pytorch": "profet_collect.in_pytorch", "tensorflow": "profet_collect.in_keras"}
#: The process of a cell: it gets a task and the file that its answer goes to, and ends with whoever holds its stdin.
_CHILD = "import sys; from profet_collect.cell import main; main(*sys.argv[1:])"
_MAX_WHY_LENGTH = 300
_LOG_BYTES = 20_000
#: A process that a driver holds can't be killed: it is left behind after so many seconds.
_DEATH_S = 30.0
#: What forces or forbids TF32 whatever a program sets.
_OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
#: Names of the errors about memory that was too small, of either framework and of Python.
_FULL_NAMES = frozenset({"OutOfMemoryError", "ResourceExhaustedError", "MemoryError"})
#: What errors of another name say, and processes that end without one: TensorFlow and C++ abort.
_FULL_WORDS = (
    "out of memory",
    "out_of_memory",
    "oom when allocating",
    "resource_exhausted",
    "status_alloc_failed",
    "cudaerrormemoryallocation",
    "failed to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "std::bad_alloc",
)

_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Of a folder that nothing can be written to.
_NO_DISK = (*_FULL_DISK, errno.EROFS, errno.EACCES, errno.ENOENT)


class CellTask(Struct, frozen=True):
    """How cells are measured, and which one.

    Attributes
    ----------
    cell : None: nothing is measured, only what the framework sees is answered.
    device : "cpu" takes the processor for the device: its operations count as the device's.
    threads : of a CPU; None: as many as the framework takes.
    warm_up, timed : steps before and while the latency is taken.
    timeout_s : of the process, its start included.
    seed : of images, labels and weights.
    """

    framework: Framework
    cell: Cell | None = None
    device: Device = "gpu"
    threads: int | None = None
    warm_up: int = 5
    timed: int = 10
    timeout_s: float = 600.0
    seed: int = 0


class Seen(Struct, frozen=True):
    """The machine as a framework sees it.

    Attributes
    ----------
    version : the framework's.
    keras : Keras' and its version; "" for PyTorch.
    gpu : its name; None: it sees none.
    capability : NVIDIA's number of it, such as 7.5.
    """

    version: str
    keras: str = ""
    gpu: str | None = None
    capability: float | None = None


# --- the collector's end --------------------------------------------------------------------------------------------


def measure(task: CellTask) -> CellResult:
    """Measure a cell; whatever becomes of its process is a status. The framework's version is empty.

    InputError: the disk of temporary files is full, which says nothing of the cell.
    """
    result = _measured(task)
    for number in _FULL_DISK:
        if result.status == "failed" and os.strerror(number) in result.why:
            raise _no_temporary(number)
    return result


def _no_temporary(number: int) -> InputError:
    folder = tempfile.tempdir or "The temporary folder"
    return InputError(
        f"{folder} can't be written: {os.strerror(number)}. Free some space or set TMPDIR, and run "
        "the same command again."
    )


def _measured(task: CellTask) -> CellResult:
    status, log, document = _run(task)
    if document is not None:
        return result_from(document)
    if status is None:
        return _not_measured(task, "failed", f"it took more than {task.timeout_s:g} s")
    if status == -signal.SIGKILL:
        why = "the system killed it, as it does where the machine runs out of memory"
        return _not_measured(task, "out-of-memory", why)
    words = f"signal {-status}" if status < 0 else f"exit status {status}"
    is_full = _says_full_memory(log)
    why = f"its process ended with {words}{_last_line(log)}"
    return _not_measured(task, "out-of-memory" if is_full else "failed", why)


def look(task: CellTask) -> Seen:
    """Return the machine as a framework sees it; raises InputError if it can't be started."""
    _, log, document = _run(task)
    if document is None:
        name = _NAMES[task.framework]
        raise InputError(f"{name} can't be started{_last_line(log)}: fix it, or exclude it with --frameworks.")
    return Seen(**document)


def _not_measured(task: CellTask, status: Status, why: str) -> CellResult:
    assert task.cell is not None
    return CellResult(task.cell, "", status, _now(), why=why)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _last_line(log: str) -> str:
    """Return a log's last line that is not the recorder's own, behind a colon; empty without one."""
    lines = (line.strip() for line in reversed(log.splitlines()))
    last = next((line for line in lines if line and not line.startswith("profet: ")), "")
    return f": {last[:_MAX_WHY_LENGTH]}" if last else ""


@contextmanager
def _temporary() -> Iterator[str]:
    try:
        with tempfile.TemporaryDirectory(prefix="profet-collect-") as folder:
            yield folder
    except OSError as error:
        if error.errno in _NO_DISK:
            raise _no_temporary(error.errno) from None
        raise


def _run(task: CellTask) -> tuple[int | None, str, Any]:
    """Run a process: its exit status (None: it took too long), the end of its log, and its answer if it gave one."""
    with _temporary() as folder:
        answer, log = Path(folder) / "answer.json", Path(folder) / "log"
        with log.open("wb") as log_file:
            process = subprocess.Popen(
                [sys.executable, "-c", _CHILD, msgspec.json.encode(task).decode(), str(answer)],
                stdin=subprocess.PIPE,
                stdout=log_file,
                stderr=log_file,
                env=_environment(task),
                # Ctrl-C is for the collector, which ends its cell itself.
                start_new_session=True,
            )
            status: int | None = None
            try:
                with suppress(subprocess.TimeoutExpired):
                    status = process.wait(task.timeout_s)
            finally:
                # With all that it started.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_DEATH_S)
                if process.stdin is not None:
                    process.stdin.close()
        document = json.loads(answer.read_bytes()) if answer.exists() else None
        return status, log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace"), document


def _environment(task: CellTask) -> dict[str, str]:
    changed = {"PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))}
    changed |= {"TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"}
    if task.device == "cpu":
        # As if there were no GPU, whichever there is.
        changed["CUDA_VISIBLE_DEVICES"] = ""
    if task.threads is not None:
        changed |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(task.threads))
    return {name: value for name, value in os.environ.items() if name not in _OVERRIDES} | changed


def _says_full_memory(text: str) -> bool:
    """Whether a message or a log is about memory that was too small.

    >>> _says_full_memory("Check failed: status == OK: CUDA_ERROR_OUT_OF_MEMORY"), _says_full_memory("Xid 79")
    (True, False)
    """
    lower = text.lower()
    return any(word in lower for word in _FULL_WORDS)


# --- the cell's end -------------------------------------------------------------------------------------------------


def main(task_text: str, answer: str) -> None:
    """Measure, and write the answer."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        # Where the machine's memory runs out, Linux is to take this process and no other.
        Path("/proc/self/oom_score_adj").write_text("1000")
    task = msgspec.json.decode(task_text, type=CellTask)
    nothing_measured = task.cell is None
    answered = import_module(_MODULES[task.framework]).seen(task) if nothing_measured else measure_here(task).document()
    write_whole(Path(answer), msgspec.json.encode(answered))
    # A framework's own end may hang or crash; the answer is there.
    sys.stderr.flush()
    os._exit(0)


def measure_here(task: CellTask) -> CellResult:
    """Measure by the framework's module; an error that it doesn't know ends the process, which is recorded."""
    module: Any = import_module(_MODULES[task.framework])
    assert task.cell is not None
    try:
        with tempfile.TemporaryDirectory(prefix="profet-cell-") as folder:
            plan = RecordPlan(
                Path(folder) / "profile.json",
                warm_up=task.warm_up,
                timed=task.timed,
                profiled=1,
                batch_size=task.cell.batch_size,
                pixels=task.cell.pixels,
                as_device=task.device == "cpu",
            )
            return result_of_recording(module.record(task, plan), task)
    except module.ERRORS as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_WHY_LENGTH]
        names = {kind.__name__ for kind in type(error).__mro__}
        is_full = names & _FULL_NAMES or _says_full_memory(str(error))
        return _not_measured(task, "out-of-memory" if is_full else "failed", why)


def _end_with_parent() -> None:
    """End this process with the collector: one that was killed leaves none on the GPU."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


def result_of_recording(recording: Recording, task: CellTask) -> CellResult:
    """Return the result of a finished recording, its profile still on the disk."""
    assert task.cell is not None
    peak_mib = recording.peak_memory_mib
    with recording.plan.output.open("rb") as file:
        operations = dict(read_profile(file, "the recorded profile").operations)
    peak_bytes = None if peak_mib is None else round(peak_mib * BYTES_PER_MIB)
    if task.device == "cpu":
        import resource

        # Most memory the process held so far, its framework included; macOS counts in bytes, others in KiB.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak_bytes = peak if sys.platform == "darwin" else peak * 1024
    latencies_ms = tuple(round(ms, 4) for ms in recording.latencies_ms)
    return CellResult(
        task.cell,
        "",
        "ok",
        _now(),
        batch_latency_ms=round(median(latencies_ms), 4),
        latency_repeats_ms=latencies_ms,
        peak_memory_bytes=peak_bytes,
        operations_us=operations,
    )
