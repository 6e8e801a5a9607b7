"""Draw training rows for the default method's networks, step by step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

from profet_lab.classes.bank import ClassBank, TrainingRows


class Rows(NamedTuple):
    """Rows of one step, for every network its own; tensors (networks, rows, ...), milliseconds.

    Attributes
    ----------
    classes, latency : of the anchor's profiles, (..., classes) and (..., 1); the latter None if it is not known.
    sizes : (..., 2), None if they are not known.
    target_latency, target_classes : what is learned, (..., 1) and (..., device classes).
    """

    classes: tf.Tensor
    latency: tf.Tensor | None
    sizes: tf.Tensor | None
    target_latency: tf.Tensor
    target_classes: tf.Tensor


class RowSampler:
    """Draws each network's rows from those it may learn from, some of them two workloads run one after the other."""

    def __init__(
        self,
        bank: ClassBank,
        training_rows: Sequence[TrainingRows],
        latency_known: bool,
        sizes_known: bool,
        composed: float,
        rows_per_step: int,
        seed: int,
    ) -> None:
        self.shape = (len(training_rows), rows_per_step)
        self._latency_known, self._sizes_known = latency_known, sizes_known
        self._composed, self._seed = composed, seed
        names, count = list(bank.latency_ms), len(bank.architectures)
        classes = np.concatenate([bank.inputs[name, latency_known].classes_ms for name in names])
        device_ms = np.concatenate([bank.inputs[name, True].classes_ms[:, : bank.device_classes] for name in names])
        latency = np.concatenate([bank.latency_ms[name] for name in names])[:, None]
        self._classes, self._device_classes, self._latency, self._sizes = (
            tf.constant(table, tf.float32) for table in (classes, device_ms, latency, bank.sizes)
        )
        self._own, self._lengths = _own_rows(training_rows)
        # All instances' rows lie in one table, one instance after the other.
        self._anchor, self._target = (
            np.array([[names.index(getattr(each, end)) * count] for each in training_rows], np.int32)
            for end in ("anchor", "target")
        )

    def rows(self, number: tf.Tensor) -> Rows:
        """The rows of a step."""
        drawn, row = self._draw([self._seed, number])
        if self._composed:
            drawn = self._with_second(drawn, number)
        return drawn._replace(
            latency=drawn.latency if self._latency_known else None,
            sizes=tf.gather(self._sizes, row) if self._sizes_known else None,
        )

    def _draw(self, key: Sequence[int | tf.Tensor]) -> tuple[Rows, tf.Tensor]:
        """Rows without their sizes, and their numbers."""
        chosen = tf.cast(tf.random.stateless_uniform(self.shape, key) * self._lengths, tf.int32)
        row = tf.gather(tf.constant(self._own), chosen, batch_dims=1)
        here, there = row + self._anchor, row + self._target
        drawn = Rows(
            classes=tf.gather(self._classes, here),
            latency=tf.gather(self._latency, here),
            sizes=None,
            target_latency=tf.gather(self._latency, there),
            target_classes=tf.gather(self._device_classes, there),
        )
        return drawn, row

    def _with_second(self, first: Rows, number: tf.Tensor) -> Rows:
        """The rows, to some of which a second workload is added."""
        second, _ = self._draw([self._seed + 1, number])
        both = tf.cast(tf.random.stateless_uniform(self.shape, [self._seed + 2, number]) < self._composed, tf.float32)
        # The second workload weighs about as much as the first, give or take a factor e.
        weight = (
            (both * tf.exp(tf.random.stateless_normal(self.shape, [self._seed + 3, number])))[..., None]
            * first.target_latency
            / second.target_latency
        )
        return Rows(
            classes=first.classes + weight * second.classes,
            latency=first.latency + weight * second.latency,
            sizes=None,
            target_latency=first.target_latency + weight * second.target_latency,
            target_classes=first.target_classes + weight * second.target_classes,
        )


def _own_rows(training_rows: Sequence[TrainingRows]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of each network's rows, repeated to the longest, (networks, longest), and how many, (networks, 1)."""
    longest = max(int(each.rows.sum()) for each in training_rows)
    own = np.zeros((len(training_rows), longest), np.int32)
    for number, each in enumerate(training_rows):
        own[number] = np.resize(np.flatnonzero(each.rows), longest)
    return own, np.array([[each.rows.sum()] for each in training_rows], np.float32)
