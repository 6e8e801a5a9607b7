"""What a framework does for a recording, and which framework it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profet_recorder.engines.batches import BatchSizes
from profet_recorder.errors import RecorderError


@dataclass
class StepFacts:
    """What was found out about the step; what stayed unknown is None."""

    gpu: str | None = None
    framework: str | None = None
    precision: str | None = None
    parameters: int | None = None
    sizes: BatchSizes = field(default_factory=BatchSizes)
    compiled: bool | None = None
    onednn: bool | None = None
    warnings: list[str] = field(default_factory=list)


class Engine(Protocol):
    """A framework's side of a recording; called in this order, on the thread that trains."""

    #: Steps the profiler itself needs before the ones that count.
    profiler_warm_up: int

    def prepare(self) -> None:
        """Switch compilation off and start to look at the steps (which may slow them)."""

    def look_at(self, batch: object) -> None:
        """Note the sizes of a batch."""

    def stop_looking(self) -> None:
        """Stop looking: from here on steps are timed."""

    def synchronize(self) -> None:
        """Wait until the device has done all that it was given."""

    def peak_memory_mib(self) -> float | None:
        """Most device memory held so far, None on a CPU."""

    def start_profiler(self, folder: Path, steps: int) -> None:
        """Start recording `steps` steps, after `profiler_warm_up`, into `folder`."""

    def begin_profiled_step(self, number: int) -> None:
        """Mark where a step begins."""

    def end_profiled_step(self) -> None:
        """Mark where it ends, once the device is done."""

    def stop_profiler(self) -> Path:
        """Stop; the file of the trace."""

    def odd_step(self) -> str | None:
        """Why the step just profiled is not like the others, if it is known."""

    def discard(self) -> None:
        """Stop the profiler if it runs and drop what it has."""

    def restore(self) -> None:
        """Undo what `prepare` did."""

    def facts(self) -> StepFacts:
        """What was found out, after the recording."""


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


def keras_flavour(model: object) -> str | None:
    """The package `model` is of, "keras" or "tf_keras"; None if it is of neither."""
    for kind in type(model).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in ("keras", "tf_keras"):
            return package
    return None


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
