"""Reads one network file in a process of its own, so that no file holds up or takes down what serves others."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import BinaryIO

from profet_core.errors import InputError
from profet_core.layers.guarded.answers import MAX_ANSWER_BYTES, NetworkAnswer, read_answer
from profet_core.layers.network import Network
from profet_core.layers.reading import is_table, read_network
from profet_core.profiles.guarded.answers import MEMORY, TIME
from profet_core.profiles.guarded.line import ReadingLine, Waiting
from profet_core.profiles.guarded.process import LIMITS, Reader, ReadLimits, last_answer
from profet_core.profiles.guarded.read import LINE, taken
from profet_core.profiles.reading import shown_file_name

#: Layer tables up to this size are read at once, in some milliseconds; starting a process takes two hundred.
SMALL_BYTES = 64 * 2**10

_READER = Reader(
    "profet_core.layers.guarded.child", read_answer, lambda limit: NetworkAnswer(limit=limit), MAX_ANSWER_BYTES
)


def read_network_guarded(
    source: bytes | BinaryIO,
    name: str = "network",
    pixels: int | None = None,
    *,
    waiting: Waiting | None = None,
    limits: ReadLimits = LIMITS,
    line: ReadingLine = LINE,
) -> Network:
    """Read an uploaded network file as `read_network` does, within limits; safe to call from any thread.

    Parameters
    ----------
    source : the bytes, or a binary file. One of the system's is read as it is, anything else is copied first.
    waiting : called with the place in line, 1 for the next one, often; what it raises ends the reading.
    line : where to wait; profiles wait there too.

    Raises
    ------
    InputError : one line: what is wrong with this file, or that it takes more than the limits.
    BusyError : too many wait.
    """
    with taken(source) as file:
        file.seek(0)
        start = file.read(SMALL_BYTES + 1)
        if len(start) <= SMALL_BYTES and is_table(start):
            return read_network(start, name, pixels)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with line.turn(size, waiting):
            asked = "" if pixels is None else str(pixels)
            answer = last_answer(_READER, file, name, limits, arguments=[asked])
    return _network_in(answer, name, limits)


def _network_in(answer: NetworkAnswer, name: str, limits: ReadLimits) -> Network:
    shown = shown_file_name(name)
    if answer.network is not None:
        return replace(answer.network, name=shown)
    advice = "give the model's config.json, or a layer table"
    if answer.limit == MEMORY:
        raise InputError(f"{shown}: it takes more than {limits.memory_mb} MB of memory to read: {advice}.")
    if answer.limit == TIME:
        raise InputError(f"{shown}: it takes more than {limits.cpu_s} s to read: {advice}.")
    raise InputError(f"{shown}: {answer.error or f'reading it ended without a result: {advice}.'}")
