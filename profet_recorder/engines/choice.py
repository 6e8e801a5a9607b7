"""Chooses the engine of the framework that a script trains with."""

from __future__ import annotations

import sys

from profet_recorder.engines.engine import Engine, keras_flavour
from profet_recorder.errors import RecorderError


def choose_engine(framework: str | None = None, model: object = None, optimizer: object = None) -> Engine:
    """The engine of `framework` ("tensorflow", "pytorch"), else of `model` or `optimizer`, else of what is imported.

    Raises
    ------
    RecorderError : it can't be told, or is not supported.
    """
    framework = framework or _framework_of(model) or _framework_of(optimizer) or _imported_framework()
    if framework == "tensorflow":
        from profet_recorder.engines.tensorflow import TensorFlowEngine

        return TensorFlowEngine(model)
    if framework == "pytorch":
        from profet_recorder.engines.pytorch import PyTorchEngine

        return PyTorchEngine(model, optimizer)
    raise RecorderError(f"Steps of {framework!r} can't be recorded: use framework='tensorflow' or 'pytorch'.")


def _framework_of(thing: object) -> str | None:
    flavour = keras_flavour(thing)
    if flavour == "keras" and hasattr(sys.modules["keras"], "config"):
        backend = sys.modules["keras"].config.backend()
        return {"tensorflow": "tensorflow", "torch": "pytorch"}.get(backend, backend)
    if flavour:
        return "tensorflow"
    packages = {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}
    return "pytorch" if "torch" in packages else "tensorflow" if "tensorflow" in packages else None


def _imported_framework() -> str:
    loaded = [name for name, module in (("tensorflow", "tensorflow"), ("pytorch", "torch")) if module in sys.modules]
    if not loaded:
        raise RecorderError("Import TensorFlow or PyTorch before recording: neither is loaded.")
    if len(loaded) > 1:
        raise RecorderError("Both TensorFlow and PyTorch are loaded: say framework='tensorflow' or 'pytorch'.")
    return loaded[0]
