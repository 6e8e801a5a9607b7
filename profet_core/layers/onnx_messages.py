"""Decode an ONNX graph from a stream: sizes of tensors, values of small ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from profet_core.errors import InputError, ProfileError
from profet_recorder.profiles.protobuf_wire import FIXED_32, LENGTH, VARINT, WireStream, fields_of, message_classes

#: Longer fields are weights, and passed over.
_MAX_FIELD_BYTES = 4_096
#: Values of a tensor that may say a shape.
_MAX_VALUES = 256
_MAX_DIMENSIONS = 16
#: TensorProto.DataType: those that weights have, and those that shapes are computed in.
_FLOATS = frozenset({1, 10, 11, 16})
_STORED = {1: "<f4", 6: "<i4", 7: "<i8", 9: "?", 11: "<f8"}
#: What is read of onnx.proto.
_MESSAGES = {
    "Model": "string producer = 2; Graph graph = 7",
    "Graph": """
        repeated Node nodes = 1; repeated Tensor tensors = 5; repeated Port inputs = 11; repeated Port outputs = 12;
        repeated bytes sparse = 15
    """,
    "Node": """
        repeated string inputs = 1; repeated string outputs = 2; string name = 3; string operator = 4;
        repeated Attribute attributes = 5; string domain = 7
    """,
    "Attribute": """
        string name = 1; int64 number = 3; bytes text = 4; Tensor tensor = 5; repeated float reals = 7;
        repeated int64 numbers = 8
    """,
    "Tensor": """
        repeated int64 sides = 1; int32 type = 2; repeated float reals = 4; repeated int32 small_numbers = 5;
        repeated int64 numbers = 7; string name = 8; bytes raw = 9; repeated bytes elsewhere = 13; int32 location = 14
    """,
    "Port": "string name = 1; Type type = 2",
    "Type": "TensorType tensor = 1",
    "TensorType": "Shape shape = 2",
    "Shape": "repeated Side sides = 1",
    "Side": "int64 number = 1",
}
#: message -> number of each field -> its type.
_KINDS = {message: {number: kind for kind, _, number, _ in fields_of(fields)} for message, fields in _MESSAGES.items()}


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor in the file."""

    name: str
    dimensions: tuple[int, ...]
    is_float: bool
    values: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Node:
    """One operator and the names of what it takes and puts out ("" for omitted ones)."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def number(self, name: str, default: int) -> int:
        """A whole number among its attributes."""
        return self.attributes[name].number if name in self.attributes else default

    def numbers(self, name: str) -> list[Any]:
        """A list of numbers among its attributes."""
        given = self.attributes.get(name)
        return [] if given is None else [*given.numbers] or [*given.reals]

    def text(self, name: str) -> str:
        """A text among its attributes."""
        return self.attributes[name].text.decode("utf-8", "replace") if name in self.attributes else ""

    def tensor(self, name: str) -> TensorRecord | None:
        """A tensor among its attributes."""
        given = self.attributes.get(name)
        return None if given is None or not given.HasField("tensor") else _tensor(given.tensor)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph; a side is None where the file leaves it open."""

    name: str
    sides: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Graph:
    """The model's graph."""

    producer: str
    nodes: tuple[Node, ...]
    tensors: dict[str, TensorRecord]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


@cache
def _classes() -> SimpleNamespace:
    return message_classes("onnx", _MESSAGES)


def read_graph(stream: BinaryIO) -> Graph:
    """The graph of an ONNX model."""
    from google.protobuf.message import DecodeError  # late, as in `message_classes`

    try:
        model = _classes().Model.FromString(_without_weights(WireStream(stream), None, "Model"))
    except (ProfileError, DecodeError):
        raise InputError("the ONNX file is damaged or cut short, or not ONNX: export or download it again.") from None
    graph = model.graph
    if not graph.nodes:
        what = "it has no graph of operators, so it is not an ONNX model"
        raise InputError(f"{what}: export it again; for a SavedModel, model.save('model.keras') is read.")
    if graph.sparse:
        raise InputError("it has sparse tensors, which aren't counted: export it with dense ones.")
    return Graph(
        producer=model.producer,
        nodes=tuple(map(_node, graph.nodes)),
        tensors={tensor.name: _tensor(tensor) for tensor in graph.tensors},
        inputs=tuple(map(_port, graph.inputs)),
        outputs=tuple(map(_port, graph.outputs)),
    )


def _without_weights(wire: WireStream, size: int | None, message: str) -> bytes:
    """The next `size` bytes, a message, with the described fields that are not too long."""
    kinds = _KINDS[message]
    found = bytearray()
    for number, kind, value in wire.entries(size):
        if number not in kinds:
            continue
        if kind == LENGTH:
            if kinds[number] in _MESSAGES:
                data = _without_weights(wire, value, kinds[number])
            elif value <= _MAX_FIELD_BYTES:
                data = wire.read(value)
            else:
                continue
            found += _varint(number << 3 | kind) + _varint(len(data)) + data
        else:
            found += _varint(number << 3 | kind)
            found += _varint(value) if kind == VARINT else value.to_bytes(4 if kind == FIXED_32 else 8, "little")
    return bytes(found)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _node(node: Any) -> Node:
    attributes = {attribute.name: attribute for attribute in node.attributes}
    return Node(node.name, node.operator, node.domain, tuple(node.inputs), tuple(node.outputs), attributes)


def _tensor(tensor: Any) -> TensorRecord:
    sides = tuple(tensor.sides)
    if len(sides) > _MAX_DIMENSIONS or min(sides, default=0) < 0:
        raise InputError(f"it has a tensor of a negative size, or more than {_MAX_DIMENSIONS} sides: export it again.")
    return TensorRecord(tensor.name, sides, tensor.type in _FLOATS, _values(tensor, sides))


def _values(tensor: Any, sides: tuple[int, ...]) -> np.ndarray | None:
    """The tensor's values; None of a large one, of one in another file, or of a kind that says no shape."""
    stored, size = _STORED.get(tensor.type), prod(sides)
    if stored is None or size > _MAX_VALUES or tensor.elsewhere or tensor.location:
        return None
    listed = [*tensor.reals] or [*tensor.numbers] or [*tensor.small_numbers]
    values = np.array(listed)
    if tensor.raw:
        if len(tensor.raw) != size * np.dtype(stored).itemsize:
            raise InputError("it has a tensor with other bytes than its sizes ask for: export it again.")
        values = np.frombuffer(tensor.raw, stored)
    if len(values) != size:
        return None
    return values.astype(np.float64 if tensor.type in _FLOATS else np.int64).reshape(sides)


def _port(port: Any) -> Port:
    if not port.type.tensor.HasField("shape"):
        return Port(port.name, None)
    # Exporters write 0 or -1 for what is open.
    return Port(port.name, tuple(side.number if side.number > 0 else None for side in port.type.tensor.shape.sides))
