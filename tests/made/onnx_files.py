"""Writes ONNX files by protobuf's wire format: as much of the format as the tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.made.protobuf import entry, varint

FLOAT, INT64 = 1, 7
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}


def tensor(name: str, values: np.ndarray, *, packed: bool = False) -> bytes:
    """A tensor with its values as raw bytes."""
    sides = [int(side) for side in values.shape]
    dims = entry(1, b"".join(map(varint, sides))) if packed else b"".join(entry(1, side) for side in sides)
    return dims + entry(2, _TYPES[values.dtype]) + entry(8, name) + entry(9, values.tobytes())


def empty_tensor(name: str, sides: Sequence[int], *, location: str = "") -> bytes:
    """A tensor of floats whose values lie nowhere, or in another file."""
    data = b"".join(entry(1, side) for side in sides) + entry(2, FLOAT) + entry(8, name)
    if location:
        data += entry(13, entry(1, "location") + entry(2, location)) + entry(14, 1)
    return data


def attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    """A number, a text, or a list of numbers."""
    if isinstance(value, int):
        return entry(1, name) + entry(3, value) + entry(20, 2)
    if isinstance(value, str):
        return entry(1, name) + entry(4, value) + entry(20, 3)
    return entry(1, name) + b"".join(entry(8, number) for number in value) + entry(20, 7)


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, int | str | Sequence[int]] | None = None,
    *,
    domain: str = "",
) -> bytes:
    """One operator, named after what it puts out."""
    data = b"".join(entry(1, name) for name in inputs) + b"".join(entry(2, name) for name in outputs)
    data += entry(3, f"{outputs[0]}_{operator}" if outputs else operator) + entry(4, operator)
    data += b"".join(entry(5, attribute(name, value)) for name, value in (attributes or {}).items())
    return data + (entry(7, domain) if domain else b"")


def port(name: str, sides: Sequence[int | str]) -> bytes:
    """An input or output; a text is a side that is left open."""
    shape = b"".join(entry(1, entry(1 if isinstance(side, int) else 2, side)) for side in sides)
    return entry(1, name) + entry(2, entry(1, entry(1, FLOAT) + entry(2, shape)))


@dataclass
class Model:
    """A model that is put together: `model.node("Relu", ["x"], ["y"])`."""

    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)
    nodes: list[bytes] = field(default_factory=list)
    tensors: list[bytes] = field(default_factory=list)

    def data(self) -> bytes:
        """The file."""
        graph = b"".join(entry(1, each) for each in self.nodes) + entry(2, "graph")
        graph += b"".join(entry(5, each) for each in self.tensors)
        graph += b"".join(entry(11, each) for each in self.inputs) + b"".join(entry(12, each) for each in self.outputs)
        return entry(1, 8) + entry(2, "tests") + entry(7, graph) + entry(8, entry(2, 17))

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: int | str | Sequence[int]) -> str:
        """An operator of one output; its name."""
        self.nodes.append(node(operator, inputs, [output], attributes))
        return output

    def weights(self, name: str, *sides: int) -> str:
        """A tensor of floats; its name."""
        self.tensors.append(tensor(name, np.zeros(sides, np.float32)))
        return name

    def numbers(self, name: str, *numbers: int) -> str:
        """A tensor of whole numbers; its name."""
        self.tensors.append(tensor(name, np.array(numbers, np.int64)))
        return name


def small_network(sides: Sequence[int | str] = ("batch", 3, 16, 16)) -> Model:
    """Convolution, normalization, activation, pooling, a residual and a dense layer."""
    model = Model(inputs=[port("image", sides)], outputs=[port("classes", ("batch", 10))])
    x = model.add(
        "Conv",
        ["image", model.weights("w1", 8, 3, 3, 3)],
        "conv",
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        kernel_shape=[3, 3],
    )
    averages = [model.weights(name, 8) for name in ("scale", "bias", "mean", "variance")]
    x = model.add("Relu", [model.add("BatchNormalization", [x, *averages], "normal")], "active")
    y = model.add("Conv", [x, model.weights("w2", 8, 1, 3, 3), model.weights("b2", 8)], "deep", group=8, pads=[1] * 4)
    x = model.add("Add", [x, y], "sum")
    x = model.add("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    x = model.add("Flatten", [model.add("GlobalAveragePool", [x], "mean_of_all")], "flat")
    model.add("Gemm", [x, model.weights("w3", 10, 8), model.weights("b3", 10)], "classes", transB=1)
    return model
