"""Find the framework that trains, without importing one."""

from __future__ import annotations

import sys

from profet_recorder.errors import RecorderError

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


def _packages(thing: object) -> list[str]:
    """Packages of the thing's classes, the most derived first."""
    return [kind.__module__.partition(".")[0] for kind in type(thing).__mro__]
