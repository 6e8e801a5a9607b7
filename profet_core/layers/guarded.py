"""Read a network file in a limited process, so that no file harms the server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO

from profet_core.errors import InputError
from profet_core.layers.builder import MAX_LAYERS
from profet_core.layers.counts import count
from profet_core.layers.network import Network
from profet_core.layers.reading import is_table, read_network
from profet_core.layers.rules import Kind, Layer
from profet_core.profiles.guarded import read_limits
from profet_core.profiles.reading import shown_file_name
from profet_core.sandbox.process import Progress, ReadLimits, Task, file_suffix, is_line, taken
from profet_core.sandbox.waiting import QUEUE, ReadingQueue, Waiting

#: Layer tables up to this size are read at once, in some milliseconds; starting a process takes two hundred.
SMALL_BYTES = 64 * 2**10
#: Twenty thousand layers, some two hundred bytes each.
_MAX_ANSWER_BYTES = 8 * 2**20
_MAX_CAVEATS = 100


def read_network_guarded(
    source: bytes | BinaryIO,
    name: str = "network",
    pixels: int | None = None,
    *,
    waiting: Waiting | None = None,
    limits: ReadLimits | None = None,
    queue: ReadingQueue = QUEUE,
) -> Network:
    """Read a third-party network file as `read_network` does, within limits; safe to call from any thread.

    Parameters
    ----------
    source : the bytes, or a binary file. One of the system's is read as it is, anything else is copied first.
    waiting : called with the place in the queue, 1 for the next one, often; what it raises ends the reading.
    limits : those of its size if None. queue : where to wait; profiles wait there too.

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
        limits = limits or read_limits(size)
        with queue.turn(size, waiting):
            shown = shown_file_name(name)
            arguments = [file_suffix(name), "" if pixels is None else str(pixels)]
            return replace(TASK.run(file, shown, limits, arguments=arguments), name=shown)


def work(file: BinaryIO, arguments: Sequence[str], _: Progress) -> dict[str, Any]:
    """In the process: read a file of which the end of the name and the pixels, "" for the file's own, are known.

    Raises
    ------
    InputError : one line without a name.
    """
    suffix, pixels = arguments
    name = f"network{suffix}"
    try:
        return network_document(read_network(file, name, int(pixels) if pixels else None))
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{name}: ")) from None


def network_document(network: Network) -> dict[str, Any]:
    """A network as JSON values."""
    return {
        "name": network.name,
        "source_format": network.source_format,
        "pixels": network.counts.pixels,
        "classes": network.counts.classes,
        "caveats": network.caveats,
        "layers": [
            [layer.kind, layer.output, layer.parameters, layer.trainable, layer.flops, layer.name]
            for layer in network.layers
        ],
    }


def network_in(document: object) -> Network:
    """The network in a document of `network_document`.

    Raises
    ------
    ValueError : it is invalid.
    """
    match document:
        case {
            "name": str(name),
            "source_format": str(source_format),
            "pixels": int(pixels),
            "classes": int(classes),
            "caveats": list(caveats),
            "layers": list(listed),
        } if (
            all(is_line(text) for text in (name, source_format, *caveats))
            and len(caveats) <= _MAX_CAVEATS
            and 0 < len(listed) <= MAX_LAYERS
            and pixels > 0
            and classes > 0
        ):
            layers = tuple(_layer(each) for each in listed)
            # Summed again: the counts are those of the layers, whatever the process says.
            return Network(name, source_format, layers, count(layers, pixels, classes), tuple(caveats))
    raise ValueError("no network")


def _layer(record: object) -> Layer:
    match record:
        case [str(kind), list(output), int(parameters), int(trainable), int(flops), str(name)] if (
            all(isinstance(side, int) for side in output) and min(parameters, trainable, flops) >= 0 and is_line(name)
        ):
            return Layer(Kind(kind), tuple(output), parameters, trainable, flops, name)
    raise ValueError("no layer")


TASK = Task(__name__, network_in, InputError, "give the model's config.json, or a layer table", _MAX_ANSWER_BYTES)
