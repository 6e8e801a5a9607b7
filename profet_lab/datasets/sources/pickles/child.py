"""The process that reads pickles: `python -m profet_lab.datasets.sources.pickles.child MEMORY_BYTES CPU_SECONDS SUFFIX
KIND [SIZES]`.

KIND is `frame`, and standard input is one pickle; or `times`, and it is many behind each other, of SIZES bytes. What it
has to say is a line of JSON on its standard output.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from profet_core.errors import ProfileError
from profet_core.profiles.guarded.answers import MEMORY
from profet_core.profiles.guarded.child import limit_process
from profet_lab.datasets.sources.pickles.answers import FRAME, PickleAnswer, write_answer
from profet_lab.datasets.sources.pickles.frames import epoch_times, frame_columns


def main(arguments: list[str]) -> None:
    """Limit this process, read, and answer."""
    memory_bytes, cpu_s, _, kind = arguments
    limit_process(int(memory_bytes), int(cpu_s))
    sys.stdout.buffer.write(write_answer(_read(sys.stdin.buffer, kind)))


def _read(file: BinaryIO, kind: str) -> PickleAnswer:
    try:
        return _frame(file) if kind == FRAME else _times(file)
    except MemoryError:
        # Said below, when what was held is let go.
        pass
    return PickleAnswer(limit=MEMORY)


def _frame(file: BinaryIO) -> PickleAnswer:
    try:
        return PickleAnswer(columns=frame_columns(file.read()))
    except ProfileError as error:
        return PickleAnswer(error=str(error))


def _times(file: BinaryIO) -> PickleAnswer:
    times: list[tuple[float, float]] = []
    while size := int.from_bytes(file.read(8), "big"):
        try:
            times.append(epoch_times(file.read(size)))
        except ProfileError as error:
            return PickleAnswer(error=str(error), place=len(times))
    return PickleAnswer(times=times)


if __name__ == "__main__":
    main(sys.argv[1:])
