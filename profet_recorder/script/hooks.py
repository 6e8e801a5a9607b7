"""Hooks a script's training from outside: Keras' `fit` and `train_on_batch`, and torch's optimizers."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from profet_recorder.engines.choice import choose_engine
from profet_recorder.engines.frameworks import PYTORCH
from profet_recorder.keras.callback import RecordingCallback, check_model, recording_callback
from profet_recorder.plan import RecordPlan
from profet_recorder.progress import print_progress
from profet_recorder.recording import Recording


class ScriptHooks:
    """Whatever trains first is recorded, and nothing else."""

    def __init__(self, plan: RecordPlan, when_done: Callable[[], None]) -> None:
        self._plan = plan
        self._when_done = when_done
        self._undo: list[Callable[[], None]] = []
        self._recording: Recording | None = None
        self._callback: RecordingCallback | None = None
        self._trained: object = None

    @property
    def on_import(self) -> dict[str, Callable[[ModuleType], None]]:
        """What to call after which import."""
        return {"keras": self._hook_keras, "tf_keras": self._hook_keras, "torch": self._hook_torch}

    @property
    def recording(self) -> Recording | None:
        """The recording under way; None until something trains."""
        return self._callback.recording if self._callback is not None else self._recording

    @property
    def finished(self) -> bool:
        """The profile is written."""
        return self.recording is not None and self.recording.finished

    def undo(self) -> None:
        """Take every hook off and end what is under way."""
        if self.recording is not None:
            self.recording.abort()
        while self._undo:
            self._undo.pop()()

    def _hook_keras(self, keras: ModuleType) -> None:
        model_class = keras.Model
        fit, train_on_batch = model_class.fit, model_class.train_on_batch
        signature = inspect.signature(fit)

        @functools.wraps(fit)
        def recorded_fit(*args, **kwargs):
            call = signature.bind(*args, **kwargs)
            self._add_callback(call)
            return fit(*call.args, **call.kwargs)

        @functools.wraps(train_on_batch)
        def recorded_train_on_batch(network, x, *args, **kwargs):
            return self._step_on_batch(network, x, lambda: train_on_batch(network, x, *args, **kwargs))

        for name, hooked in (("fit", recorded_fit), ("train_on_batch", recorded_train_on_batch)):
            self._undo.append(_restored(model_class, name))
            setattr(model_class, name, hooked)

    def _add_callback(self, call: inspect.BoundArguments) -> None:
        if self._recording is not None:
            return
        if self._callback is None:
            self._callback = recording_callback(self._plan, self._when_done)
        if self._callback.finished:
            return
        callbacks: Any = call.arguments.get("callbacks")
        if hasattr(callbacks, "append") and not isinstance(callbacks, list):
            # A CallbackList of the user's own: Keras takes it as it is.
            if self._callback not in callbacks.callbacks:
                callbacks.append(self._callback)
            self._callback.set_model(call.args[0])
            return
        given = callbacks if isinstance(callbacks, list | tuple) else [] if callbacks is None else [callbacks]
        # The first: others' work at the end of a batch is not part of the step.
        call.arguments["callbacks"] = [self._callback, *given]

    def _step_on_batch(self, network: object, x: object, train: Callable[[], object]) -> object:
        if self._callback is not None or (self._trained is not None and self._trained is not network):
            # Another network of the same training (a GAN's other half) belongs to the first one's step.
            return train()
        if self._recording is None:
            check_model(network)
            self._trained = network
            self._recording = Recording(self._plan, choose_engine(None, network))
        self._recording.begin_step()
        result = train()
        if not self._recording.finished and self._recording.end_step(x):
            self._when_done()
        return result

    def _hook_torch(self, torch: ModuleType) -> None:
        optimizers = sys.modules["torch.optim.optimizer"]
        if not hasattr(optimizers, "register_optimizer_step_post_hook"):
            print_progress(
                f"PyTorch {torch.__version__} is too old to be recorded from outside (2.0 is needed): use record_steps"
            )
            return
        self._undo.append(optimizers.register_optimizer_step_post_hook(self._after_optimizer).remove)

    def _after_optimizer(self, optimizer: object, args: object, kwargs: object) -> None:
        """From one step of the first optimizer to its next one is a training step."""
        if self._callback is not None:
            return
        if self._recording is None:
            self._trained = optimizer
            self._recording = Recording(self._plan, choose_engine(PYTORCH, optimizer=optimizer))
        elif self._trained is not optimizer or self._recording.finished:
            return
        elif self._recording.end_step():
            self._when_done()
            return
        self._recording.begin_step()


def _restored(owner: type, name: str) -> Callable[[], None]:
    """What sets `owner.name` back to what it is now, its own or inherited."""
    if name in vars(owner):
        own = vars(owner)[name]
        return lambda: setattr(owner, name, own)
    return lambda: delattr(owner, name)
