"""Find the framework that trains, without importing one, and its engine: its side of a recording."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

from profet_recorder.errors import RecorderError

if TYPE_CHECKING:
    from profet_recorder.engines.keras_calls import ObservedKeras
    from profet_recorder.engines.pytorch import PyTorchEngine
    from profet_recorder.engines.tensorflow import TensorFlowEngine

    #: Its methods are called on the thread that trains, in the order in which they are defined.
    Engine: TypeAlias = PyTorchEngine | TensorFlowEngine

TENSORFLOW, PYTORCH = "tensorflow", "pytorch"
#: Framework -> the module that a script imports.
_MODULES = {TENSORFLOW: "tensorflow", PYTORCH: "torch"}
#: Keras 3's name of its backend -> framework.
_BACKENDS = {"tensorflow": TENSORFLOW, "torch": PYTORCH}


def keras_flavour(model: object) -> str | None:
    """The package `model` is of, "keras" or "tf_keras"; None if it is of neither."""
    return next((package for package in _packages(model) if package in ("keras", "tf_keras")), None)


def framework_of(thing: object) -> str | None:
    """The framework of a model or an optimizer; None if it is of none. Another backend of Keras is itself returned."""
    flavour = keras_flavour(thing)
    if flavour == "keras" and hasattr(sys.modules["keras"], "config"):
        backend = sys.modules["keras"].config.backend()
        return _BACKENDS.get(backend, backend)
    if flavour:
        return TENSORFLOW
    packages = _packages(thing)
    return PYTORCH if "torch" in packages else TENSORFLOW if "tensorflow" in packages else None


def imported_framework() -> str:
    """The one framework that is loaded.

    Raises
    ------
    RecorderError : none is, or both.
    """
    loaded = [framework for framework, module in _MODULES.items() if module in sys.modules]
    if not loaded:
        raise RecorderError("Import TensorFlow or PyTorch before recording: neither is loaded.")
    if len(loaded) > 1:
        raise RecorderError("Both TensorFlow and PyTorch are loaded: say framework='tensorflow' or 'pytorch'.")
    return loaded[0]


def choose_engine(
    framework: str | None = None,
    model: object = None,
    optimizer: object = None,
    keras_calls: ObservedKeras | None = None,
) -> Engine:
    """The engine of `framework` ("tensorflow", "pytorch"), `model`, `optimizer`, or the imported framework.

    Parameters
    ----------
    keras_calls : what is observed of Keras already; None: the engine observes it itself.

    Raises
    ------
    RecorderError : it is not known, or not supported.
    """
    framework = framework or framework_of(model) or framework_of(optimizer) or imported_framework()
    if framework == TENSORFLOW:
        from profet_recorder.engines.tensorflow import TensorFlowEngine

        return TensorFlowEngine(model, optimizer, keras_calls)
    if framework == PYTORCH:
        from profet_recorder.engines.pytorch import PyTorchEngine

        return PyTorchEngine(model, optimizer)
    raise RecorderError(f"Steps of {framework!r} can't be recorded: use framework='tensorflow' or 'pytorch'.")


def _packages(thing: object) -> list[str]:
    """Packages of the thing's classes, the most derived first."""
    return [kind.__module__.partition(".")[0] for kind in type(thing).__mro__]
