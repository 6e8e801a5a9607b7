"""The limited process: `python -m profet_core.sandbox.child MODULE MEMORY_BYTES CPU_SECONDS [ARGUMENT ...]`.

It reads standard input with the `work` function of MODULE and prints lines of JSON: any number of `{"share": 0 to 1}`,
then one of `{"result": ...}`, `{"error": "one line"}` and `{"limit": "memory"}`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from profet_core.errors import ProfetError

#: Whoever looks at a page comes first.
NICENESS = 10
#: Memory that a library only maps counts as address space.
_MAPPED_BYTES = 2**30
#: The soft limit ends the process with a signal of its own, the hard one with a signal that tells nothing.
_GRACE_S = 2


def main(module: str, memory_bytes: str, cpu_s: str, *arguments: str) -> None:
    """Limit this process, work, and print the result."""
    # Imported without limits: a limited process could not even cache its code.
    work = import_module(module).work
    limit_process(int(memory_bytes), int(cpu_s))
    _say(_result(work, arguments))


def limit_process(memory_bytes: int, cpu_s: int) -> None:
    """Limit memory and processor time as far as the system can, and lower the priority."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    # Where memory ends for the whole machine, this process goes and not the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        import resource
    except ImportError:  # Windows
        return
    # Starting is no part of reading.
    cpu_s += math.ceil(time.process_time())
    limits = {
        # What a process holds itself; libraries that are mapped and not used take nothing.
        resource.RLIMIT_DATA: (memory_bytes, memory_bytes),
        resource.RLIMIT_AS: (memory_bytes + _MAPPED_BYTES, memory_bytes + _MAPPED_BYTES),
        resource.RLIMIT_CPU: (cpu_s, cpu_s + _GRACE_S),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, pair in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, pair)


def _result(work: Callable[..., object], arguments: Sequence[str]) -> dict[str, object]:
    try:
        return {"result": work(sys.stdin.buffer, arguments, _report_progress)}
    except ProfetError as error:
        return {"error": str(error)}
    except MemoryError:
        # Printed below, when what was held is freed.
        pass
    return {"limit": "memory"}


def _report_progress(share: float) -> None:
    _say({"share": float(share)})


def _say(document: dict[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps(document).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
