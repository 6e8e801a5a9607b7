"""Train many small dense networks at once as stacked matrices.

Pairs and folds are independent problems on a few thousand rows each. Trained one after another their time goes into
starting steps; stacked along an axis of their own, every step serves all of them. Adam works element by element, so
each network of the stack learns exactly as it would alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

from profet_lab.progress import Progress

#: Hidden layers of PROFET's network (arXiv:2208.05130).
HIDDEN = (128, 64, 32, 16)
BATCH_SIZE = 16
EPOCHS = 80
LEARNING_RATE = 1e-3
#: The rate falls to this share of itself every 1,000 steps of 16 rows in PROFET's script; same share per row here.
DECAY_RATE, DECAY_ROWS = 0.9, 16_000


@dataclass(frozen=True)
class DenseTrainingRows:
    """One network's: features (rows, n) and targets (rows,), both in microseconds."""

    features: np.ndarray
    target_us: np.ndarray


@dataclass(frozen=True)
class DenseWeights:
    """A trained network: per layer a kernel (inputs, outputs) and a bias (outputs,). ReLU between layers."""

    kernels: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def predict_us(self, features: np.ndarray) -> np.ndarray:
        """Latency in microseconds, shape (rows,)."""
        value = np.asarray(features, np.float32)
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            value = value @ kernel + bias
            if layer < len(self.kernels) - 1:
                value = np.maximum(value, 0)
        return value[:, 0].astype(float)


def fit_dense(
    training_rows: Sequence[DenseTrainingRows], seed: int, epochs: int = EPOCHS, progress: Progress | None = None
) -> list[DenseWeights]:
    """Train a network on each, all together, on the relative error."""
    features, targets = _stacked(training_rows)
    networks, longest, widest = features.shape
    steps = training_steps(longest, epochs)
    rows = _row_order([len(each.target_us) for each in training_rows], steps * BATCH_SIZE, seed)
    network = _stacked_network(networks, widest, seed)
    schedule = keras.optimizers.schedules.ExponentialDecay(LEARNING_RATE, DECAY_ROWS // BATCH_SIZE, DECAY_RATE)
    optimizer = keras.optimizers.Adam(schedule)
    optimizer.build(network.trainable_variables)
    all_features, all_targets = tf.constant(features), tf.constant(targets)

    @tf.function(jit_compile=True)
    def step(chosen):
        inputs = tf.gather(all_features, chosen, batch_dims=1)
        wanted = tf.gather(all_targets, chosen, batch_dims=1)
        with tf.GradientTape() as tape:
            predicted = network(inputs, training=True)[..., 0]
            # Sum over the networks, mean over the rows: no network's gradient depends on another's.
            loss = tf.reduce_sum(tf.reduce_mean(tf.abs(predicted - wanted) / wanted, axis=1)) * 100.0
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))

    for number in range(steps):
        step(tf.constant(rows[:, number * BATCH_SIZE : (number + 1) * BATCH_SIZE]))
        if progress and (number + 1) % 50 == 0:
            progress(50)
    layers = [layer.get_weights() for layer in network.layers if layer.get_weights()]
    return [
        DenseWeights(
            kernels=(layers[0][0][n, : each.features.shape[1]], *(kernel[n] for kernel, _ in layers[1:])),
            biases=tuple(bias[n, 0] for _, bias in layers),
        )
        for n, each in enumerate(training_rows)
    ]


def training_steps(rows: int, epochs: int = EPOCHS) -> int:
    """Steps that `fit_dense` takes where the longest has `rows` training rows."""
    return epochs * -(-rows // BATCH_SIZE)


def _stacked(training_rows: Sequence[DenseTrainingRows]) -> tuple[np.ndarray, np.ndarray]:
    """Features (networks, rows, features) and targets (networks, rows), filled up to the longest and widest."""
    widest = max(each.features.shape[1] for each in training_rows)
    longest = max(len(each.target_us) for each in training_rows)
    features = np.zeros((len(training_rows), longest, widest), np.float32)
    targets = np.ones((len(training_rows), longest), np.float32)
    for number, each in enumerate(training_rows):
        features[number, : len(each.features), : each.features.shape[1]] = each.features
        targets[number, : len(each.target_us)] = each.target_us
    return features, targets


def _row_order(lengths: Sequence[int], count: int, seed: int) -> np.ndarray:
    """For each network `count` row numbers: its own rows shuffled, again and again. Shape (networks, count)."""
    random = np.random.default_rng(seed)
    orders = [
        np.concatenate([random.permutation(length) for _ in range(-(-count // length))])[:count] for length in lengths
    ]
    return np.stack(orders).astype(np.int32)


def _stacked_network(networks: int, inputs: int, seed: int) -> keras.Sequential:
    """`networks` networks side by side: (networks, rows, inputs) -> (networks, rows, 1)."""
    # A generator of its own, not the process's: tasks in other threads draw from that.
    seeds = Random(seed)
    layers: list[keras.Layer] = [keras.Input((None, inputs), batch_size=networks)]
    sizes = [inputs, *HIDDEN, 1]
    for number, (wide, narrow) in enumerate(pairwise(sizes)):
        # Glorot's limit of one network's matrix; the stack's own shape would make it far too small.
        limit = float(np.sqrt(6 / (wide + narrow)))
        layers.append(
            StackedDense(
                narrow,
                "relu" if number < len(HIDDEN) else "linear",
                keras.initializers.RandomUniform(-limit, limit, seed=seeds.randint(1, 10**9)),
            )
        )
    return keras.Sequential(layers)


class StackedDense(keras.layers.Layer):
    """A dense layer with a kernel and a bias for each network along the first axis."""

    def __init__(self, units: int, activation: str, initializer: keras.initializers.Initializer) -> None:
        super().__init__()
        self.units, self.activation, self.initializer = units, keras.activations.get(activation), initializer

    def build(self, input_shape: tuple[int, int, int]) -> None:
        """Make the weights: kernel (networks, inputs, units) and bias (networks, 1, units)."""
        networks, _, inputs = input_shape
        self.kernel = self.add_weight(shape=(networks, inputs, self.units), initializer=self.initializer)
        self.bias = self.add_weight(shape=(networks, 1, self.units), initializer="zeros")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Each network's own rows through its own kernel."""
        return self.activation(keras.ops.matmul(inputs, self.kernel) + self.bias)
