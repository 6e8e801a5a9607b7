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

from profet_lab.classes.fit_networks import Layer, forward
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
    layers = _initial_layers(networks, (widest, *HIDDEN, 1), seed)
    variables = [value for layer in layers for value in layer]
    schedule = keras.optimizers.schedules.ExponentialDecay(LEARNING_RATE, DECAY_ROWS // BATCH_SIZE, DECAY_RATE)
    optimizer = keras.optimizers.Adam(schedule)
    optimizer.build(variables)
    all_features, all_targets = tf.constant(features), tf.constant(targets)

    @tf.function(jit_compile=True)
    def step(chosen):
        inputs = tf.gather(all_features, chosen, batch_dims=1)
        wanted = tf.gather(all_targets, chosen, batch_dims=1)
        with tf.GradientTape() as tape:
            predicted = forward(layers, inputs, "relu")[..., 0]
            # Sum over the networks, mean over the rows: no network's gradient depends on another's.
            loss = tf.reduce_sum(tf.reduce_mean(tf.abs(predicted - wanted) / wanted, axis=1)) * 100.0
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    for number in range(steps):
        step(tf.constant(rows[:, number * BATCH_SIZE : (number + 1) * BATCH_SIZE]))
        if progress and (number + 1) % 50 == 0:
            progress(50)
    kernels, biases = ([np.asarray(layer[part]) for layer in layers] for part in (0, 1))
    return [
        DenseWeights(
            kernels=(kernels[0][n, : each.features.shape[1]], *(kernel[n] for kernel in kernels[1:])),
            biases=tuple(bias[n, 0] for bias in biases),
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


def _initial_layers(networks: int, widths: Sequence[int], seed: int) -> list[Layer]:
    """Per layer a kernel, Glorot uniform for one network's matrix (not the stack's), and a zero bias."""
    # A generator of its own, not the process's: tasks in other threads draw from that.
    seeds, layers = Random(seed), []
    for wide, narrow in pairwise(widths):
        limit = float(np.sqrt(6 / (wide + narrow)))
        kernel = keras.initializers.RandomUniform(-limit, limit, seed=seeds.randint(1, 10**9))
        shape = (networks, wide, narrow)
        layers.append((keras.Variable(kernel(shape)), keras.Variable(np.zeros((networks, 1, narrow), np.float32))))
    return layers
