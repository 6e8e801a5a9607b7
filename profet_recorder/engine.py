"""What the engines of both frameworks share: which framework trains, sizes of a batch, facts of a step."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from profet_recorder.plan import RecorderError

BYTES_PER_MIB = 2**20
#: From compute capability 8 on (Ampere), float32 products run as TF32 unless that is switched off.
TF32_CAPABILITY = (8, 0)
#: Name of a floating-point type in both frameworks -> precision.
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
#: A step calls a few networks; a loop that makes a new one each time is not followed.
MOST_NETWORKS = 1_000
TENSORFLOW, PYTORCH = "tensorflow", "pytorch"
#: Framework -> the module that a script imports.
_MODULES = {TENSORFLOW: "tensorflow", PYTORCH: "torch"}
#: Pictures have 1, 3 or 4 channels; what else is that small is rarely a side.
_MOST_CHANNELS = 4
#: A batch holds a few tensors; a deeper or longer structure is not searched.
_MOST_PARTS = 64
_PICTURES_RANK = 4


def keras_flavour(model: object) -> str | None:
    """The package `model` is of, "keras" or "tf_keras"; None if it is of neither."""
    return next((package for package in _packages(model) if package in ("keras", "tf_keras")), None)


def framework_of(thing: object) -> str | None:
    """The framework of a model or an optimizer; None if it is of none. Another backend of Keras is itself returned."""
    flavour = keras_flavour(thing)
    if flavour == "keras" and hasattr(sys.modules["keras"], "config"):
        backend = sys.modules["keras"].config.backend()
        return PYTORCH if backend == "torch" else backend
    packages = _packages(thing)
    if flavour or "tensorflow" in packages:
        return TENSORFLOW
    return PYTORCH if "torch" in packages else None


def imported_framework() -> str:
    """The one framework that is loaded; refuses none and both."""
    loaded = [framework for framework, module in _MODULES.items() if module in sys.modules]
    if not loaded:
        raise RecorderError("Import TensorFlow or PyTorch before recording: neither is loaded.")
    if len(loaded) > 1:
        raise RecorderError("Both TensorFlow and PyTorch are loaded: say framework='tensorflow' or 'pytorch'.")
    return loaded[0]


def _packages(thing: object) -> list[str]:
    """Packages of the thing's classes, the most derived first."""
    return [kind.__module__.partition(".")[0] for kind in type(thing).__mro__]


class Patches:
    """Attributes of frameworks that are replaced until `undo`."""

    def __init__(self) -> None:
        self.undoing: list[Callable[[], object]] = []

    def put(self, owner: Any, name: str, value: object) -> None:
        """Replace an attribute of a class or module, its own or inherited."""
        if name in vars(owner):
            own = vars(owner)[name]
            self.undoing.append(lambda: setattr(owner, name, own))
        else:
            self.undoing.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Let everything be as it was, the last change first."""
        while self.undoing:
            self.undoing.pop()()


def observed(call: Callable[..., Any], observe: Callable[[Any, object, bool], None]) -> Callable[..., Any]:
    """`call` of a class of layers; `observe(layer, inputs, is_outermost)` comes before each, and can't end it."""
    # A network runs: what is called meanwhile is a part of it.
    inside = False

    # By its wrapper AutoGraph takes it for Keras' own, which it does not translate.
    @functools.wraps(call)
    def observed_call(layer, *inputs, **named):
        nonlocal inside
        is_outermost, inside = not inside, True
        try:
            with suppress(Exception):
                observe(layer, (inputs, named), is_outermost)
            return call(layer, *inputs, **named)
        finally:
            inside = not is_outermost

    return observed_call


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Examples of one batch and sides of its pictures; None: nothing had a shape, or it has no pictures."""

    batch_size: int | None = None
    height: int | None = None
    width: int | None = None

    @property
    def pixels(self) -> int | None:
        """The side of a square picture of the same area."""
        return round(math.sqrt(self.height * self.width)) if self.height and self.width else None


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
        if NO_SIZES in (self.first, self._last) or self.first == self._last:
            return None
        return f"a batch of {self._last.batch_size} instead of {self.first.batch_size}"


def larger(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """The one with the larger pictures, the first of equals; one that is known goes before one that is not."""
    if first == NO_SIZES:
        return second
    return second if (second.pixels or 0) > (first.pixels or 0) else first


def either(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """The first one, with what it lacks from the second."""
    sides = first if first.height is not None else second
    return BatchSizes(first.batch_size or second.batch_size, sides.height, sides.width)


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
    with suppress(AttributeError, TypeError, ValueError):
        # 0: not known, as a graph may have it.
        yield tuple(0 if size is None else int(size) for size in part.shape)


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
    sizes: BatchSizes = NO_SIZES
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
