"""Parts that the engines of both frameworks share: which framework trains, sizes of a batch, facts of a step."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from profet_profiles.record import ProfileMeta
from profet_recorder.plan import RecorderError

BYTES_PER_MIB = 2**20
#: From compute capability 8 on (Ampere), float32 products run as TF32 unless that is switched off.
TF32_CAPABILITY = (8, 0)
#: Name of a floating-point type in both frameworks -> precision.
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
#: A step calls a few networks; a loop that makes a new one each time is not followed.
MAX_NETWORKS = 1_000
TENSORFLOW, PYTORCH = "tensorflow", "pytorch"
#: Framework -> the module that a script imports.
_MODULES = {TENSORFLOW: "tensorflow", PYTORCH: "torch"}
#: Pictures have 1, 3 or 4 channels; what else is that small is rarely a side.
_MAX_CHANNELS = 4
#: Of a single picture, which no batch size tells from something else.
_CHANNELS = (1, 3)
#: A batch holds a few tensors; a deeper or longer structure is not searched.
_MAX_PARTS, _MAX_DEPTH = 64, 6
_PICTURES_RANK = 4
#: Of the parameters: so few frozen ones are not worth a word.
_NEGLIGIBLE_SHARE = 0.001


def keras_flavour(model: object) -> str | None:
    """Return the package `model` is of, "keras" or "tf_keras"; None if it is of neither."""
    return next((package for package in _packages(model) if package in ("keras", "tf_keras")), None)


def framework_of(trained: object) -> str | None:
    """Return the framework of a model or an optimizer; None if it is of none; of Keras' other backends the name."""
    flavour = keras_flavour(trained)
    if flavour == "keras" and (backend := keras_backend()):
        return backend
    packages = _packages(trained)
    if flavour or "tensorflow" in packages:
        return TENSORFLOW
    return PYTORCH if "torch" in packages else None


def keras_backend() -> str | None:
    """Name the framework that Keras 3 runs on, as it is called here; None where Keras isn't loaded."""
    keras: Any = sys.modules.get("keras")
    backend = keras.config.backend() if hasattr(keras, "config") else None
    return PYTORCH if backend == "torch" else backend


def other_backend_line(backend: str) -> str:
    """Say what to do where Keras runs on neither framework."""
    return (
        f"Keras runs on {backend} here, whose steps can't be recorded: set KERAS_BACKEND to tensorflow or torch before "
        "Keras is imported, in the script or its environment."
    )


def imported_framework() -> str:
    """Return the one framework that is loaded; refuses none and both."""
    if (backend := keras_backend()) is not None and backend not in _MODULES:
        return backend
    loaded = [framework for framework, module in _MODULES.items() if module in sys.modules]
    if not loaded:
        raise RecorderError("Import TensorFlow or PyTorch before recording: neither is loaded.")
    if len(loaded) > 1:
        raise RecorderError("Both TensorFlow and PyTorch are loaded: say framework='tensorflow' or 'pytorch'.")
    return loaded[0]


def _packages(instance: object) -> list[str]:
    """Return the packages of an object's classes, the most derived first."""
    return [kind.__module__.partition(".")[0] for kind in type(instance).__mro__]


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


def as_arguments(inputs: tuple[object, ...], named: Mapping[str, object]) -> dict[object, object]:
    """Return the arguments of a call by position or name."""
    return dict([*enumerate(inputs), *named.items()])


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
                observe(layer, as_arguments(inputs, named), is_outermost)
            return call(layer, *inputs, **named)
        finally:
            inside = not is_outermost

    return observed_call


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Examples of one batch and sides of its pictures; None: nothing had a shape, or it has no pictures.

    Attributes
    ----------
    is_list : the pictures come in a list, each with sides of its own; these are the largest one's.
    is_guess : the batch size is the first side of what may be no batch.
    """

    batch_size: int | None = None
    height: int | None = None
    width: int | None = None
    is_list: bool = False
    is_guess: bool = False

    @property
    def pixels(self) -> int | None:
        """The side of a square picture of the same area."""
        return round(math.sqrt(self.height * self.width)) if self.height and self.width else None


NO_SIZES = BatchSizes()


class StepKind(NamedTuple):
    """Kind of a step: steps of one kind have comparable times.

    Attributes
    ----------
    calls : of the network that is trained.
    trained : parameters with gradients.
    tested : the network also ran without gradients.
    """

    sizes: BatchSizes
    calls: int
    trained: int
    tested: bool = False

    def difference(self, usual: StepKind) -> str:
        """Say how it differs from the usual kind."""
        if self.sizes.batch_size != usual.sizes.batch_size:
            return f"a batch of {self.sizes.batch_size} instead of {usual.sizes.batch_size}"
        if self.sizes.pixels != usual.sizes.pixels:
            return f"images of {self.sizes.pixels} pixels instead of {usual.sizes.pixels}"
        if self.tested != usual.tested:
            return f"the network {'also' if self.tested else 'never'} ran without gradients, as in a validation"
        if self.trained != usual.trained:
            return f"{self.trained:,} trained parameters instead of {usual.trained:,}"
        if self.calls != usual.calls:
            return f"{self.calls} calls of the network instead of {usual.calls}"
        return f"{self.sizes.height} x {self.sizes.width} instead of {usual.sizes.height} x {usual.sizes.width} pixels"


class ObservedSizes:
    """Sizes of each step's batch, where a loop hands its batches over.

    Of several batches in one step, such as a GAN's noise and pictures, that with the largest pictures counts; batches
    whose gradients are accumulated count together.

    Attributes
    ----------
    last : those of the last step in which any were seen.
    passes : batches whose gradients were accumulated in the last step; 1 where each had an update.
    """

    def __init__(self, *, channels_last: bool) -> None:
        self._channels_last = channels_last
        self._now = self._of_a_pass = NO_SIZES
        self._passes: list[BatchSizes] = []
        #: In this step, and in the last one.
        self.last = NO_SIZES
        self.passes = 1

    def observe(self, batch: object) -> None:
        """Note the sizes of a batch, or those that are known."""
        if not isinstance(batch, BatchSizes):
            batch = batch_sizes(batch, channels_last=self._channels_last)
        self._now = with_larger_images(self._now, batch)

    def end_pass(self) -> None:
        """Gradients were accumulated: what is observed next is another batch of the same step."""
        # A graph shows its sizes once, when it is traced.
        if self._now != NO_SIZES:
            self._of_a_pass, self._now = self._now, NO_SIZES
        self._passes.append(self._of_a_pass)

    def end_step(self) -> None:
        """Begin another step."""
        self.end_pass()
        examples = sum(sizes.batch_size or 0 for sizes in self._passes)
        self.passes = len(self._passes)
        largest = functools.reduce(with_larger_images, self._passes)
        self.last = replace(largest, batch_size=examples or None, is_guess=largest.is_guess and self.passes == 1)
        self._passes = []


def with_larger_images(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """Return the sizes with the larger pictures, the first of equals; sizes that are known go before unknown ones."""
    if first == NO_SIZES:
        return second
    return second if (second.pixels or 0) > (first.pixels or 0) else first


def completed(first: BatchSizes, second: BatchSizes) -> BatchSizes:
    """Return the first sizes; what they lack is taken from the second."""
    if first.batch_size is None or (first.is_guess and second.batch_size is not None):
        first = replace(first, batch_size=second.batch_size, is_guess=second.is_guess)
    if first.height is None:
        first = replace(first, height=second.height, width=second.width, is_list=second.is_list)
    return first


def batch_sizes(batch: object, *, channels_last: bool) -> BatchSizes:
    """Sizes of the first pictures (rank 4, or a list of rank 3) in `batch` that are more than a point.

    Else those of its first tensor.

    Parameters
    ----------
    batch : a tensor, or tuples, lists and dicts of them, as a data loader yields.
    channels_last : the framework's layout where the number of channels doesn't show it.
    """
    shapes = [shape for shape, _ in zip(_shapes(batch), range(_MAX_PARTS), strict=False)]
    for shape in shapes:
        if len(shape) == _PICTURES_RANK + 1 and all(shape[1:]):
            # Pictures of a video or a volume, which lie one behind the other.
            is_last = _has_channels_last((*shape[:2], *shape[3:]), channels_last)
            shape = (shape[0], shape[2] if is_last else shape[1], *shape[3:])
        if len(shape) == _PICTURES_RANK and all(shape[1:]):
            height, width = shape[1:3] if _has_channels_last(shape, channels_last) else shape[2:4]
            if height * width > 1:
                return BatchSizes(shape[0] or None, height, width)
    if pictures := _list_of_pictures(batch):
        height, width = max(pictures, key=math.prod)
        return BatchSizes(len(pictures), height, width, is_list=True)
    first = next((shape for shape in shapes if shape), (0,))
    return BatchSizes(first[0] or None, is_guess=len(first) < _PICTURES_RANK)


def _list_of_pictures(part: Any, depth: int = 0) -> list[tuple[int, int]]:
    """Sides of each picture of the first list of single pictures, or of dicts that have one each, as detectors get."""
    if isinstance(part, list | tuple):
        pictures = [picture for item in part if (picture := _picture(item))]
        if pictures and len(pictures) == len(part) and len({channels for channels, *_ in pictures}) == 1:
            return [(height, width) for _, height, width in pictures]
    inner = list(part.values()) if isinstance(part, Mapping) else part
    if not isinstance(inner, list | tuple) or depth > _MAX_DEPTH:
        return []
    return next((sides for item in inner[:_MAX_PARTS] if (sides := _list_of_pictures(item, depth + 1))), [])


def _picture(part: Any) -> tuple[int, int, int] | None:
    """Channels, height and width of a single picture, or of the one in a dict."""
    if isinstance(part, Mapping):
        return next((picture for item in part.values() if (picture := _picture(item))), None)
    if isinstance(part, list | tuple) or len(shape := next(_shapes(part), ())) != _PICTURES_RANK - 1:
        return None
    channels, height, width = shape if shape[0] in _CHANNELS else (shape[2], *shape[:2])
    return (channels, height, width) if channels in _CHANNELS and min(height, width) > _MAX_CHANNELS else None


def _has_channels_last(shape: tuple[int, ...], otherwise: bool) -> bool:
    """Return True if few channels stand last; where both or neither side has few, what the framework does."""
    _, first, height, last = shape
    if last <= _MAX_CHANNELS < min(first, height):
        return True
    return otherwise and not (first <= _MAX_CHANNELS < min(height, last))


def _shapes(part: Any) -> Iterator[tuple[int, ...]]:
    """Shapes of whatever has one, in the order in which the batch holds them."""
    if isinstance(part, Mapping):
        part = list(part.values())
    # What a strategy spread over devices holds a tensor for each.
    if not hasattr(part, "shape") and isinstance(spread := getattr(part, "values", None), tuple):
        part = spread
    if isinstance(part, list | tuple):
        for inner in part[:_MAX_PARTS]:
            yield from _shapes(inner)
        return
    if hasattr(part, "element_spec"):
        # An iterator of tf.data's, of which a function takes its batch: only what made the batches knows their size.
        source = getattr(part, "_dataset", None)
        while source is not None and not hasattr(source, "_batch_size"):
            source = getattr(source, "_input_dataset", None)
        batch_size = 0 if source is None else int(source._batch_size)
        yield from ((shape[0] or batch_size, *shape[1:]) for shape in _shapes(part.element_spec) if shape)
        return
    with suppress(AttributeError, TypeError, ValueError):
        # 0: not known, as a graph may have it.
        yield tuple(0 if size is None else int(size) for size in part.shape)


#: What was found out about a step: of its meta all but the sizes and the latency, the sizes, and what makes its times
#: less sure, one sentence each. Without a GPU's name it ran on a CPU.
StepFacts = tuple[ProfileMeta, BatchSizes, tuple[str, ...]]


def updates_made(optimizer: Any) -> int | None:
    """Count the weight updates of a Keras optimizer, which are fewer than its calls; None if unknown."""
    with suppress(Exception):
        return int(optimizer.iterations)
    return None


def has_updated(model: Any) -> bool:
    """Return False where the optimizer of a model of Keras' has accumulated gradients of its last batch only."""
    given = getattr(model, "optimizer", None)
    optimizer: Any = getattr(given, "inner_optimizer", given)
    batches = getattr(optimizer, "gradient_accumulation_steps", None)
    return not batches or int(optimizer._iterations) % batches == 0


def trained_kind(network: Any) -> list[Any]:
    """Weights of a network of Keras' that may be trained, frozen or not: no statistics, seeds or counters."""
    flatten = getattr(network, "_flatten_layers", None)
    kinds: dict[int, Any] = {}
    for layer in flatten() if flatten else getattr(network, "layers", [network]):
        for name in ("_trainable_variables", "_trainable_weights"):
            kinds |= {id(weight): weight for weight in vars(layer).get(name, ())}
    return list(kinds.values())


def step_warnings(
    optimizers: Iterable[Iterable[int]],
    calls: int,
    parameters: tuple[int, int],
    sizes: BatchSizes,
    passes: int = 1,
    *,
    updates: int = 1,
    tested: bool = False,
) -> Iterator[str]:
    """List what makes a step's times less sure, whichever the framework.

    Parameters
    ----------
    optimizers : of each, the `id` of what it updates; one that wraps another has the same.
    calls : of the network, in one step.
    parameters : frozen ones, and all.
    passes : batches whose gradients are accumulated.
    updates : in one step, of the optimizer that updates most often.
    tested : the network that is trained also ran without gradients.
    """
    count, seen = 0, set[int]()
    for weights in map(set, optimizers):
        count += not weights <= seen
        seen |= weights
    if count > 1:
        yield (
            f"{count} optimizers update weights in this step: it holds the work of all of them, from one update of the "
            "same optimizer to its next, and the parameters are those of all networks that are trained."
            + f" One of them updates {updates} times, and the batch size is that of one update."
            * (updates > 1)
        )
    if passes > 1:
        yield (
            f"Gradients are accumulated over {passes} batches: the step is one update, and its batch size, latency and "
            f"operations are those of all {passes}."
        )
    elif calls > 1 >= count:
        yield f"The network ran {calls} times in one step: the batch size is that of one call."
    if tested:
        yield (
            "The network also ran without gradients in this step, such as for a test: latency and operations include "
            "that."
        )
    frozen, total = parameters
    # A few constants, such as a detector's bins, change nothing.
    if frozen > _NEGLIGIBLE_SHARE * total:
        yield (
            f"{frozen:,} of the {total:,} parameters are frozen: the step computes no gradients of theirs, and takes "
            "longer once they are trained too."
        )
    if sizes.is_list:
        yield "The images come in a list and may differ in size: the pixels are those of the batch they are padded to."
