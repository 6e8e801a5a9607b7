"""Decode an ONNX graph from a stream: sizes of tensors, values of small ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from profet_core.errors import InputError, ProfileError
from profet_core.profiles.decoding.protobuf_wire import FIXED_32, LENGTH, VARINT, WireStream, damaged, varint_at

#: Of one graph.
MAX_NODES = 20_000
MAX_TENSORS = 50_000
#: Inputs of all operators together; networks have two or three an operator.
MAX_EDGES = 200_000
#: Values of a tensor that may say a shape; larger ones are weights, and passed over.
MAX_VALUES = 256
_MAX_TEXT_BYTES = 4_096
_MAX_LIST = 4_096
_MAX_DIMENSIONS = 16

#: TensorProto.DataType: those that weights have, and those that shapes are computed in.
_FLOATS = frozenset({1, 10, 11, 16})
_STORED = {1: "<f4", 6: "<i4", 7: "<i8", 9: "?", 11: "<f8"}


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor in the file.

    Attributes
    ----------
    dimensions : its shape.
    is_float : whether its values may be weights.
    values : of a small one; None of weights, and where they lie in another file.
    """

    name: str
    dimensions: tuple[int, ...]
    is_float: bool
    values: np.ndarray | None


#: A whole number, a text, a tensor, or lists of numbers.
Attribute = int | str | list[int] | list[float] | TensorRecord | None


@dataclass(frozen=True, slots=True)
class Node:
    """One operator and the names of what it takes and puts out ("" for omitted ones)."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute]

    def number(self, name: str, default: int) -> int:
        """A whole number among its attributes."""
        given = self.attributes.get(name)
        return given if isinstance(given, int) else default

    def numbers(self, name: str) -> list[Any]:
        """A list of numbers among its attributes."""
        given = self.attributes.get(name)
        return given if isinstance(given, list) else []

    def text(self, name: str) -> str:
        """A text among its attributes."""
        given = self.attributes.get(name)
        return given if isinstance(given, str) else ""

    def tensor(self, name: str) -> TensorRecord | None:
        """A tensor among its attributes."""
        given = self.attributes.get(name)
        return given if isinstance(given, TensorRecord) else None


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


def read_graph(stream: BinaryIO) -> Graph:
    """The graph of an ONNX model.

    Raises
    ------
    InputError : bytes that are no such model, or more of them than any network has.
    """
    wire = WireStream(stream)
    producer, graph = "", None
    try:
        for number, kind, value in wire.entries():
            if number == 2 and kind == LENGTH:
                if value > _MAX_TEXT_BYTES:
                    raise InputError("this is not an ONNX model; for a SavedModel, model.save('model.keras') is read.")
                producer = _text(wire, value)
            elif number == 7 and kind == LENGTH and graph is None:
                graph = _graph(wire, value)
    except ProfileError:
        raise InputError("the ONNX file is damaged or cut short, or not ONNX: export or download it again.") from None
    if graph is None or not graph[0]:
        raise InputError("it has no graph of operators, so it is not an ONNX model: export it again.")
    return Graph(producer, *graph)


def _graph(
    wire: WireStream, size: int
) -> tuple[tuple[Node, ...], dict[str, TensorRecord], tuple[Port, ...], tuple[Port, ...]]:
    nodes: list[Node] = []
    tensors: dict[str, TensorRecord] = {}
    inputs: list[Port] = []
    outputs: list[Port] = []
    edges = 0
    for number, kind, value in wire.entries(size):
        if kind != LENGTH:
            continue
        match number:
            case 1:
                nodes.append(_node(wire, value))
                edges += len(nodes[-1].inputs)
            case 5:
                tensor = _tensor(wire, value)
                if tensor.name in tensors:
                    raise InputError("two of its tensors have one name: export it again.")
                tensors[tensor.name] = tensor
            case 11:
                inputs.append(_port(wire, value))
            case 12:
                outputs.append(_port(wire, value))
            case 15:
                raise InputError("it has sparse tensors, which aren't counted: export it with dense ones.")
        if len(nodes) > MAX_NODES or len(tensors) + len(inputs) + len(outputs) > MAX_TENSORS:
            raise InputError(f"it has more than {MAX_NODES:,} operators or {MAX_TENSORS:,} tensors.")
        if edges > MAX_EDGES:
            raise InputError(f"its operators have more than {MAX_EDGES:,} inputs: export it again.")
    return tuple(nodes), tensors, tuple(inputs), tuple(outputs)


def _node(wire: WireStream, size: int) -> Node:
    texts = {3: "", 4: "", 7: ""}
    inputs: list[str] = []
    outputs: list[str] = []
    attributes: dict[str, Attribute] = {}
    for number, kind, value in wire.entries(size):
        if kind != LENGTH:
            continue
        if number in texts:
            texts[number] = _text(wire, value)
        elif number in (1, 2):
            (inputs if number == 1 else outputs).append(_text(wire, value))
        elif number == 5:
            name, attribute = _attribute(wire, value)
            attributes[name] = attribute
        _check_length(len(inputs) + len(outputs) + len(attributes))
    return Node(texts[3], texts[4], texts[7], tuple(inputs), tuple(outputs), attributes)


def _attribute(wire: WireStream, size: int) -> tuple[str, Attribute]:
    name = ""
    found: Attribute = None
    numbers: list[Any] = []
    for number, kind, value in wire.entries(size):
        match number, kind:
            case 1, 2:
                name = _text(wire, value)
            case 3, 0:
                found = _signed(value)
            case 4, 2 if value <= _MAX_TEXT_BYTES:
                found = _text(wire, value)
            case 5, 2:
                found = _tensor(wire, value)
            case 7, _:
                numbers += _reals(wire, kind, value)
            case 8, _:
                numbers += _numbers(wire, kind, value)
        _check_length(len(numbers))
    return name, numbers or found


def _tensor(wire: WireStream, size: int) -> TensorRecord:
    name, data_type, is_elsewhere = "", 0, False
    dimensions: list[int] = []
    listed: list[int] = []
    reals: list[float] = []
    raw = b""
    for number, kind, value in wire.entries(size):
        match number, kind:
            case 1, _:
                dimensions += _numbers(wire, kind, value)
                if len(dimensions) > _MAX_DIMENSIONS:
                    raise InputError(f"it has a tensor of more than {_MAX_DIMENSIONS} sides.")
            case 2, 0:
                data_type = value
            case 4, _ if kind == FIXED_32 or value <= 4 * MAX_VALUES:
                reals += _reals(wire, kind, value)
            case (5 | 7, _) if kind == VARINT or value <= 10 * MAX_VALUES:
                listed += _numbers(wire, kind, value)
            case 8, 2:
                name = _text(wire, value)
            case 9, 2 if value <= 8 * MAX_VALUES:
                raw = wire.read(value)
            case 13, 2:
                is_elsewhere = True
            case 14, 0:
                is_elsewhere = is_elsewhere or value == 1
        if len(listed) > MAX_VALUES or len(reals) > MAX_VALUES:
            listed, reals = [], []
    if any(side < 0 for side in dimensions):
        raise InputError("it has a tensor with a negative size: export it again.")
    values = None if is_elsewhere else _values(data_type, dimensions, raw, reals or listed)
    return TensorRecord(name, tuple(dimensions), data_type in _FLOATS, values)


def _values(data_type: int, dimensions: list[int], raw: bytes, listed: list[float] | list[int]) -> np.ndarray | None:
    """The tensor's values; None of a large one, or of a kind that says no shape."""
    size = 1
    for side in dimensions:
        size *= side
        if size > MAX_VALUES:
            return None
    stored = _STORED.get(data_type)
    if stored is None:
        return None
    if raw:
        if len(raw) != size * np.dtype(stored).itemsize:
            raise InputError("it has a tensor with other bytes than its sizes ask for: export it again.")
        values = np.frombuffer(raw, stored)
    else:
        if len(listed) != size:
            return None
        values = np.array(listed)
    return values.astype(np.float64 if data_type in _FLOATS else np.int64).reshape(dimensions)


def _port(wire: WireStream, size: int) -> Port:
    name, sides = "", None
    for number, kind, value in wire.entries(size):
        if number == 1 and kind == LENGTH:
            name = _text(wire, value)
        elif number == 2 and kind == LENGTH:
            # Type -> tensor type -> shape.
            for inner in _within(wire, value, 1):
                for shape in _within(wire, inner, 2):
                    sides = tuple(_side(wire, side) for side in _within(wire, shape, 1))
                    if len(sides) > _MAX_DIMENSIONS:
                        raise InputError(f"it has an input of more than {_MAX_DIMENSIONS} sides.")
    return Port(name, sides)


def _within(wire: WireStream, size: int, wanted: int) -> Iterator[int]:
    """Sizes of the messages in a field of this number."""
    return (value for number, kind, value in wire.entries(size) if number == wanted and kind == LENGTH)


def _side(wire: WireStream, size: int) -> int | None:
    side = None
    for number, kind, value in wire.entries(size):
        if number == 1 and kind == VARINT:
            side = _signed(value)
    # Exporters write 0 or -1 for what is open.
    return side if side is not None and side > 0 else None


def _numbers(wire: WireStream, kind: int, value: int) -> list[int]:
    """Repeated numbers, packed or one of them."""
    if kind == VARINT:
        return [_signed(value)]
    if kind != LENGTH or value > 10 * _MAX_LIST:
        return []
    data, at = wire.read(value), 0
    found = []
    try:
        while at < value:
            number, at = varint_at(data, at)
            found.append(_signed(number))
    except IndexError:
        raise damaged() from None
    return found


def _reals(wire: WireStream, kind: int, value: int) -> list[float]:
    if kind == FIXED_32:
        return [struct.unpack("<f", value.to_bytes(4, "little"))[0]]
    if kind != LENGTH or value > 4 * _MAX_LIST or value % 4:
        return []
    return list(struct.unpack(f"<{value // 4}f", wire.read(value)))


def _signed(number: int) -> int:
    number &= 2**64 - 1
    return number - 2**64 if number >= 2**63 else number


def _text(wire: WireStream, size: int) -> str:
    if size > _MAX_TEXT_BYTES:
        raise InputError(f"it has a name of more than {_MAX_TEXT_BYTES:,} bytes: export it again.")
    return wire.read(size).decode("utf-8", "replace")


def _check_length(length: int) -> None:
    if length > _MAX_LIST:
        raise InputError(f"it has an operator with more than {_MAX_LIST:,} parts: export it again.")
