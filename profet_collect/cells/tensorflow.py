"""Trains a cell with Keras' `fit`, as the published measurements were made, and records it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from profet_collect.cells.recorded import measured, plan_of
from profet_collect.cells.task import Measured, Seen, Task
from profet_collect.networks.graph import network_graph
from profet_collect.networks.keras import build, load_keras
from profet_recorder.keras_callback import recording_callback

LEARNING_RATE = 1e-3
#: What a cell may end with; a full memory is an OpError.
ERRORS = (tf.errors.OpError, RuntimeError, ValueError, MemoryError)
#: Steps beyond those that a recording takes at the least: an odd one is profiled again.
_SPARE_STEPS = 6


def seen(task: Task) -> Seen:
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


def _only_first_gpu(task: Task) -> list[Any]:
    """The GPU that is measured, if any; TensorFlow would take the memory of all others too."""
    gpus: list[Any] = [] if task.device == "cpu" else tf.config.list_physical_devices("GPU")[:1]
    if gpus:
        tf.config.set_visible_devices(gpus, "GPU")
    return gpus


def measure(task: Task) -> Measured:
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
    model.compile(
        optimizer=keras.optimizers.SGD(LEARNING_RATE),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    with plan_of(task) as plan:
        # The spare steps are run where they are needed: of a large cell they would take a quarter of its time.
        callback = recording_callback(plan, lambda: setattr(model, "stop_training", True))
        steps = plan.warm_up + plan.timed + plan.profiled + _SPARE_STEPS
        model.fit(
            _batches(cell.batch_size, cell.pixels, graph.classes),
            steps_per_epoch=steps,
            epochs=1,
            verbose=0,
            callbacks=[callback],
        )
        recording = callback.recording
        if recording is None or not recording.finished:
            raise RuntimeError("fit ended before its steps were recorded")
        return measured(recording, task)


def _batches(size: int, pixels: int, classes: int) -> Any:
    """One batch again and again, from the host's memory: a step copies it, as it does in a training."""
    with tf.device("CPU:0"):
        images = tf.random.uniform((size, pixels, pixels, 3))
        labels = tf.random.uniform((size,), maxval=classes, dtype=tf.int32)
    return tf.data.Dataset.from_tensors((images, labels)).repeat().prefetch(2)
