"""A cell in Keras: a named network as a model, channels last, trained with `fit` as the published measurements were."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any

import tensorflow as tf

from profet_collect.cell import CellTask, Seen
from profet_collect.networks import (
    ALEXNET,
    ALEXNET_UNITS,
    DROPPED_SHARE,
    LEARNING_RATE,
    MEASURED,
    OF_KERAS,
    RESNETS,
    SMALL_RESNET,
    VGGS,
    classes_at,
    resnet_blocks,
)
from profet_core.errors import InputError
from profet_recorder.in_training import recording_callback
from profet_recorder.plan import RecordPlan
from profet_recorder.recording import MAX_REPEATS, Recording

#: What a cell may end with; a full memory is an OpError.
ERRORS = (tf.errors.OpError, RuntimeError, ValueError, MemoryError)
#: Steps beyond those that a recording takes at least: the last of an epoch is skipped, an odd one is profiled again.
_SPARE_STEPS = 1 + MAX_REPEATS


def load_keras() -> Any:
    """Load the Keras that profiles most like the training data: tf_keras, or Keras 3 on TensorFlow."""
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
    """Choose the GPU that is measured, if any; TensorFlow would take the memory of all others too."""
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
    classes = classes_at(cell.pixels)
    model = trained_model(cell.model, cell.pixels, classes)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(LEARNING_RATE), loss=loss, jit_compile=False)
    # One batch again and again, from the host's memory: a step copies it, as it does in a training.
    with tf.device("CPU:0"):
        images = tf.random.uniform((cell.batch_size, cell.pixels, cell.pixels, 3))
        labels = tf.random.uniform((cell.batch_size,), maxval=classes, dtype=tf.int32)
    batches = tf.data.Dataset.from_tensors((images, labels)).repeat().prefetch(2)
    # The spare steps are run where they are needed: of a large cell they would take a quarter of its time.
    callback = recording_callback(plan, lambda: setattr(model, "stop_training", True))
    steps = plan.warm_up + plan.timed + plan.profiled + _SPARE_STEPS
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[callback])
    if callback.recording is None or not callback.recording.finish_early():
        raise RuntimeError("fit ended before its steps were recorded")
    return callback.recording


def trained_model(name: str, pixels: int, classes: int) -> Any:
    """Build a network whose logits are in FP32, as the guide to mixed precision has it."""
    keras, model = load_keras(), build(name, pixels, classes)
    return keras.Model(model.inputs, keras.layers.Activation("linear", dtype="float32")(model.output))


def build(name: str, pixels: int, classes: int, *, ends: str = "linear") -> Any:
    """Build the model of a named network: images (batch, pixels, pixels, 3) to logits (batch, classes).

    Parameters
    ----------
    ends : activation of what ends in one of its own; a loss that takes logits has the softmax.

    Raises
    ------
    InputError : Keras doesn't have it.
    """
    keras = load_keras()
    if name in OF_KERAS:
        shape = (pixels, pixels, 3)
        build = getattr(keras.applications, OF_KERAS[name])
        return build(weights=None, input_shape=shape, classes=classes, classifier_activation=None)
    image = keras.Input((pixels, pixels, 3))
    if name == "ResNetSmall":
        return keras.Model(image, _small_resnet(keras.layers, image, classes))
    if name.startswith("ResNet") and name in MEASURED:
        return keras.Model(image, _resnet(keras.layers, image, classes, *RESNETS[name]))
    layers = _sequence(keras.layers, name, classes, ends)
    if layers is None:
        raise InputError(f"{name} can't be built: Keras does not have it.")
    return keras.Sequential([image, *layers])


def _sequence(layers: Any, name: str, classes: int, ends: str) -> list[Any] | None:
    """Build the layers of a network without branches; None if it is none."""
    relu = {"activation": "relu"}
    if name == "LeNet5":
        parts = [(layers.Conv2D(filters, 5, **relu), layers.MaxPooling2D()) for filters in (6, 16)]
        return [*chain(*parts), layers.Flatten(), *(layers.Dense(n, **relu) for n in (120, 84)), layers.Dense(classes)]
    if name == "MNIST_CNN":
        parts = [(layers.Conv2D(filters, 3, **relu), layers.MaxPooling2D()) for filters in (32, 64)]
        return [*chain(*parts), layers.Flatten(), layers.Dropout(DROPPED_SHARE), layers.Dense(classes)]
    if name == "CIFAR10_CNN":
        built = []
        for filters in (32, 64):
            built += [layers.Conv2D(filters, 3, padding="same"), layers.Activation("relu"), layers.Conv2D(filters, 3)]
            built += [layers.Activation("relu"), layers.MaxPooling2D(), layers.Dropout(DROPPED_SHARE)]
        built += [layers.Flatten(), layers.Dense(512), layers.Activation("relu"), layers.Dropout(DROPPED_SHARE)]
        return [*built, layers.Dense(classes), layers.Activation(ends)]
    if name == "AlexNet":
        built = []
        for filters, kernel, is_padded, is_pooled in ALEXNET:
            built += [layers.ZeroPadding2D(1)] if is_padded else []
            built += [layers.Conv2D(filters, kernel, padding="same"), layers.BatchNormalization()]
            built += [layers.Activation("relu"), *([layers.MaxPooling2D()] if is_pooled else [])]
        built.append(layers.Flatten())
        for units in ALEXNET_UNITS:
            built += [layers.Dense(units), layers.BatchNormalization(), layers.Activation("relu")]
            built.append(layers.Dropout(DROPPED_SHARE))
        return [*built, layers.Dense(classes), layers.BatchNormalization(), layers.Activation(ends)]
    if name not in VGGS:
        return None
    built = []
    for filters, number in VGGS[name]:
        built += [layers.Conv2D(filters, 3, padding="same", **relu) for _ in range(number)]
        built.append(layers.MaxPooling2D())
    return [*built, layers.Flatten(), *(layers.Dense(4096, **relu) for _ in range(2)), layers.Dense(classes)]


def _small_resnet(layers: Any, image: Any, classes: int) -> Any:
    """Build the measurements' small ResNet, whose residual convolutions are 1 x 1."""
    x = layers.BatchNormalization()(layers.Conv2D(64, 7, 2, padding="same")(image))
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for filters, stride in SMALL_RESNET:
        shortcut = layers.BatchNormalization()(layers.Conv2D(filters, 1, 2)(x)) if stride > 1 else x
        y = layers.BatchNormalization()(layers.Conv2D(filters, 1, stride, padding="same")(x))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 1, padding="same")(layers.Activation("relu")(y)))
        x = layers.Activation("relu")(layers.Add()([shortcut, y]))
    return layers.Dense(classes)(layers.GlobalAveragePooling2D()(x))


def _resnet(layers: Any, image: Any, classes: int, blocks: tuple[int, ...], kernels: tuple[int, ...]) -> Any:
    """Build the measurements' ResNet: normalized before each convolution (v2), no normalization on shortcuts."""

    def normalized(x: Any) -> Any:
        return layers.Activation("relu")(layers.BatchNormalization()(x))

    x = normalized(layers.Conv2D(64, 7, 2, padding="same")(image))
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for stage, block in resnet_blocks(blocks):
        filters, stride, y = 64 * 2**stage, 2 if stage and not block else 1, x
        for index, kernel in enumerate(kernels):
            y = y if not (stage or block or index) else normalized(y)
            widened = filters * (4 if index == 2 else 1)
            y = layers.Conv2D(widened, kernel, 1 if index else stride, padding="same")(y)
        x = layers.Add()([x if x.shape == y.shape else layers.Conv2D(y.shape[-1], 1, stride)(x), y])
    x = normalized(x)
    return layers.Dense(classes)(layers.Flatten()(layers.AveragePooling2D(x.shape[1], 1)(x)))
