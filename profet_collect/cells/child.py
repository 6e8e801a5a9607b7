"""The process of one cell: `python -m profet_collect.cells.child TASK ANSWER`; it ends with whoever holds its stdin."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from profet_collect.cells.task import Measured, Task, task_of
from profet_core.whole_files import write_whole

_MODULES = {"pytorch": "profet_collect.cells.pytorch", "tensorflow": "profet_collect.cells.tensorflow"}
#: Names of the errors that say that memory is full, of either framework and of Python.
_FULL = ("OutOfMemoryError", "ResourceExhaustedError", "MemoryError")
#: What errors of another name say when memory is full.
_FULL_WORDS = (
    "out of memory", "OOM when allocating", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory", "RESOURCE_EXHAUSTED", "failed to allocate",
)  # fmt: skip
_LONGEST_WHY = 300


def main(arguments: list[str]) -> None:
    """Measure, and write the answer."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _die_first()
    task, answer = task_of(arguments[0]), Path(arguments[1])
    module: Any = import_module(_MODULES[task.framework])
    document = asdict(module.seen(task)) if task.cell is None else asdict(_measured(module.measure, task))
    write_whole(answer, json.dumps(document).encode())
    # A framework's own end may hang or crash; the answer is there.
    sys.stderr.flush()
    os._exit(0)


def _measured(measure: Callable[[Task], Measured], task: Task) -> Measured:
    try:
        return measure(task)
    except Exception as error:  # each framework has its own
        why = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_WHY]
        return Measured("out-of-memory" if _is_full(error) else "failed", why)


def _is_full(error: Exception) -> bool:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(kinds.intersection(_FULL)) or any(word.lower() in str(error).lower() for word in _FULL_WORDS)


def _end_with_parent() -> None:
    """A collector that was killed leaves no process on the GPU."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


def _die_first() -> None:
    """Where the machine's memory runs out, Linux is to take this process and no other."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main(sys.argv[1:])
