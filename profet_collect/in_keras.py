"""A cell in Keras: a named network as a model, channels last, trained with `fit` as the published measurements were."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import tensorflow as tf

from profet_collect.cell import CellTask, Seen
from profet_collect.graph import DROPPED_SHARE, LEARNING_RATE, Graph, Node
from profet_collect.networks import network_graph
from profet_core.errors import InputError
from profet_recorder.in_training import recording_callback
from profet_recorder.plan import RecordPlan
from profet_recorder.recording import MAX_REPEATS, Recording

#: What a cell may end with; a full memory is an OpError.
ERRORS = (tf.errors.OpError, RuntimeError, ValueError, MemoryError)
#: Steps beyond those that a recording takes at least: the last of an epoch is skipped, an odd one is profiled again.
_SPARE_STEPS = 1 + MAX_REPEATS
_ACTIVATIONS = {
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


def seen(task: CellTask) -> Seen:
    """Versions and GPU."""
    keras = load_keras()
    name = f"{keras.__name__.partition('.')[0]} {keras.__version__}"
    gpus = _only_first_gpu(task)
    if not gpus:
        return Seen(tf.__version__, name)
    details = tf.config.experimental.get_device_details(gpus[0])
    major, minor = details.get("compute_capability") or (0, 0)
    # The GPU is set up once here too, so that the answer takes what a cell's start takes.
    tf.zeros(1)
    return Seen(tf.__version__, name, details.get("device_name") or "unknown GPU", major + minor / 10)


def _only_first_gpu(task: CellTask) -> list[Any]:
    """The GPU that is measured, if any; TensorFlow would take the memory of all others too."""
    gpus: list[Any] = [] if task.device == "cpu" else tf.config.list_physical_devices("GPU")[:1]
    if gpus:
        tf.config.set_visible_devices(gpus, "GPU")
    return gpus


def record(task: CellTask, plan: RecordPlan) -> Recording:
    """Warm up, time, profile; what memory is too small for is raised as TensorFlow has it."""
    cell = task.cell
    assert cell is not None
    keras = load_keras()
    _only_first_gpu(task)
    if task.threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(task.threads)
        tf.config.threading.set_inter_op_parallelism_threads(task.threads)
    tf.random.set_seed(task.seed)
    tf.config.experimental.enable_tensor_float_32_execution(cell.precision != "fp32")
    keras.mixed_precision.set_global_policy("mixed_float16" if cell.precision == "amp" else "float32")
    graph = network_graph(cell.model, cell.pixels)
    model = build(graph)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(LEARNING_RATE), loss=loss, jit_compile=False)
    # One batch again and again, from the host's memory: a step copies it, as it does in a training.
    with tf.device("CPU:0"):
        images = tf.random.uniform((cell.batch_size, cell.pixels, cell.pixels, 3))
        labels = tf.random.uniform((cell.batch_size,), maxval=graph.classes, dtype=tf.int32)
    batches = tf.data.Dataset.from_tensors((images, labels)).repeat().prefetch(2)
    # The spare steps are run where they are needed: of a large cell they would take a quarter of its time.
    callback = recording_callback(plan, lambda: setattr(model, "stop_training", True))
    steps = plan.warm_up + plan.timed + plan.profiled + _SPARE_STEPS
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[callback])
    if callback.recording is None or not callback.recording.settle():
        raise RuntimeError("fit ended before its steps were recorded")
    return callback.recording


def build(graph: Graph) -> Any:
    """The model of a graph: images (batch, pixels, pixels, 3) to logits (batch, classes).

    Raises
    ------
    InputError : a kind of layer that can't be built in Keras, by its name.
    """
    keras = load_keras()
    custom = _custom_layers(keras)
    values: list[Any] = []
    for node in graph.nodes:
        if node.kind == "input":
            values.append(keras.Input(node.shape))
        else:
            values.append(_applied(keras, custom, node, [values[index] for index in node.inputs]))
    # A mixed model ends in FP32, as its guide has it.
    output = keras.layers.Activation("linear", dtype="float32")(values[-1])
    return keras.Model(values[0], output, name="network")


def _applied(keras: Any, custom: dict[str, Any], node: Node, inputs: list[Any]) -> Any:
    first, layers = inputs[0], keras.layers
    match node.kind:
        case "convolution" | "depthwise convolution":
            return _convolution(layers, node, first)
        case "max pooling" | "average pooling":
            first, padding = _padded(layers, node, first)
            kind = layers.MaxPooling2D if node.kind == "max pooling" else layers.AveragePooling2D
            return kind(node.settings["kernel"], node.settings["stride"], padding)(first)
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
        case "relu" | "relu6":
            # Older Keras has no activation named relu6.
            return layers.ReLU(6.0 if node.kind == "relu6" else None)(first)
        case "hard swish" if not hasattr(keras.activations, "hard_swish"):
            return custom["hard swish"]()(first)
        case kind if kind in _ACTIVATIONS:
            return layers.Activation(_ACTIVATIONS[kind])(first)
        case kind if kind in custom:
            return custom[kind](**node.settings)(first)
    raise InputError(f"a layer of kind {node.kind!r} can't be built in Keras.")


def _padded(layers: Any, node: Node, value: Any) -> tuple[Any, str]:
    """The value with the margins that Keras' custom "same" doesn't make, and the padding that is left to the layer."""
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


def _custom_layers(keras: Any) -> dict[str, Any]:
    """Layers that Keras lacks, or that would ask for data before they are made."""

    class Scale(keras.layers.Layer):
        """Each channel times a weight of its custom."""

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

    return {
        "scale": Scale,
        "input normalization": InputNormalization,
        "hard swish": lambda: Function(lambda values: values * tf.nn.relu6(values + 3.0) / 6.0),
    }
