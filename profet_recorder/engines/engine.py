"""What a framework does for a recording."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profet_recorder.engines.batches import BatchSizes

BYTES_PER_MIB = 2**20


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What was found out about the step; what stayed unknown is None.

    Attributes
    ----------
    gpu : name of the GPU it ran on; None: on a CPU.
    parameters : of all networks that are trained.
    compiled : it ran through a compiler that joins operations.
    warnings : what makes its times less sure, one sentence each.
    """

    gpu: str | None = None
    framework: str | None = None
    precision: str | None = None
    parameters: int | None = None
    sizes: BatchSizes = field(default_factory=BatchSizes)
    compiled: bool | None = None
    onednn: bool | None = None
    warnings: tuple[str, ...] = ()


def several_optimizers(weights: Iterable[Iterable[int]]) -> str:
    """The warning where a step trains several networks; empty where it trains one.

    Parameters
    ----------
    weights : of each optimizer, the `id` of what it updates; one that wraps another has the same.
    """
    count, seen = 0, set[int]()
    for one in map(set, weights):
        count += not one <= seen
        seen |= one
    if count < 2:
        return ""
    return (
        f"{count} optimizers update weights in this step: it holds the work of all of them, from one update of the "
        "same optimizer to its next, and the parameters are those of all networks that are trained."
    )


class Engine(Protocol):
    """A framework's side of a recording; called in this order, on the thread that trains."""

    #: Steps the profiler itself needs before the ones that count.
    profiler_warm_up: int

    def trains(self, optimizer: object) -> None:
        """Another optimizer, or a network with one, updates weights in the steps that are recorded."""

    def trains_compiled(self) -> None:
        """The steps run through a compiler that joins operations."""

    def is_disturbed(self) -> bool:
        """True while a profiler of the script's own is on: steps take longer then, and no other can start."""

    def prepare(self) -> None:
        """Switch compilation off and begin to observe the steps (which may slow them)."""

    def observe_batch(self, batch: object) -> None:
        """Note the sizes of a batch."""

    def stop_observing(self) -> None:
        """From here on steps are timed."""

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

    def stop_profiler(self, folder: Path) -> Path:
        """Stop; the file of the trace in the folder that the profiler was started with."""

    def odd_step(self) -> str | None:
        """Why the step just profiled is not like the others, if it is known."""

    def discard(self) -> None:
        """Stop the profiler if it runs and drop what it has."""

    def restore(self) -> None:
        """Undo what `prepare` did."""

    def facts(self) -> StepFacts:
        """What was found out, after the recording."""
