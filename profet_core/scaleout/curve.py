"""Steps over the number of GPUs: weak scaling keeps the batch of each GPU, strong scaling the batch of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from profet_core.catalog.interconnects import Interconnect
from profet_core.errors import InputError
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.step import ScaledStep, best_step
from profet_core.scaleout.strategies import BEST, strategies_of
from profet_core.scaleout.work import GpuStep
from profet_core.units import whole_number

#: What is tried without a word.
USUAL_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def weak_scaling(
    model: ScaleoutModel,
    step: GpuStep,
    interconnect: Interconnect,
    counts: Sequence[int] = USUAL_COUNTS,
    strategy: str = BEST,
) -> tuple[ScaledStep, ...]:
    """The batch of each GPU stays `step.batch_size`; one row a number of GPUs.

    Raises
    ------
    InputError : no such strategy or number of GPUs.
    """
    return tuple(_one(model, step, interconnect, gpus, strategy) for gpus in counts)


def strong_scaling(
    model: ScaleoutModel,
    step_at: Callable[[int], GpuStep],
    global_batch: int,
    interconnect: Interconnect,
    counts: Sequence[int] = USUAL_COUNTS,
    strategy: str = BEST,
) -> tuple[ScaledStep, ...]:
    """The batch of all GPUs stays `global_batch`; `step_at`: batch of one GPU -> its step.

    Raises
    ------
    InputError : a batch that can't be shared evenly, and as `weak_scaling`.
    """
    return tuple(
        _one(model, step_at(batch_per_gpu(global_batch, gpus)), interconnect, gpus, strategy) for gpus in counts
    )


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """A GPU's part of a batch.

    >>> batch_per_gpu(256, 8)
    32

    Raises
    ------
    InputError : it can't be shared evenly.
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(f"A global batch of {global_batch} can't be shared evenly by {gpus} GPUs: choose a multiple.")
    return global_batch // gpus


def _one(model: ScaleoutModel, step: GpuStep, interconnect: Interconnect, gpus: int, strategy: str) -> ScaledStep:
    return best_step(model, step, interconnect, gpus, strategies_of(strategy))
