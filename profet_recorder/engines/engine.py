"""What the engines of both frameworks find out of a step: sizes of its batch, and facts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Pictures have 1, 3 or 4 channels; what else is that small is rarely a side.
_MOST_CHANNELS = 4
#: A batch holds a few tensors; a deeper or longer structure is not searched.
_MOST_PARTS = 64
_PICTURES_RANK = 4


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Sizes of one batch.

    Attributes
    ----------
    batch_size : examples; None if nothing had a shape.
    height, width : sides of the pictures; None if the batch has none.
    """

    batch_size: int | None = None
    height: int | None = None
    width: int | None = None

    @property
    def pixels(self) -> int | None:
        """The side of a square picture of the same area."""
        if self.height is None or self.width is None:
            return None
        return round(math.sqrt(self.height * self.width))


NO_SIZES = BatchSizes()


class ObservedSizes:
    """Sizes of the first step's batch and of the last one's, where a loop hands its batches over.

    Of several batches in one step, such as a GAN's noise and pictures, that with the largest pictures counts.
    """

    def __init__(self, *, channels_last: bool) -> None:
        self._channels_last = channels_last
        self.first = NO_SIZES
        self._last = NO_SIZES

    def observe(self, batch: object) -> None:
        """Note the sizes of a batch."""
        sizes = batch_sizes(batch, channels_last=self._channels_last)
        self._last = larger(self._last, sizes)
        self.first = larger(self.first, sizes)

    def forget_last(self) -> None:
        """A new step begins."""
        self._last = NO_SIZES

    def odd(self) -> str | None:
        """Why the last batch is not like the first; None if it is or was not seen."""
        return None if NO_SIZES in (self.first, self._last) else odd_batch(self.first, self._last)


def larger(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """The one with the larger pictures, the first of equals; one that is known goes before one that is not."""
    if first == NO_SIZES:
        return second
    return second if _area(second) > _area(first) else first


def either(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """The first one, with what it lacks from the second."""
    sides = first if first.height is not None else second
    return BatchSizes(first.batch_size or second.batch_size, sides.height, sides.width)


def _area(sizes: BatchSizes) -> int:
    return (sizes.height or 0) * (sizes.width or 0)


def odd_batch(first: BatchSizes, last: BatchSizes) -> str | None:
    """Why the last batch is not like the first; None if it is."""
    return None if first == last else f"a batch of {last.batch_size} instead of {first.batch_size}"


def batch_sizes(batch: object, *, channels_last: bool) -> BatchSizes:
    """Sizes of the first pictures (rank 4) in `batch` that are more than a point, else of its first tensor.

    Parameters
    ----------
    batch : a tensor, or tuples, lists and dicts of them, as a data loader yields.
    channels_last : the framework's layout where the number of channels doesn't show it.
    """
    shapes = [shape for shape, _ in zip(_shapes(batch), range(_MOST_PARTS), strict=False)]
    for shape in shapes:
        if len(shape) == _PICTURES_RANK and all(shape[1:]):
            height, width = shape[1:3] if _has_channels_last(shape, channels_last) else shape[2:4]
            if height * width > 1:
                return BatchSizes(shape[0] or None, height, width)
    return BatchSizes(next((shape[0] or None for shape in shapes if shape), None))


def _has_channels_last(shape: tuple[int, ...], otherwise: bool) -> bool:
    """True if few channels stand last; where both or neither side has few, what the framework does otherwise."""
    _, first, height, last = shape
    if last <= _MOST_CHANNELS < min(first, height):
        return True
    return otherwise and not (first <= _MOST_CHANNELS < min(height, last))


def _shapes(part: Any) -> Iterator[tuple[int, ...]]:
    """Shapes of whatever has one, in the order in which the batch holds them."""
    if isinstance(part, Mapping):
        part = list(part.values())
    # What a strategy spread over devices holds a tensor for each.
    if not hasattr(part, "shape") and isinstance(spread := getattr(part, "values", None), tuple):
        part = spread
    if isinstance(part, list | tuple):
        for inner in part[:_MOST_PARTS]:
            yield from _shapes(inner)
        return
    try:
        # 0: not known, as a graph may have it.
        yield tuple(0 if size is None else int(size) for size in part.shape)
    except (AttributeError, TypeError, ValueError):
        return


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
