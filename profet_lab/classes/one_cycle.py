"""The learning rate of the default method's networks."""

from __future__ import annotations

import os

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf


class OneCycle(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 1/25 of the peak over 30 % of the steps and falls to nearly 0, both along a cosine."""

    def __init__(self, peak: float, steps: int) -> None:
        self.peak, self.steps = peak, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """The rate at a step."""
        done = tf.cast(step, tf.float32) / max(self.steps - 1, 1)
        rise = _cosine(self.peak / 25, self.peak, tf.minimum(done / 0.3, 1.0))
        fall = _cosine(self.peak, self.peak / 250_000, tf.clip_by_value((done - 0.3) / 0.7, 0.0, 1.0))
        return tf.where(done < 0.3, rise, fall)


def _cosine(start: float, end: float, done: tf.Tensor) -> tf.Tensor:
    return end + (start - end) / 2 * (1 + tf.cos(np.pi * done))
