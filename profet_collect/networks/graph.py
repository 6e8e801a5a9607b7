"""A named network as a graph: each layer with its inputs and settings, recorded while `profet_core` counts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from profet_core.errors import InputError
from profet_core.layers.builder import Builder
from profet_core.layers.networks import build_named
from profet_core.layers.rules import Layer
from profet_core.layers.shapes import Padding, Shape

#: Of the values that a dropout gets; it takes the same time at any share.
DROPPED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Node:
    """One layer of a graph.

    Attributes
    ----------
    kind : what it computes; a framework's builder refuses one that it doesn't know by this name.
    inputs : indices of the nodes whose outputs it takes.
    shape : of its output, channels last, without the batch.
    settings : by kind, such as filters, kernel, stride and padding of a convolution.
    """

    kind: str
    inputs: tuple[int, ...]
    shape: Shape
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """A network whose last node is its output; `layers` are those that were counted on the way."""

    name: str
    pixels: int
    classes: int
    nodes: tuple[Node, ...]
    layers: tuple[Layer, ...]

    @property
    def parameters(self) -> int:
        """All parameters, including running averages of normalizations."""
        return sum(layer.parameters for layer in self.layers)


class _Output(tuple[int, ...]):
    """A shape that knows which node puts it out: the functions that describe networks pass it on as any shape."""

    node: int


def network_graph(name: str, pixels: int, classes: int | None = None) -> Graph:
    """The graph of a named network.

    Parameters and errors are those of `profet_core.layers.networks.layers_of`.
    """
    net = _GraphBuilder()
    name, classes = build_named(net, name, pixels, classes)
    return Graph(name, pixels, classes, tuple(net.nodes), tuple(net.layers))


class _GraphBuilder(Builder):
    """Counts as its base does, and keeps what each layer is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []

    def image(self, pixels: int, channels: int = 3) -> Shape:
        return self._node("input", (), super().image(pixels, channels))

    def convolution(
        self,
        shape: Shape,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: Padding | int = "same",
        *,
        groups: int = 1,
        bias: bool = True,
        activation: str = "",
    ) -> Shape:
        output = super().convolution(shape, filters, kernel, stride, padding, groups=groups, bias=bias)
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        kind = "depthwise convolution" if groups == shape[-1] == filters > 1 else "convolution"
        settings = {"filters": filters, "kernel": sides, "stride": stride, "groups": groups, "bias": bias}
        settings |= {"margins": _margins(shape, sides, stride, padding), "is_same": padding == "same"}
        return self._activated(self._node(kind, (shape,), output, **settings), activation)

    def dense(self, shape: Shape, units: int, *, bias: bool = True, activation: str = "") -> Shape:
        output = super().dense(shape, units, bias=bias)
        return self._activated(self._node("dense", (shape,), output, units=units, bias=bias), activation)

    def pool(
        self,
        shape: Shape,
        size: int,
        stride: int,
        padding: Padding | int = "valid",
        *,
        round_up: bool = False,
        is_mean: bool = False,
    ) -> Shape:
        output = super().pool(shape, size, stride, padding, round_up=round_up)
        around = _margins(shape, (size, size), stride, padding)
        if round_up:
            around = _reaching(shape, output, size, stride)
        settings = {"size": size, "stride": stride, "margins": around, "is_same": padding == "same"}
        return self._node("average pooling" if is_mean else "max pooling", (shape,), output, **settings)

    def pool_to(self, shape: Shape, side: int) -> Shape:
        return self._node("adaptive pooling", (shape,), super().pool_to(shape, side), side=side)

    def global_pool(self, shape: Shape, *, keep_sides: bool = False) -> Shape:
        output = super().global_pool(shape, keep_sides=keep_sides)
        return self._node("global pooling", (shape,), output, keep_sides=keep_sides)

    def batch_norm(self, shape: Shape, *, scale: bool = True) -> Shape:
        return self._node("batch normalization", (shape,), super().batch_norm(shape, scale=scale), scale=scale)

    def layer_norm(self, shape: Shape) -> Shape:
        return self._node("layer normalization", (shape,), super().layer_norm(shape))

    def elementwise(
        self, *shapes: Shape, parameters: int = 0, trainable: int | None = None, function: str = ""
    ) -> Shape:
        output = super().elementwise(*shapes, parameters=parameters, trainable=trainable)
        return self._node(function or ("add" if len(shapes) > 1 else self.activation), shapes, output)

    def concatenate(self, *shapes: Shape) -> Shape:
        return self._node("concatenate", shapes, super().concatenate(*shapes))

    def flatten(self, shape: Shape) -> Shape:
        return self._node("flatten", (shape,), super().flatten(shape))

    def reshape(self, shape: Shape, *target: int) -> Shape:
        output = super().reshape(shape, *target)
        return self._node("shuffle" if output == shape else "reshape", (shape,), output)

    def pad(self, shape: Shape, before: int, after: int) -> Shape:
        around = ((before, after), (before, after))
        return self._node("padding", (shape,), super().pad(shape, before, after), margins=around)

    def pad_for_stride(self, shape: Shape, kernel: int) -> Shape:
        output = super().pad_for_stride(shape, kernel)
        half = kernel // 2
        around = tuple((half - 1 + side % 2, half) for side in shape[:-1])
        return self._node("padding", (shape,), output, margins=around)

    def channels(self, shape: Shape, number: int, *, start: int = 0) -> Shape:
        return self._node("channels", (shape,), super().channels(shape, number, start=start), start=start)

    def normalize_input(self, shape: Shape) -> Shape:
        # The base counts it as an elementwise layer with parameters; here it is a kind of its own.
        output = super().elementwise(shape, parameters=2 * shape[-1] + 1, trainable=0)
        return self._node("input normalization", (shape,), output)

    def scale_channels(self, shape: Shape) -> Shape:
        return self._node("scale", (shape,), super().elementwise(shape, parameters=shape[-1]))

    def _activated(self, shape: Shape, activation: str) -> Shape:
        """What a layer computes on its own output: no layer that is counted, but a node."""
        return self._node(activation, (shape,), shape) if activation else shape

    def _node(self, kind: str, inputs: Sequence[Shape], output: Shape, **settings: object) -> Shape:
        indices = tuple(self._index(shape) for shape in inputs)
        self.nodes.append(Node(kind, indices, tuple(output), settings))
        made = _Output(output)
        made.node = len(self.nodes) - 1
        return made

    def _index(self, shape: Shape) -> int:
        """The node that puts out `shape`; the image of a network that begins with a plain shape is made here."""
        if isinstance(shape, _Output):
            return shape.node
        if self.nodes:
            raise InputError("a layer's input is not the output of any layer: this network can't be built.")
        self.nodes.append(Node("input", (), shape))
        return 0


def _margins(shape: Shape, kernel: tuple[int, int], stride: int, padding: Padding | int) -> tuple[tuple[int, int], ...]:
    """(before, after) of zeros on both sides; of "same" as little as keeps ceil(size / stride), more of it after."""
    if isinstance(padding, int):
        return ((padding, padding), (padding, padding))
    if padding == "valid":
        return ((0, 0), (0, 0))
    if padding != "same":
        return padding
    missing = (
        max((-(-side // stride) - 1) * stride + size - side, 0) for side, size in zip(shape, kernel, strict=False)
    )
    return tuple((all_of_it // 2, all_of_it - all_of_it // 2) for all_of_it in missing)


def _reaching(shape: Shape, output: Shape, size: int, stride: int) -> tuple[tuple[int, int], ...]:
    """Zeros after an image that a pooling which rounds up reaches into."""
    reached = ((out - 1) * stride + size - side for side, out in zip(shape[:-1], output[:-1], strict=True))
    return tuple((0, max(beyond, 0)) for beyond in reached)
