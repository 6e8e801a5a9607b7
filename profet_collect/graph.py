"""Build a network layer by layer: counted, or as a graph of layers that a framework's builder makes into a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.network import Kind, Layer, LayerList, Shape
from profet_core.layers.rules import Padding, Window


class ConvolutionOptions(TypedDict, total=False):
    """Of a convolution; `activation` is within the layer, not one of its own."""

    groups: int
    bias: bool
    activation: str


class Builder:
    """The layers so far. Each method adds one and returns its output's shape, which the next one takes.

    What an activation or a pooling computes changes no count: `activation`, `function` and `is_mean` are for what
    builds a network that runs (`profet_collect/graph.py`), which overrides `put`.

    Attributes
    ----------
    activation : what `elementwise` of one layer computes by default.
    norm_scales : whether batch normalizations scale.
    """

    def __init__(self) -> None:
        self.layers = LayerList()
        self.activation = "relu"
        self.norm_scales = True

    def put(
        self, layer: Layer, kind: str = "", inputs: tuple[Shape, ...] = (), *, name: str = "", **settings: Any
    ) -> Shape:
        """Add a layer as `rules` has it; `kind`, `inputs` and `settings` say what it computes."""
        return self.layers.put(replace(layer, is_activated=bool(settings.get("activation"))), name)

    def image(self, pixels: int, channels: int = 3) -> Shape:
        """The input, where it is a layer of its own: a graph has such, a plain sequence has not."""
        return self.put(Layer(Kind.INPUT, (pixels, pixels, channels)), "input")

    def convolution(
        self,
        shape: Shape,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: Padding | int = "same",
        **options: Unpack[ConvolutionOptions],
    ) -> Shape:
        """By default with a bias, in one group; `padding` as a number is that many on each side."""
        sides, around = (kernel, kernel) if isinstance(kernel, int) else kernel, _around(padding)
        settings: dict[str, Any] = {"groups": 1, "bias": True, "activation": "", **options}
        window = Window(sides, (stride, stride), around)
        layer = rules.convolution(shape, filters, window, settings["groups"], settings["bias"])
        settings |= {"filters": filters, "kernel": sides, "stride": stride, "padding": around}
        # Frameworks have one layer for all convolutions but depthwise ones.
        kind = Kind.DEPTHWISE if layer.kind is Kind.DEPTHWISE else Kind.CONVOLUTION
        return self.put(layer, kind, (shape,), **settings)

    def depthwise(
        self, shape: Shape, kernel: int, stride: int = 1, padding: Padding | int = "same", *, bias: bool = False
    ) -> Shape:
        """One filter a channel."""
        return self.convolution(shape, shape[-1], kernel, stride, padding, groups=shape[-1], bias=bias)

    def dense(self, shape: Shape, units: int, *, bias: bool = True, activation: str = "") -> Shape:
        """A dense layer; `activation` is within it."""
        layer = rules.dense(shape, units, bias=bias)
        return self.put(layer, "dense", (shape,), units=units, bias=bias, activation=activation)

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
        """Maximum pooling, or average where `is_mean`."""
        sides, around = (size, size), _around(padding)
        layer = rules.pooling(shape, Window(sides, (stride, stride), around), round_up=round_up)
        kind = "average pooling" if is_mean else "max pooling"
        return self.put(layer, kind, (shape,), padding=around, round_up=round_up, kernel=sides, stride=stride)

    def global_pool(self, shape: Shape, *, keep_sides: bool = False) -> Shape:
        """Average over the image."""
        layer = rules.global_pooling(shape, keep_sides=keep_sides)
        return self.put(layer, "global pooling", (shape,), keep_sides=keep_sides)

    def batch_norm(self, shape: Shape) -> Shape:
        """Batch normalization."""
        scale = self.norm_scales
        return self.put(rules.normalization(shape, scale=scale), "batch normalization", (shape,), scale=scale)

    def layer_norm(self, shape: Shape) -> Shape:
        """Layer normalization."""
        return self.put(rules.normalization(shape, averages=False), "layer normalization", (shape,))

    def elementwise(self, *shapes: Shape, function: str = "") -> Shape:
        """An activation, dropout, a sum or product of layers.

        `function` says which where it is neither `activation` (of one layer) nor a sum (of several).
        """
        return self.put(rules.elementwise(*shapes), function or ("add" if len(shapes) > 1 else self.activation), shapes)

    def batch_norm_relu(self, shape: Shape) -> Shape:
        """Both, one after another."""
        return self.elementwise(self.batch_norm(shape))

    def concatenate(self, *shapes: Shape) -> Shape:
        """Channels side by side."""
        return self.put(rules.concatenation(shapes), "concatenate", shapes)

    def squeeze_excite(self, shape: Shape, squeezed: int, *, bias: bool = True) -> Shape:
        """Channels weighed: pooled, two convolutions of 1 x 1 with activations, and multiplied to each channel."""
        weights = self.global_pool(shape, keep_sides=True)
        weights = self.elementwise(self.convolution(weights, squeezed, 1, bias=bias), function="relu")
        weights = self.elementwise(self.convolution(weights, shape[-1], 1, bias=bias), function="sigmoid")
        return self.elementwise(shape, weights, function="multiply")

    def flatten(self, shape: Shape) -> Shape:
        """All values in one row."""
        return self.put(rules.flattening(shape), "flatten", (shape,))

    def reshape(self, shape: Shape, *target: int) -> Shape:
        """The same values in another shape."""
        return self.put(rules.reshaping(shape, target), "reshape", (shape,))

    def pad(self, shape: Shape, before: int, after: int) -> Shape:
        """Zeros around an image, as a layer of its own."""
        return self._margins(shape, ((before, after), (before, after)))

    def pad_for_stride(self, shape: Shape, kernel: int) -> Shape:
        """Zeros around an image of which a window with stride 2 and no padding then makes ceil(size / 2)."""
        half = kernel // 2
        return self._margins(shape, tuple((half - 1 + side % 2, half) for side in shape[:-1]))

    def _margins(self, shape: Shape, margins: tuple[tuple[int, int], ...]) -> Shape:
        return self.put(rules.margins(shape, margins), "padding", (shape,), margins=margins)

    def normalize_input(self, shape: Shape) -> Shape:
        """Scales the image by means and variances that are kept with their count and have no gradient."""
        layer = rules.elementwise(shape, parameters=2 * shape[-1] + 1, trainable=0)
        return self.put(layer, "input normalization", (shape,))

    def scale_channels(self, shape: Shape) -> Shape:
        """Each channel times a weight of its own."""
        return self.put(rules.scaling(shape), "scale", (shape,))


def _around(padding: Padding | int) -> Padding:
    return ((padding, padding), (padding, padding)) if isinstance(padding, int) else padding


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


class _Output(tuple[int, ...]):
    """A shape that knows which node puts it out: the functions that describe networks pass it on as any shape."""

    node: int


class Graph(Builder):
    """Counts as its base does, and keeps what each layer is made of; the last of the `nodes` is its output."""

    def __init__(self, pixels: int, classes: int, nodes: Sequence[Node] = ()) -> None:
        super().__init__()
        self.pixels = pixels
        self.classes = classes
        self.nodes = list(nodes)

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
    # By how much the windows exceed the image; a pooling that rounds up has all of it at the end.
    sides = zip(shape[:-1], output[:-1], kernel, strict=True)
    missing = [max((out - 1) * stride + size - side, 0) for side, out, size in sides]
    return tuple((0, over) if round_up else (over // 2, over - over // 2) for over in missing)
