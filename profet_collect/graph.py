"""A named network as a graph: each layer with its inputs and settings, recorded while `profet_core` counts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from profet_collect.networks import build_named
from profet_collect.networks.builder import Builder
from profet_core.errors import InputError
from profet_core.layers.rules import Layer, Padding, Shape

#: Of the values that a dropout gets; it takes the same time at any share.
DROPPED_SHARE = 0.5
LEARNING_RATE = 1e-3


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


class _Output(tuple[int, ...]):
    """A shape that knows which node puts it out: the functions that describe networks pass it on as any shape."""

    node: int


def network_graph(name: str, pixels: int, classes: int | None = None) -> Graph:
    """The graph of a named network.

    Parameters and errors are those of `profet_collect.networks.layers_of`.
    """
    net = _GraphBuilder()
    name, classes = build_named(net, name, pixels, classes)
    return Graph(name, pixels, classes, tuple(net.nodes), tuple(net.layers))


class _GraphBuilder(Builder):
    """Counts as its base does, and keeps what each layer is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []

    def put(
        self, layer: Layer, kind: str = "", inputs: tuple[Shape, ...] = (), *, name: str = "", **settings: Any
    ) -> Shape:
        """Add a layer, and a node of what it computes and one of what it does to its own output."""
        super().put(layer, kind, inputs, name=name, **settings)
        if "padding" in settings:
            settings["is_same"] = settings["padding"] == "same"
            settings["margins"] = _margins(inputs[0], layer.output, **settings)
        output = self._node(kind, inputs, layer.output, settings)
        activation = settings.pop("activation", "")
        return self._node(activation, (output,), output, {}) if activation else output

    def _node(self, kind: str, inputs: Sequence[Shape], output: Shape, settings: dict[str, Any]) -> Shape:
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


def _margins(
    shape: Shape,
    output: Shape,
    *,
    kernel: tuple[int, int],
    stride: int,
    padding: Padding,
    round_up: bool = False,
    **_: object,
) -> tuple[tuple[int, int], ...]:
    """(before, after) of zeros on both sides; of "same" as little as keeps ceil(size / stride), more of it after."""
    if not round_up and padding != "same":
        return ((0, 0), (0, 0)) if padding == "valid" else padding
    # What the windows reach over the image; a pooling that rounds up has all of it at the end.
    sides = zip(shape[:-1], output[:-1], kernel, strict=True)
    missing = [max((out - 1) * stride + size - side, 0) for side, out, size in sides]
    return tuple((0, over) if round_up else (over // 2, over - over // 2) for over in missing)
