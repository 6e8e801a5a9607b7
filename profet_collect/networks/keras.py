"""Builds a graph as a Keras model, channels last: with tf_keras where that is installed, else with Keras 3."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from profet_collect.networks.graph import DROPPED_SHARE, Graph, Node
from profet_core.errors import InputError

_ACTIVATIONS = {
    "relu": "relu",
    "relu6": "relu6",
    "swish": "swish",
    "hard swish": "hard_swish",
    "gelu": "gelu",
    "sigmoid": "sigmoid",
    # The loss takes logits: its softmax is part of it.
    "softmax": "linear",
}


def load_keras() -> Any:
    """The Keras that profiles most like the training data: tf_keras, or Keras 3 on TensorFlow."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    return import_module("tf_keras" if find_spec("tf_keras") else "keras")


def build(graph: Graph) -> Any:
    """The model of a graph: images (batch, pixels, pixels, 3) to logits (batch, classes).

    Raises
    ------
    InputError : a kind of layer that can't be built in Keras, by its name.
    """
    keras = load_keras()
    own = _own_layers(keras)
    values: list[Any] = []
    for node in graph.nodes:
        if node.kind == "input":
            values.append(keras.Input(node.shape))
        else:
            values.append(_applied(keras, own, node, [values[index] for index in node.inputs], graph))
    # A mixed model ends in FP32, as its guide has it.
    output = keras.layers.Activation("linear", dtype="float32")(values[-1])
    return keras.Model(values[0], output, name="network")


def _applied(keras: Any, own: dict[str, Any], node: Node, inputs: list[Any], graph: Graph) -> Any:
    before = graph.nodes[node.inputs[0]].shape
    first, layers = inputs[0], keras.layers
    match node.kind:
        case "convolution" | "depthwise convolution":
            return _convolution(layers, node, first)
        case "max pooling" | "average pooling":
            return _pooling(layers, node, first)
        case "adaptive pooling":
            return _adaptive(layers, own, node, before, first)
        case "dense":
            return layers.Dense(node.settings["units"], use_bias=node.settings["bias"])(first)
        case "global pooling":
            return layers.GlobalAveragePooling2D(keepdims=node.settings["keep_sides"])(first)
        case "batch normalization":
            return layers.BatchNormalization(scale=node.settings["scale"])(first)
        case "layer normalization":
            return layers.LayerNormalization(epsilon=1e-6)(first)
        case "dropout":
            return layers.Dropout(DROPPED_SHARE)(first)
        case "add" | "multiply" | "concatenate":
            return getattr(layers, node.kind.capitalize())()(inputs)
        case "flatten":
            return layers.Flatten()(first)
        case "reshape":
            return layers.Reshape(node.shape)(first)
        case "padding":
            return layers.ZeroPadding2D(node.settings["margins"])(first)
        case "rescale":
            return layers.Rescaling(1 / 6)(first)
        case "shift":
            return layers.Rescaling(1.0, 3.0)(first)
        case kind if kind in _ACTIVATIONS:
            return _activation(keras, own, kind, first)
        case kind if kind in own:
            return own[kind](**node.settings, **({"number": node.shape[-1]} if kind == "channels" else {}))(first)
    raise InputError(f"a layer of kind {node.kind!r} can't be built in Keras.")


def _activation(keras: Any, own: dict[str, Any], kind: str, value: Any) -> Any:
    if kind in ("relu", "relu6"):
        # Older Keras has no activation named relu6.
        return keras.layers.ReLU(6.0 if kind == "relu6" else None)(value)
    if kind == "hard swish" and not hasattr(keras.activations, "hard_swish"):
        return own["hard swish"]()(value)
    return keras.layers.Activation(_ACTIVATIONS[kind])(value)


def _padded(layers: Any, node: Node, value: Any) -> tuple[Any, str]:
    """The value with the margins that Keras' own "same" doesn't make, and the padding that is left to the layer."""
    if node.settings["is_same"]:
        return value, "same"
    margins = node.settings["margins"]
    if any(side for pair in margins for side in pair):
        # Before a maximum too: what is pooled was activated, so that zero is the least there is.
        value = layers.ZeroPadding2D(margins)(value)
    return value, "valid"


def _convolution(layers: Any, node: Node, value: Any) -> Any:
    settings = node.settings
    value, padding = _padded(layers, node, value)
    common = {"strides": settings["stride"], "padding": padding, "use_bias": settings["bias"]}
    if node.kind == "depthwise convolution":
        return layers.DepthwiseConv2D(settings["kernel"], **common)(value)
    return layers.Conv2D(settings["filters"], settings["kernel"], groups=settings["groups"], **common)(value)


def _pooling(layers: Any, node: Node, value: Any) -> Any:
    value, padding = _padded(layers, node, value)
    kind = layers.MaxPooling2D if node.kind == "max pooling" else layers.AveragePooling2D
    return kind(node.settings["kernel"], node.settings["stride"], padding)(value)


def _adaptive(layers: Any, own: dict[str, Any], node: Node, before: tuple[int, ...], value: Any) -> Any:
    side = node.settings["side"]
    if before[0] == side:
        return value
    if before[0] % side:
        return own["adaptive pooling"](before[0], side)(value)
    return layers.AveragePooling2D(before[0] // side)(value)


def _own_layers(keras: Any) -> dict[str, Any]:
    """Layers that Keras lacks, or that would ask for data before they are made."""
    tf: Any = import_module("tensorflow")

    class Scale(keras.layers.Layer):
        """Each channel times a weight of its own."""

        def build(self, shape: Any) -> None:
            self.weight = self.add_weight(name="weight", shape=(shape[-1],), initializer="ones")

        def call(self, values: Any) -> Any:
            return values * tf.cast(self.weight, values.dtype)

    class InputNormalization(keras.layers.Layer):
        """By a mean and a variance that were found before training, and how many images that was."""

        def build(self, shape: Any) -> None:
            ones = {"shape": (shape[-1],), "initializer": "ones", "trainable": False}
            self.mean = self.add_weight(name="mean", **ones)
            self.variance = self.add_weight(name="variance", **ones)
            self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

        def call(self, values: Any) -> Any:
            mean, variance = (tf.cast(one, values.dtype) for one in (self.mean, self.variance))
            return (values - mean) / tf.sqrt(variance)

    class Function(keras.layers.Layer):
        """A function of values, without parameters."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            super().__init__()
            self._function = function

        def call(self, values: Any) -> Any:
            return self._function(values)

    def shuffled(values: Any) -> Any:
        """Channels of two groups in turn."""
        height, width, channels = values.shape[1:]
        apart = tf.reshape(values, (-1, height, width, 2, channels // 2))
        return tf.reshape(tf.transpose(apart, (0, 1, 2, 4, 3)), (-1, height, width, channels))

    class AdaptivePooling(keras.layers.Layer):
        """Means of as many windows a side as are asked for; windows overlap where the side is no multiple of that."""

        def __init__(self, size: int, side: int) -> None:
            super().__init__()
            starts, ends = (np.arange(side) * size) // side, -(-(np.arange(1, side + 1) * size) // side)
            places = np.arange(size)
            inside = (places >= starts[:, None]) & (places < ends[:, None])
            self._means = inside / inside.sum(1, keepdims=True)

        def call(self, values: Any) -> Any:
            means = tf.constant(self._means, values.dtype)
            return tf.einsum("ih,nhwc,jw->nijc", means, values, means)

    return {
        "adaptive pooling": AdaptivePooling,
        "scale": Scale,
        "input normalization": InputNormalization,
        "channels": lambda start, number: Function(lambda values: values[..., start : start + number]),
        "shuffle": lambda: Function(shuffled),
        "hard swish": lambda: Function(lambda values: values * tf.nn.relu6(values + 3.0) / 6.0),
    }
