"""Observe which networks a Keras step calls and which weights it updates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from contextlib import suppress
from types import ModuleType
from typing import Any

from profet_recorder.engines.engine import ObservedSizes

#: A step calls a few networks; a loop that makes a new one each time is not followed.
_MOST_NETWORKS = 1_000


class ObservedKeras:
    """What a script calls of its layers under a gradient tape, and the weights its optimizers update, while started.

    In a graph both are seen once, when it is traced: so this is started before anything trains, where that can be.

    Parameters
    ----------
    on_update : takes an optimizer after each of its updates.

    Attributes
    ----------
    sizes : of the called layers.
    """

    def __init__(self, on_update: Callable[[object], None] = lambda optimizer: None) -> None:
        self._on_update = on_update
        self._undo: list[Callable[[], None]] = []
        self._inside = False
        self._networks: dict[int, Any] = {}
        #: Of each optimizer: itself, so that no other gets its `id`, and the weights it updates.
        self._updates: dict[int, tuple[object, dict[int, Any]]] = {}
        self.sizes = ObservedSizes(channels_last=True)

    def start(self, keras: ModuleType) -> None:
        """Begin to observe the layers and optimizers of Keras 3 or tf_keras."""
        self._wrap(keras.layers.Layer, "__call__", self._observed_call)
        for optimizers in (keras.optimizers, getattr(keras.optimizers, "legacy", None)):
            kind = getattr(optimizers, "Optimizer", None)
            name = next((name for name in ("apply", "apply_gradients") if hasattr(kind, name)), None)
            if isinstance(kind, type) and name:
                self._wrap(kind, name, self._observed_update)

    def stop(self) -> None:
        """Let both be called as before."""
        while self._undo:
            self._undo.pop()()

    def weights(self, optimizers: Collection[object]) -> dict[int, Any]:
        """What these optimizers update, by `id`."""
        found: dict[int, Any] = {}
        for optimizer in optimizers:
            found |= self._updates.get(id(optimizer), (None, {}))[1]
        return found

    def optimizers_of(self, weights: Collection[int]) -> list[object]:
        """Those that update any of these weights."""
        return [optimizer for optimizer, updated in self._updates.values() if not updated.keys().isdisjoint(weights)]

    def networks(self, trained: Collection[int]) -> list[Any]:
        """What was called that holds any of these weights."""
        return [one for one in self._networks.values() if any(id(weight) in trained for weight in weights_of(one))]

    def _wrap(self, owner: type, name: str, around: Callable[[Any], Callable[..., Any]]) -> None:
        self._undo.append(restored(owner, name))
        # By its wrapper AutoGraph takes it for Keras' own, which it does not translate.
        setattr(owner, name, around(getattr(owner, name)))

    def _observed_call(self, call: Any) -> Callable[..., Any]:
        @functools.wraps(call)
        def observed(layer, *inputs, **named):
            is_outermost, self._inside = not self._inside, True
            try:
                if is_outermost:
                    # Whatever a layer is, observing it must not end the training.
                    with suppress(Exception):
                        self._observe(layer, (inputs, named))
                return call(layer, *inputs, **named)
            finally:
                self._inside = not is_outermost

        return observed

    def _observed_update(self, apply: Any) -> Callable[..., Any]:
        @functools.wraps(apply)
        def observed(optimizer, gradients, *others, **named):
            gradients = list(gradients)
            result = apply(optimizer, gradients, *others, **named)
            with suppress(Exception):
                self._note_weights(optimizer, gradients, *others, **named)
            self._on_update(optimizer)
            return result

        return observed

    def _observe(self, layer: object, inputs: object) -> None:
        # Layers are called outside of a tape to build a network, to validate it, to make a GAN's noise a picture.
        if _under_tape() and (len(self._networks) < _MOST_NETWORKS or id(layer) in self._networks):
            self._networks[id(layer)] = layer
            self.sizes.observe(inputs)

    def _note_weights(
        self, optimizer: Any, gradients: list[Any], trainable_variables: Any = None, *_: object, **__: object
    ) -> None:
        """`apply` takes gradients and weights, `apply_gradients` pairs of both."""
        if gradients and isinstance(gradients[0], tuple | list):
            weights = [weight for _, weight in gradients]
        else:
            weights = list(trainable_variables or optimizer._trainable_variables)
        known = self._updates.setdefault(id(optimizer), (optimizer, {}))[1]
        known.update({id(weight): weight for weight in weights})


def weights_of(layer: Any) -> list[Any]:
    """All weights of a layer or model, trained or not; of one that was never built, those of its parts."""
    try:
        return list(layer.weights)
    except ValueError:
        return [weight for part in getattr(layer, "layers", ()) for weight in weights_of(part)]


def restored(owner: type, name: str) -> Callable[[], None]:
    """What sets `owner.name` back to what it is now, its own or inherited."""
    if name in vars(owner):
        own = vars(owner)[name]
        return lambda: setattr(owner, name, own)
    return lambda: delattr(owner, name)


def _under_tape() -> bool:
    try:
        # No public API has it.
        from tensorflow.python import pywrap_tfe

        return not pywrap_tfe.TFE_Py_TapeSetIsEmpty()
    except (ImportError, AttributeError):
        return True
