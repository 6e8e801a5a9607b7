"""Worker process: `python -m profet_lab.manycore.worker WAY CORES WEIGHTS`.

WAY is a key of `WAYS`, CORES a list such as "0,1", WEIGHTS a file that all workers of a crew share. Each line on stdin
is a `Share` to work through, each line on stdout what that took; the first says that the worker is ready.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from profet_core.accuracy.manycore import OWN_IMAGES, SHARED_BATCHES
from profet_lab.manycore.small_network import WEIGHTS, Array, SmallNetwork, images_of

#: Images that a batch has where threads share it.
BATCH_SIZE = 64


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part of an epoch: images to train on and then validate on, and to test on.

    Attributes
    ----------
    seed : of the images, so that no two workers have the same.
    """

    images: int
    test_images: int
    seed: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What a share took, seconds.

    Attributes
    ----------
    training_s, forward_s : of the training, and of validation and testing.
    processor_s : time on the processor of all threads, making the images too.
    loss_first, loss_last : mean cross-entropy of the first and the last tenth of the training images.
    """

    training_s: float
    forward_s: float
    processor_s: float
    loss_first: float
    loss_last: float


class Trainer(Protocol):
    """A way of training the small network."""

    #: Its library with the version.
    library: str

    def train(self, images: Array, classes: Sequence[int]) -> list[float]:
        """Train on every image once; returns losses in their order."""

    def forward(self, images: Array) -> None:
        """One forward pass of every image."""


class ImageByImage:
    """NumPy, a step an image, on weights that others change at the same time."""

    library = f"NumPy {np.__version__}"

    def __init__(self, weights: Array) -> None:
        self._network = SmallNetwork(weights)

    def train(self, images: Array, classes: Sequence[int]) -> list[float]:
        """One step an image."""
        return [self._network.train(image, wanted) for image, wanted in zip(images, classes, strict=True)]

    def forward(self, images: Array) -> None:
        """One pass an image."""
        for image in images:
            self._network.forward(image)


class InBatches:
    """TensorFlow, a step a batch, whose operations its threads share."""

    def __init__(self, _: Array) -> None:
        import tensorflow as tf

        threads = len(os.sched_getaffinity(0))
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        keras = tf.keras
        self.library = f"TensorFlow {tf.__version__}"
        keras.utils.set_random_seed(0)
        self._model = keras.Sequential(
            [
                keras.Input((29, 29, 1)),
                keras.layers.Conv2D(5, 4, activation="tanh"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(10, 5, activation="tanh"),
                keras.layers.MaxPooling2D(3),
                keras.layers.Flatten(),
                keras.layers.Dense(50, activation="tanh"),
                keras.layers.Dense(10),
            ]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(self._model.trainable_variables)

        @tf.function(input_signature=[tf.TensorSpec((None, 29, 29, 1)), tf.TensorSpec((None,), tf.int64)])
        def step(images, classes):
            with tf.GradientTape() as tape:
                value = loss(classes, self._model(images, training=True))
            optimizer.apply_gradients(
                zip(tape.gradient(value, self._model.trainable_variables), self._model.trainable_variables, strict=True)
            )
            return value

        self._step = step
        self._forward = tf.function(self._model, input_signature=[tf.TensorSpec((None, 29, 29, 1))])

    def train(self, images: Array, classes: Sequence[int]) -> list[float]:
        """One step a batch; a batch's loss is that of each of its images."""
        found = []
        for start in range(0, len(images), BATCH_SIZE):
            part = images[start : start + BATCH_SIZE, :, :, np.newaxis]
            value = float(self._step(part, np.asarray(classes[start : start + BATCH_SIZE])))
            found += [value] * len(part)
        return found

    def forward(self, images: Array) -> None:
        """One pass a batch."""
        for start in range(0, len(images), BATCH_SIZE):
            self._forward(images[start : start + BATCH_SIZE, :, :, np.newaxis])


WAYS: dict[str, Callable[[Array], Trainer]] = {OWN_IMAGES: ImageByImage, SHARED_BATCHES: InBatches}


def take(trainer: Trainer, share: Share) -> Taken:
    """Work through a share."""
    processor_s = time.process_time()
    images, classes = images_of(share.images, share.seed)
    tests, _ = images_of(share.test_images, share.seed + 1_000)
    wanted = [int(one) for one in classes]
    start = time.perf_counter()
    losses = trainer.train(images, wanted)
    trained = time.perf_counter()
    trainer.forward(images)
    trainer.forward(tests)
    done = time.perf_counter()
    tenth = max(len(losses) // 10, 1)
    return Taken(
        training_s=trained - start,
        forward_s=done - trained,
        processor_s=time.process_time() - processor_s,
        loss_first=float(np.mean(losses[:tenth])),
        loss_last=float(np.mean(losses[-tenth:])),
    )


def main(way: str, cores: str, weights: str) -> None:
    """Answer every line until there is none."""
    os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    shared = np.memmap(Path(weights), np.float32, "r+", shape=(WEIGHTS,))
    trainer = WAYS[way](np.asarray(shared))
    print(json.dumps({"library": trainer.library}), flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(take(trainer, Share(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
