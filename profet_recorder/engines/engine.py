"""What the engines of both frameworks find out of a step, and the words they have for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from profet_recorder.engines.batches import BatchSizes

BYTES_PER_MIB = 2**20
#: From compute capability 8 on (Ampere), float32 products run as TF32 unless that is switched off.
TF32_CAPABILITY = (8, 0)
#: Name of a floating-point type in both frameworks -> precision.
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


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
