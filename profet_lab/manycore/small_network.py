"""The small published network in numpy, trained image by image.

29 x 29 pixels; 5 maps 4 x 4, pooled by 2; 10 maps 5 x 5, pooled by 3; dense 50 and 10; tanh, softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float32]

PIXELS, CLASSES = 29, 10
#: Of each layer's weights: inputs, the last one of which is a constant for its biases, and outputs.
_SHAPES = ((4 * 4 + 1, 5), (5 * 5 * 5 + 1, 10), (90 + 1, 50), (50 + 1, CLASSES))
WEIGHTS = sum(rows * columns for rows, columns in _SHAPES)
_LEARNING_RATE = 0.01


def first_weights(seed: int = 0) -> Array:
    """All weights in one array, as a training starts."""
    random = np.random.default_rng(seed)
    parts = [random.normal(0, (1 / shape[0]) ** 0.5, shape) for shape in _SHAPES]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def images_of(count: int, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """Images that can be learned, one pattern a class under noise, and their classes."""
    patterns = np.random.default_rng(0).normal(0, 1, (CLASSES, PIXELS, PIXELS))
    random = np.random.default_rng([1, seed])
    classes = random.integers(0, CLASSES, count)
    noise = random.normal(0, 1, (count, PIXELS, PIXELS))
    return (0.5 * patterns[classes] + noise).astype(np.float32), classes


@dataclass(frozen=True, slots=True)
class _Pass:
    """What the backward pass needs of a forward one; each layer's inputs with their constant."""

    first: Array
    first_maps: Array
    first_pooled: Array
    second: Array
    second_maps: Array
    second_pooled: Array
    third: Array
    fourth: Array
    probabilities: Array


class SmallNetwork:
    """The network on weights that others may change at the same time."""

    def __init__(self, weights: Array) -> None:
        ends = np.cumsum([rows * columns for rows, columns in _SHAPES])[:-1]
        parts = zip(np.split(weights, ends), _SHAPES, strict=True)
        #: Views: what is written into them is in `weights`.
        self._layers = [part.reshape(shape) for part, shape in parts]

    def forward(self, image: Array) -> Array:
        """Probabilities of the classes."""
        return self._forward(image).probabilities

    def train(self, image: Array, wanted: int) -> float:
        """One step on one image; returns its cross-entropy before."""
        done = self._forward(image)
        gradients = self._backward(done, wanted)
        for layer, gradient in zip(self._layers, gradients, strict=True):
            layer -= _LEARNING_RATE * gradient
        return -float(np.log(max(done.probabilities[wanted], 1e-30)))

    def _forward(self, image: Array) -> _Pass:
        first_layer, second_layer, third_layer, fourth_layer = self._layers
        first = _with_constant(sliding_window_view(image, (4, 4)).reshape(676, 16))
        first_maps = np.tanh(first @ first_layer).reshape(26, 26, 5)
        first_pooled = first_maps.reshape(13, 2, 13, 2, 5).max(axis=(1, 3))
        second = _with_constant(sliding_window_view(first_pooled, (5, 5), axis=(0, 1)).reshape(81, 125))
        second_maps = np.tanh(second @ second_layer).reshape(9, 9, 10)
        second_pooled = second_maps.reshape(3, 3, 3, 3, 10).max(axis=(1, 3))
        third = _with_constant(second_pooled.reshape(1, 90))
        fourth = _with_constant(np.tanh(third @ third_layer))
        scores = (fourth @ fourth_layer)[0]
        powers = np.exp(scores - scores.max())
        probabilities = powers / powers.sum()
        return _Pass(first, first_maps, first_pooled, second, second_maps, second_pooled, third, fourth, probabilities)

    def _backward(self, done: _Pass, wanted: int) -> list[Array]:
        """Gradient of each layer's weights."""
        _, second_layer, third_layer, fourth_layer = self._layers
        scores = done.probabilities[np.newaxis].copy()
        scores[0, wanted] -= 1
        hidden = (scores @ fourth_layer[:-1].T) * (1 - np.square(done.fourth[:, :-1]))
        pooled = (hidden @ third_layer[:-1].T).reshape(3, 3, 10)
        second = _unpooled(pooled, done.second_pooled, done.second_maps, 3).reshape(81, 10)
        patches = (second @ second_layer[:-1].T).reshape(9, 9, 5, 5, 5)
        first_pooled = np.zeros_like(done.first_pooled)
        for row in range(5):
            for column in range(5):
                first_pooled[row : row + 9, column : column + 9] += patches[:, :, :, row, column]
        first = _unpooled(first_pooled, done.first_pooled, done.first_maps, 2).reshape(676, 5)
        return [done.first.T @ first, done.second.T @ second, done.third.T @ hidden, done.fourth.T @ scores]


def _with_constant(rows: Array) -> Array:
    found = np.ones((rows.shape[0], rows.shape[1] + 1), np.float32)
    found[:, :-1] = rows
    return found


def _unpooled(gradient: Array, pooled: Array, maps: Array, by: int) -> Array:
    """A pooled layer's gradient before pooling and tanh: to the largest of each window."""

    def spread(values: Array) -> Array:
        return values.repeat(by, axis=0).repeat(by, axis=1)

    return spread(gradient) * (maps == spread(pooled)) * (1 - maps**2)
