"""The process that reads one network file: `python -m profet_core.layers.guarded.child MEMORY_BYTES CPU_SECONDS SUFFIX
PIXELS`, the last one empty for the file's own.

The file is its standard input, what it has to say its standard output. Of the file's name it knows the end only.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from profet_core.errors import InputError
from profet_core.layers.guarded.answers import NetworkAnswer, write_answer
from profet_core.layers.reading import read_network
from profet_core.profiles.guarded.answers import MEMORY
from profet_core.profiles.guarded.child import limit_process


def main(arguments: list[str]) -> None:
    """Limit this process, read, and answer."""
    memory_bytes, cpu_s, suffix, pixels = arguments
    limit_process(int(memory_bytes), int(cpu_s))
    sys.stdout.buffer.write(write_answer(_read(sys.stdin.buffer, suffix, int(pixels) if pixels else None)))


def _read(file: BinaryIO, suffix: str, pixels: int | None) -> NetworkAnswer:
    name = f"network{suffix}"
    try:
        network = read_network(file, name, pixels)
    except InputError as error:
        return NetworkAnswer(error=str(error).removeprefix(f"{name}: "))
    except MemoryError:
        # Said below, when what was held is let go.
        pass
    else:
        return NetworkAnswer(network=network)
    return NetworkAnswer(limit=MEMORY)


if __name__ == "__main__":
    main(sys.argv[1:])
