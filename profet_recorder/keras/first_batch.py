"""Observes what Keras feeds its train function, without taking a batch away from the training."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profet_recorder.engines.choose import Engine


def observe_first_batch(model: Any, engine: Engine) -> None:
    """Show the next batch to `engine` on its way into `model.train_function`, which is then as before."""
    train_function = model.train_function

    def observe_and_train(batches: object) -> object:
        model.train_function = train_function
        return train_function(_observed(batches, engine))

    model.train_function = observe_and_train


def _observed(batches: Any, engine: Engine) -> object:
    """`batches`, its first one shown to `engine`."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not hasattr(batches, "element_spec"):
        # Keras on PyTorch hands over a list of batches.
        if isinstance(batches, list | tuple) and batches:
            engine.observe_batch(batches[0])
        return batches
    try:
        batch = next(batches)
    except StopIteration:
        return batches
    with suppress(Exception):
        engine.observe_batch(batch)
    if isinstance(batches, tensorflow.data.Iterator):
        # Of the same specification, so that the train function is not traced a second time.
        with suppress(TypeError, ValueError):
            return iter(
                tensorflow.data.Dataset.from_generator(lambda: iter([batch]), output_signature=batches.element_spec)
            )
    return _OneBatch(batch)


class _OneBatch:
    """One batch, such as a strategy spreads over devices, for one call of a train function, which may ask twice."""

    def __init__(self, batch: object) -> None:
        self._batch = batch

    def __iter__(self) -> _OneBatch:
        return self

    def __next__(self) -> object:
        return self._batch

    get_next = __next__
