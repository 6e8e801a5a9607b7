"""The process of one cell: `python -m profet_collect.cells.child TASK ANSWER`; it ends with whoever holds its stdin."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from profet_collect.cells.task import Measured, Task, is_full_memory, task_of
from profet_core.whole_files import write_whole

_MODULES = {"pytorch": "profet_collect.cells.pytorch", "tensorflow": "profet_collect.cells.tensorflow"}
_LONGEST_WHY = 300


def main(arguments: list[str]) -> None:
    """Measure, and write the answer."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _die_first()
    task, answer = task_of(arguments[0]), Path(arguments[1])
    module: Any = import_module(_MODULES[task.framework])
    document = asdict(module.seen(task)) if task.cell is None else asdict(_measured(module, task))
    write_whole(answer, json.dumps(document).encode())
    # A framework's own end may hang or crash; the answer is there.
    sys.stderr.flush()
    os._exit(0)


def _measured(module: Any, task: Task) -> Measured:
    """What the framework's module measures; an error that it doesn't know ends the process, which is recorded."""
    try:
        return module.measure(task)
    except module.ERRORS as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_WHY]
        return Measured("out-of-memory" if is_full_memory(error) else "failed", why)


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
