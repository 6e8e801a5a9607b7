"""What a process that reads a network says: the layers it found, or why there are none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.layers.builder import MAX_LAYERS
from profet_core.layers.counting import count
from profet_core.layers.network import Network
from profet_core.layers.rules import Kind, Layer
from profet_core.profiles.guarded.answers import answer_line, is_line

#: Twenty thousand layers, some two hundred bytes each.
MAX_ANSWER_BYTES = 8 * 2**20
_MAX_CAVEATS = 100


@dataclass(frozen=True, slots=True)
class NetworkAnswer:
    """One of the fields is set.

    Attributes
    ----------
    network : what was read.
    error : why the file can't be read, one line.
    limit : "memory" or "time", which of them was reached.
    share : always None: networks are read at once.
    """

    network: Network | None = None
    error: str | None = None
    limit: str | None = None
    share: float | None = None


def write_answer(answer: NetworkAnswer) -> bytes:
    """The line."""
    network = answer.network
    document: dict[str, object] = {"error": answer.error, "limit": answer.limit}
    if network is not None:
        document["network"] = {
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
    return answer_line(document)


def read_answer(line: bytes) -> NetworkAnswer:
    """The answer in a line.

    Raises
    ------
    ValueError : invalid: output of the reading process is not trusted.
    """
    match json.loads(line):
        case {"error": str(error)} if error.isprintable():
            return NetworkAnswer(error=error)
        case {"limit": "memory" | "time" as limit}:
            return NetworkAnswer(limit=limit)
        case {"network": dict(network)}:
            return NetworkAnswer(network=_network(network))
    raise ValueError("no answer")


def _network(record: Mapping[str, Any]) -> Network:
    match record:
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
            # Summed anew: the counts are those of the layers, whatever was said.
            return Network(name, source_format, layers, count(layers, pixels, classes), tuple(caveats))
    raise ValueError("no network")


def _layer(record: object) -> Layer:
    match record:
        case [str(kind), list(output), int(parameters), int(trainable), int(flops), str(name)] if (
            all(isinstance(side, int) for side in output) and min(parameters, trainable, flops) >= 0 and is_line(name)
        ):
            return Layer(Kind(kind), tuple(output), parameters, trainable, flops, name)
    raise ValueError("no layer")
