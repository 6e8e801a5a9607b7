"""Finds out what Keras feeds its train function, without taking a batch away from the training."""

from __future__ import annotations

import sys

from profet_recorder.engines.engine import Engine


def look_at_first_batch(model: object, engine: Engine) -> None:
    """Show the next batch to `engine` on its way into `model.train_function`, which is then as before."""
    train_function = model.train_function

    def look_and_train(batches):
        model.train_function = train_function
        return train_function(_looked_at(batches, engine))

    model.train_function = look_and_train


def _looked_at(batches, engine: Engine):
    """`batches`, its first one shown to `engine`."""
    if "tensorflow" in sys.modules and isinstance(batches, sys.modules["tensorflow"].data.Iterator):
        return _looked_at_dataset(batches, engine)
    # Keras on PyTorch hands over a list of batches.
    if isinstance(batches, list | tuple) and batches:
        engine.look_at(batches[0])
    return batches


def _looked_at_dataset(iterator, engine: Engine):
    import tensorflow as tf

    try:
        batch = next(iterator)
    except StopIteration:
        return iterator
    engine.look_at(batch)
    # Of the same specification, so that the train function is not traced a second time.
    return iter(tf.data.Dataset.from_generator(lambda: iter([batch]), output_signature=iterator.element_spec))
