"""Follow an ONNX graph from image to outputs, and count its layers, without the `onnx` package.

That holds all weights: of VGG16 (553 MB) 1.1 GB, with its shape inference 2.7 GB, where this takes 33 MB. Its inference
doesn't follow divisions and products of shapes, which exporters write.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from profet_core.errors import InputError, ProfileError
from profet_core.layers.network import (
    Caveats,
    Kind,
    Layer,
    LayerList,
    Network,
    Shape,
    check_shape,
    count,
    image_sides,
    shown,
    whole,
)
from profet_core.layers.onnx_operators import FLOAT_TYPES, MAX_CONSTANT, Node, Value, applied
from profet_profiles.protobuf_wire import FIXED_32, LENGTH, VARINT, WireStream, fields_of, message_classes

#: Longer fields are weights, and passed over.
_MAX_FIELD_BYTES = 4_096
#: Values of a tensor that may say a shape.
_MAX_VALUES = 256
_MAX_DIMENSIONS = 16
#: TensorProto.DataType of those that shapes are computed in.
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


_DOMAINS = frozenset({"", "ai.onnx"})
#: Channels that an image has: they tell which side of an input they are.
_IMAGE_CHANNELS = frozenset({1, 2, 3, 4})


def read_onnx(stream: BinaryIO, name: str, pixels: int | None) -> Network:
    """The network in an ONNX file; weights are passed over, and other files that it names are never opened."""
    model = _read_model(stream)
    followed = _Followed(model.graph, pixels)
    size = followed.caveats.square(*followed.image)
    layers = tuple(followed.built)
    kinds = {layer.kind for layer in layers}
    if Kind.NORMALIZATION not in kinds and any("convolution" in kind for kind in kinds):
        followed.caveats.add(
            "It has no normalization: if the exporter folded it into convolutions, a training takes longer"
        )
    source = f"ONNX model of {shown(model.producer)}" if model.producer else "ONNX model"
    return Network(name, source, layers, count(layers, size, followed.classes), followed.caveats.lines())


@cache
def _classes() -> SimpleNamespace:
    return message_classes("onnx", _MESSAGES)


def _read_model(stream: BinaryIO) -> Any:
    """The model's message, without its weights."""
    from google.protobuf.message import DecodeError  # late, as in `message_classes`

    try:
        model = _classes().Model.FromString(_without_weights(WireStream(stream), None, "Model"))
    except (ProfileError, DecodeError):
        raise InputError("the ONNX file is damaged or cut short, or not ONNX: export or download it again.") from None
    if not model.graph.nodes:
        what = "it has no graph of operators, so it is not an ONNX model"
        raise InputError(f"{what}: export it again; for a SavedModel, model.save('model.keras') is read.")
    if model.graph.sparse:
        raise InputError("it has sparse tensors, which aren't counted: export it with dense ones.")
    return model


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


def _tensor(tensor: Any, name: str = "") -> Value:
    """A tensor of the file, with its values where it is small, in this file and of a type that says a shape."""
    sides, is_float = tuple(tensor.sides), tensor.type in FLOAT_TYPES
    if len(sides) > _MAX_DIMENSIONS or min(sides, default=0) < 0:
        raise InputError(f"it has a tensor of a negative size, or more than {_MAX_DIMENSIONS} sides: export it again.")
    stored, size, values = _STORED.get(tensor.type), prod(sides), None
    if stored is not None and size <= _MAX_VALUES and not tensor.elsewhere and not tensor.location:
        values = np.array([*tensor.reals] or [*tensor.numbers] or [*tensor.small_numbers])
        if tensor.raw:
            if len(tensor.raw) != size * np.dtype(stored).itemsize:
                raise InputError("it has a tensor with other bytes than its sizes ask for: export it again.")
            values = np.frombuffer(tensor.raw, stored)
        is_whole = len(values) == size
        values = values.astype(np.float64 if is_float else np.int64).reshape(sides) if is_whole else None
    return Value(sides, values, (name,) if is_float else (), is_static=True)


class _Followed:
    """The graph with its shapes known."""

    def __init__(self, graph: Any, pixels: int | None) -> None:
        self.caveats = Caveats()
        self.built = LayerList()
        self.image: tuple[int, int] = (0, 0)
        self._graph = graph
        self._batch = 1
        self._counted: set[str] = set()
        self._values: dict[str, Value] = {"": Value(())} | {
            tensor.name: _tensor(tensor, tensor.name) for tensor in graph.tensors
        }
        for port in graph.inputs:
            if port.name not in self._values:
                self._input(port, pixels)
        if not self.image[0]:
            raise InputError("it has no image as its input: one of batch, channels, height and width is needed.")
        for message in graph.nodes:
            try:
                attributes = {attribute.name: attribute for attribute in message.attributes}
                value = attributes.get("value")
                made = _tensor(value.tensor) if value is not None and value.HasField("tensor") else None
                ports = tuple(message.inputs), tuple(message.outputs)
                self._add(Node(message.name, message.operator, *ports, attributes, made), message.domain)
            except InputError as error:
                label = f"operator {shown(message.name or ', '.join(message.outputs[:1]))} ({shown(message.operator)})"
                raise InputError(f"{label}: {error}") from None

    @property
    def classes(self) -> int:
        """Width of the first output; channels, if that is an image."""
        for port in self._graph.outputs:
            if (value := self._values.get(port.name)) is not None and value.shape:
                return value.shape[1 if len(value.shape) == 4 else -1]
        raise InputError("none of its operators has the model's output: export it again.")

    def _input(self, port: Any, pixels: int | None) -> None:
        # Exporters write 0 or -1 for what is open.
        sides = tuple(side.number if side.number > 0 else None for side in port.type.tensor.shape.sides)
        if not port.type.tensor.HasField("shape"):
            raise InputError(f"its input {shown(port.name)} has no shape: export it with one.")
        if len(sides) == 4 and not self.image[0]:
            is_last = sides[1] not in _IMAGE_CHANNELS and sides[3] in _IMAGE_CHANNELS
            height, width = sides[1:3] if is_last else sides[2:4]
            channels = sides[3] if is_last else sides[1]
            image = image_sides(height, width, pixels)
            if channels is None:
                raise InputError("it leaves the image's channels open: export it with their number.")
            self.image = image
            whole(channels, "number of channels")
            self._batch = whole(sides[0] or 1, "batch size")
            rest = (*self.image, channels) if is_last else (channels, *self.image)
            shape: Shape = (self._batch, *rest)
        elif any(side is None for side in sides[1:]):
            raise InputError(f"its input {shown(port.name)} leaves its size open: export it with one.")
        else:
            shape = tuple(whole(side, "input's size") for side in (sides[:1] and (sides[0] or 1), *sides[1:]))
        self._put_out(port.name, Value(check_shape(shape)))
        self.built.put(Layer(Kind.INPUT, self._per_image(shape)), name=shown(port.name))

    def _add(self, node: Node, domain: str) -> None:
        if domain not in _DOMAINS:
            raise InputError(f"operators of {shown(domain)} aren't known: export it with ONNX' own.")
        inputs = [self._values.get(name) if name else None for name in node.inputs]
        for name, value in zip(node.inputs, inputs, strict=True):
            if name and value is None:
                raise InputError(f"it takes {shown(name)}, which nothing before it puts out.")
        is_static = all(value is None or value.is_static for value in inputs)
        weights = tuple(dict.fromkeys(name for value in inputs if value is not None for name in value.weights))
        if node.operator == "Constant":
            name, value = node.outputs[0] if node.outputs else "", node.value or Value((), is_static=True)
            if {"value_int", "value_ints"} & set(node.attributes):
                number, numbers = node.number("value_int", 0), node.numbers("value_ints")
                constant = np.array(number if "value_int" in node.attributes else numbers, np.int64)
                value = Value(constant.shape, constant, is_static=True)
            self._put_out(name, value._replace(weights=(name,) if value.weights else ()))
            return
        is_filled = node.operator == "ConstantOfShape" and (node.value is None or bool(node.value.weights))
        if node.outputs and is_static and (is_filled or (node.operator == "Identity" and weights)):
            # PyTorch keeps one of several weights that are alike, as new ones are, and copies it for the others; some
            # files fill their weights with one number.
            weights = (node.outputs[0],)
        if node.operator in ("Shape", "Size"):
            weights = ()
        result = applied(node, inputs)
        if result.constant is not None and result.constant.size <= MAX_CONSTANT:
            name = node.outputs[0] if node.outputs else ""
            self._put_out(name, Value(result.constant.shape, result.constant, weights, is_static=True))
            return
        for shape in result.shapes:
            check_shape(shape)
        if not is_static and (result.kind is not None or self._unseen(weights)):
            kind = result.kind
            if kind in (None, Kind.ELEMENTWISE):
                # Of one computed input it is an activation, whatever constants it takes.
                is_one = sum(value is not None and not value.is_static for value in inputs) < 2
                kind = Kind.ACTIVATION if is_one else Kind.ELEMENTWISE
            self._layer(node, Layer(kind, result.shapes[0], flops=result.flops), inputs, weights)
        for name, shape in zip(node.outputs, result.shapes, strict=False):
            if name:
                self._put_out(name, Value(shape, None, weights if is_static else (), is_static))

    def _layer(self, node: Node, batch: Layer, inputs: Sequence[Value | None], weights: tuple[str, ...]) -> None:
        """Add the layer of one image, by that of a batch, with the weights that no layer had so far."""
        unseen = self._unseen(weights)
        self._counted.update(unseen)
        parameters = sum(unseen.values())
        averages = 0
        if node.operator == "BatchNormalization":
            kept = {name for value in inputs[3:5] if value is not None for name in value.weights}
            averages = sum(size for name, size in unseen.items() if name in kept)
        flops = -(-batch.flops // self._batch)
        per_image = Layer(batch.kind, self._per_image(batch.output), parameters, parameters - averages, flops)
        self.built.put(per_image, name=shown(node.name or node.operator))

    def _unseen(self, weights: tuple[str, ...]) -> dict[str, int]:
        """Values of the weights that no layer had so far; a single number is a constant, no weight."""
        sizes = {name: prod(self._values[name].shape) for name in weights if name not in self._counted}
        return {name: size for name, size in sizes.items() if size > 1}

    def _put_out(self, name: str, value: Value) -> None:
        if name in self._values and name:
            raise InputError(f"two operators put out {shown(name)}: export it again.")
        self._values[name] = value

    def _per_image(self, shape: Shape) -> Shape:
        """A shape without the batch, which may have been split or put into another side."""
        if not shape or shape[0] == self._batch:
            return shape[1:]
        return (shape[0] // self._batch, *shape[1:]) if shape[0] % self._batch == 0 else shape
