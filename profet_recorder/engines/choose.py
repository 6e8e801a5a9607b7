"""Choose the engine of a framework: its side of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from profet_recorder.engines.frameworks import PYTORCH, TENSORFLOW, framework_of, imported_framework
from profet_recorder.errors import RecorderError

if TYPE_CHECKING:
    from profet_recorder.engines.keras_calls import ObservedKeras
    from profet_recorder.engines.pytorch import PyTorchEngine
    from profet_recorder.engines.tensorflow import TensorFlowEngine

    #: Its methods are called on the thread that trains, in the order in which they are defined.
    Engine: TypeAlias = PyTorchEngine | TensorFlowEngine


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
