"""The process that reads one file: `python -m profet_core.profiles.guarded.child MEMORY_BYTES CPU_SECONDS SUFFIX`.

The file is its standard input, what it has to say its standard output. Of the file's name it knows the end only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import BinaryIO

from profet_core.errors import ProfileError
from profet_core.profiles.guarded.answers import MEMORY, Answer, write_answer
from profet_core.profiles.reading import read_profile

#: Whoever looks at a page comes first.
NICENESS = 10
#: Memory that a library only maps counts as address space.
_MAPPED_BYTES = 2**30
#: The soft limit ends the process with a signal of its own, the hard one would with one that says nothing.
_GRACE_S = 2


def main(arguments: list[str]) -> None:
    """Limit this process, read, and answer."""
    memory_bytes, cpu_s, suffix = int(arguments[0]), int(arguments[1]), arguments[2]
    out = sys.stdout.buffer
    limit_process(memory_bytes, cpu_s)
    out.write(write_answer(_read(sys.stdin.buffer, suffix, out)))


def limit_process(memory_bytes: int, cpu_s: int) -> None:
    """Take no more than this, and stand back for others; as far as the system knows how."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    # Where memory ends for the whole machine, the reader goes and not the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        import resource
    except ImportError:  # Windows
        return
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


def _read(file: BinaryIO, suffix: str, out: BinaryIO) -> Answer:
    name = f"profile{suffix}"
    try:
        profile = read_profile(file, name, progress=lambda share: _say(out, share))
    except ProfileError as error:
        return Answer(error=str(error).removeprefix(f"{name}: "))
    except MemoryError:
        # Said below, when what was held is let go.
        pass
    else:
        return Answer(profile=profile)
    return Answer(limit=MEMORY)


def _say(out: BinaryIO, share: float) -> None:
    out.write(write_answer(Answer(share=float(share))))
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
