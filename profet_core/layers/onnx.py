"""Follow an ONNX graph from image to outputs, and count its layers, without the `onnx` package.

That holds all weights: of VGG16 (553 MB) 1.1 GB, with its shape inference 2.7 GB, where this takes 33 MB. Its inference
doesn't follow divisions and products of shapes, which exporters write.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import BinaryIO

import numpy as np

from profet_core.errors import InputError
from profet_core.layers.network import Caveats, LayerList, Network, count, shown, whole
from profet_core.layers.onnx_messages import Graph, Node, Port, read_graph
from profet_core.layers.onnx_operators import MAX_CONSTANT, Value, applied
from profet_core.layers.rules import Kind, Layer, Shape, check_shape

_DOMAINS = frozenset({"", "ai.onnx"})
#: Channels that an image has: they tell which side of an input they are.
_IMAGE_CHANNELS = frozenset({1, 2, 3, 4})


def read_onnx(stream: BinaryIO, name: str, pixels: int | None) -> Network:
    """The network in an ONNX file; weights are passed over, and other files that it names are never opened."""
    graph = read_graph(stream)
    followed = _Followed(graph, pixels)
    size = followed.caveats.square(*followed.image)
    layers = tuple(followed.built)
    kinds = {layer.kind for layer in layers}
    if Kind.NORMALIZATION not in kinds and any("convolution" in kind for kind in kinds):
        followed.caveats.add(
            "It has no normalization: if the exporter folded it into convolutions, a training takes longer"
        )
    source = f"ONNX model of {shown(graph.producer)}" if graph.producer else "ONNX model"
    return Network(name, source, layers, count(layers, size, followed.classes), followed.caveats.lines())


class _Followed:
    """The graph with its shapes known."""

    def __init__(self, graph: Graph, pixels: int | None) -> None:
        self.caveats = Caveats()
        self.built = LayerList()
        self.image: tuple[int, int] = (0, 0)
        self._graph = graph
        self._batch = 1
        self._counted: set[str] = set()
        self._values: dict[str, Value] = {"": Value(())}
        for tensor in graph.tensors.values():
            self._values[tensor.name] = Value(
                tensor.dimensions, tensor.values, (tensor.name,) if tensor.is_float else (), is_static=True
            )
        for port in graph.inputs:
            if port.name not in graph.tensors:
                self._input(port, pixels)
        if not self.image[0]:
            raise InputError("it has no image as its input: one of batch, channels, height and width is needed.")
        for node in graph.nodes:
            self._follow(node)

    @property
    def classes(self) -> int:
        """Width of the first output; channels, if that is an image."""
        for port in self._graph.outputs:
            if (value := self._values.get(port.name)) is not None and value.shape:
                return value.shape[1 if len(value.shape) == 4 else -1]
        raise InputError("none of its operators has the model's output: export it again.")

    def _input(self, port: Port, pixels: int | None) -> None:
        sides = port.sides
        if sides is None:
            raise InputError(f"its input {shown(port.name)} has no shape: export it with one.")
        if len(sides) == 4 and not self.image[0]:
            is_last = sides[1] not in _IMAGE_CHANNELS and sides[3] in _IMAGE_CHANNELS
            height, width = sides[1:3] if is_last else sides[2:4]
            channels = sides[3] if is_last else sides[1]
            if pixels is not None:
                height = width = pixels
            if height is None or width is None:
                raise InputError("it leaves the image's size open: give the pixels.")
            if channels is None:
                raise InputError("it leaves the image's channels open: export it with their number.")
            self.image = (whole(height, "image's height"), whole(width, "image's width"))
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

    def _follow(self, node: Node) -> None:
        label = f"operator {shown(node.name or ', '.join(node.outputs[:1]))} ({shown(node.operator)})"
        try:
            self._add(node)
        except InputError as error:
            raise InputError(f"{label}: {error}") from None

    def _add(self, node: Node) -> None:
        if node.domain not in _DOMAINS:
            raise InputError(f"operators of {shown(node.domain)} aren't known: export it with ONNX' own.")
        inputs = [self._values.get(name) if name else None for name in node.inputs]
        for name, value in zip(node.inputs, inputs, strict=True):
            if name and value is None:
                raise InputError(f"it takes {shown(name)}, which nothing before it puts out.")
        is_static = all(value is None or value.is_static for value in inputs)
        weights = tuple(dict.fromkeys(name for value in inputs if value is not None for name in value.weights))
        if node.operator == "Constant":
            self._constant(node)
            return
        if node.outputs and is_static and (_is_filled(node) or (node.operator == "Identity" and weights)):
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
            self._layer(node, _kind(result.kind, inputs), result.shapes[0], result.flops, inputs, weights)
        for name, shape in zip(node.outputs, result.shapes, strict=False):
            if name:
                self._put_out(name, Value(shape, None, weights if is_static else (), is_static))

    def _constant(self, node: Node) -> None:
        tensor, name = node.tensor("value"), node.outputs[0] if node.outputs else ""
        value = Value((), is_static=True)
        if tensor is not None:
            value = Value(tensor.dimensions, tensor.values, (name,) if tensor.is_float else (), is_static=True)
        elif {"value_int", "value_ints"} & set(node.attributes):
            number, numbers = node.number("value_int", 0), node.numbers("value_ints")
            constant = np.array(number if "value_int" in node.attributes else numbers, np.int64)
            value = Value(constant.shape, constant, is_static=True)
        self._put_out(name, value)

    def _layer(
        self,
        node: Node,
        kind: Kind,
        output: Shape,
        flops: int,
        inputs: Sequence[Value | None],
        weights: tuple[str, ...],
    ) -> None:
        unseen = self._unseen(weights)
        self._counted.update(unseen)
        parameters = sum(unseen.values())
        averages = 0
        if node.operator == "BatchNormalization":
            kept = {name for value in inputs[3:5] if value is not None for name in value.weights}
            averages = sum(size for name, size in unseen.items() if name in kept)
        per_image = Layer(kind, self._per_image(output), parameters, parameters - averages, -(-flops // self._batch))
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


def _is_filled(node: Node) -> bool:
    """Whether a node makes a tensor of one real number, 0 where it says none."""
    tensor = node.tensor("value")
    return node.operator == "ConstantOfShape" and (tensor is None or tensor.is_float)


def _kind(kind: Kind | None, inputs: Sequence[Value | None]) -> Kind:
    """An elementwise operator of one computed input is an activation, whatever constants it takes."""
    if kind not in (None, Kind.ELEMENTWISE):
        return kind
    return (
        Kind.ELEMENTWISE if sum(value is not None and not value.is_static for value in inputs) > 1 else Kind.ACTIVATION
    )
