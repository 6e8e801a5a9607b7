"""Observes what Keras feeds its train function, without taking a batch away from the training."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from profet_recorder.engines.engine import Engine


def observe_first_batch(model: Any, engine: Engine) -> None:
    """Show the next batch to `engine` on its way into `model.train_function`, which is then as before."""
    train_function = model.train_function

    def observe_and_train(batches: object) -> object:
        model.train_function = train_function
        return train_function(_observed(batches, engine))

    model.train_function = observe_and_train


def _observed(batches: Any, engine: Engine) -> object:
    """`batches`, its first one shown to `engine`."""
    if "tensorflow" in sys.modules and isinstance(batches, sys.modules["tensorflow"].data.Iterator):
        return _observed_dataset(batches, engine)
    # Keras on PyTorch hands over a list of batches.
    if isinstance(batches, list | tuple) and batches:
        engine.observe_batch(batches[0])
    return batches


def _observed_dataset(iterator: Any, engine: Engine) -> Iterator[Any]:
    import tensorflow as tf

    try:
        batch = next(iterator)
    except StopIteration:
        return iterator
    engine.observe_batch(batch)
    # Of the same specification, so that the train function is not traced a second time.
    return iter(tf.data.Dataset.from_generator(lambda: iter([batch]), output_signature=iterator.element_spec))
