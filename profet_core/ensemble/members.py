"""The members of the methods: fitted networks and trees, what they run on, intervals and similarity."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from profet_core.ensemble.operations import (
    IDLE_CLASS,
    ClassTimes,
    UnknownOperations,
    load_operation_classes,
    repair_factor,
)
from profet_core.latency import FloatArray, combined_sd, log_sd_of
from profet_profiles.record import Profile
from profet_profiles.units import SMALLEST_NUMBER

# Every function takes the array module as `xp`: numpy for serving, `keras.ops` for training, so that both share one
# definition. Shapes: leading axes are free; the last axis holds classes, inputs or a single value.

#: An array of numpy or Keras: no type covers both.
Array: TypeAlias = Any

#: Launch-bound minimum of a step, milliseconds.
LAUNCH_BOUND_MS = 3.0
#: Minimum device total as a divisor, milliseconds.
MIN_TOTAL_MS = 1e-3

HOMOGENEOUS, CLASS_RATIO, TREES = "homogeneous", "class ratio", "boosted trees"
NETWORKS = (HOMOGENEOUS, CLASS_RATIO)
MEMBERS = (*NETWORKS, TREES)


def device_total(xp: ModuleType, classes_ms: Array, device_classes: int) -> Array:
    """Sum of the device classes, (..., 1)."""
    return xp.maximum(xp.sum(classes_ms[..., :device_classes], axis=-1, keepdims=True), MIN_TOTAL_MS)


def step_scale(xp: ModuleType, classes_ms: Array, device_classes: int, latency_ms: Array | None) -> Array:
    """Return the anchor's latency, or the device total if it is unknown (None), (..., 1)."""
    return device_total(xp, classes_ms, device_classes) if latency_ms is None else latency_ms


def network_inputs(
    xp: ModuleType, member: str, classes_ms: Array, device_classes: int, latency_ms: Array | None, sizes: Array | None
) -> Array:
    """Return the inputs of a member.

    Parameters
    ----------
    classes_ms : (..., classes).
    latency_ms : (..., 1) or None.
    sizes : (..., 2) as `size_inputs` gives them, or None.
    """
    total = device_total(xp, classes_ms, device_classes)
    if member == HOMOGENEOUS:
        scale = step_scale(xp, classes_ms, device_classes, latency_ms)
        launch = LAUNCH_BOUND_MS**2 / xp.maximum(scale, LAUNCH_BOUND_MS)
        parts = [classes_ms / scale, total / scale, xp.ones_like(scale), launch]
    elif member == TREES:
        parts = [classes_ms / total, xp.log(total)]
        if latency_ms is not None:
            parts += [xp.log(latency_ms), xp.log(total / latency_ms)]
    else:
        parts = [xp.log1p(classes_ms), xp.sqrt(classes_ms / total), xp.log(total)]
        if latency_ms is not None:
            parts += [xp.log(latency_ms), xp.log(total / latency_ms)]
    if sizes is not None:
        parts.append(sizes)
    return xp.concatenate(parts, axis=-1)


def size_inputs(xp: ModuleType, batch_size: Array, pixels: Array) -> Array:
    """Batch and pixel size as inputs, (..., 1) each -> (..., 2)."""
    return xp.concatenate([xp.log(batch_size / 64), xp.log(pixels / 128)], axis=-1)


def outputs_of(member: str, device_classes: int) -> int:
    """Return the number of outputs of a member."""
    return device_classes + 2 if member == CLASS_RATIO else 1


def network_latency(
    xp: ModuleType, member: str, raw: Array, classes_ms: Array, step_ms: Array, constants: Array
) -> Array:
    """Latency on the target, milliseconds (..., 1), from a member's outputs, (..., outputs).

    Parameters
    ----------
    step_ms : as `step_scale` gives it.
    constants : of the pair, unused by the homogeneous network: the median log ratio of target to anchor time of each
        device class, (..., device classes).
    """
    if member == HOMOGENEOUS:
        return raw * step_ms
    device_classes = constants.shape[-1]
    if member == TREES:
        # The trees correct the step in which all classes have their median ratios.
        typical = xp.sum(classes_ms[..., :device_classes] * xp.exp(constants), axis=-1, keepdims=True)
        return xp.exp(raw) * typical * step_ms / device_total(xp, classes_ms, device_classes)
    classes = class_latencies(xp, raw, classes_ms, device_classes, constants)
    # Device rows, including idle, add up to the step, up to a bounded factor and a non-negative overhead.
    step = xp.sum(classes, axis=-1, keepdims=True) * xp.exp(xp.tanh(raw[..., device_classes : device_classes + 1]))
    overhead = raw[..., device_classes + 1 :] - 1
    return step + xp.logaddexp(overhead, xp.zeros_like(overhead))


def class_latencies(xp: ModuleType, raw: Array, classes_ms: Array, device_classes: int, log_ratios: Array) -> Array:
    """Device class times on the target, (..., device classes): the anchor's times a ratio bounded to a factor of e."""
    return classes_ms[..., :device_classes] * xp.exp(log_ratios + xp.tanh(raw[..., :device_classes]))


#: An unknown kernel is transferred at this power of the typical ratio of device times between two instances: between
#: "equal times" (0, launch-bound) and "like all others" (1).
UNKNOWN_POWER = 0.5
#: Minimum share of a step that remains without its unknown operations.
MIN_KNOWN_SHARE = 0.2


class StepInputs(Struct, frozen=True):
    """Profiles as inputs of the default method's networks.

    Every array has one row per profile.

    Attributes
    ----------
    classes_ms : (profiles, classes), imputed, without unknown operations.
    unknown_ms : (profiles, 1), device time of unknown operations.
    latency_ms : (profiles, 1), the anchor's, without the part of unknown operations; None if unknown.
    sizes : (profiles, 2) as `members.size_inputs` gives them; None if unknown.
    repaired : (profiles,), factor by which truncated profiles were scaled up; 1 for the others.
    doubt : (profiles,), standard deviation of the logarithm of the imputed step; 0 for the others.
    """

    classes_ms: FloatArray
    unknown_ms: FloatArray
    latency_ms: FloatArray | None
    sizes: FloatArray | None
    repaired: FloatArray
    doubt: FloatArray

    def of_rows(self, rows: np.ndarray, sizes: FloatArray | None) -> StepInputs:
        """Return a subset of profiles, by index, with the given sizes."""
        latency_ms = None if self.latency_ms is None else self.latency_ms[rows]
        arrays = (values[rows] for values in (self.classes_ms, self.unknown_ms, self.repaired, self.doubt))
        classes_ms, unknown_ms, repaired, doubt = arrays
        return StepInputs(classes_ms, unknown_ms, latency_ms, sizes, repaired, doubt)


def step_inputs(
    times: ClassTimes,
    device_classes: int,
    idle_column: int,
    latency_ms: FloatArray | None,
    sizes: FloatArray | None,
    unseen: np.ndarray | None = None,
) -> StepInputs:
    """Prepare class times for the networks.

    Parameters
    ----------
    latency_ms : (profiles,) or None.
    unseen : (classes,) boolean, device classes absent from the training profiles; their time counts as unknown.
    """
    device_total = times.times_ms[:, :device_classes].sum(axis=1) + times.unknown_ms
    factor, doubt = repair_factor(
        device_total,
        times.times_ms[:, idle_column],
        times.host_total_ms,
        times.truncated,
        times.severely,
        latency_ms,
    )
    scaled = np.ones_like(times.times_ms)
    scaled[:, :device_classes] = factor[:, None]
    scaled[:, idle_column] = 1.0
    classes, unknown, known_classes = known_part(
        times.times_ms * scaled, (times.unknown_ms * factor)[:, None], latency_ms, unseen
    )
    return StepInputs(classes, unknown, known_classes, sizes, factor, doubt)


def known_part(
    classes_ms: FloatArray, unknown_ms: FloatArray, latency_ms: FloatArray | None, unseen: np.ndarray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Move unseen classes to unknown time, and take the latter off the latency.

    Parameters
    ----------
    classes_ms, unknown_ms, latency_ms : (profiles, classes), (profiles, 1), and (profiles,) or None.
    unseen : (classes,) boolean.

    Returns
    -------
    classes_ms, unknown_ms, known_ms : (profiles, classes), (profiles, 1), and (profiles, 1) or None.
    """
    if unseen is not None and unseen.any():
        unknown_ms = unknown_ms + classes_ms[:, unseen].sum(axis=1, keepdims=True)
        classes_ms = np.where(unseen, 0.0, classes_ms)
    if latency_ms is None:
        return classes_ms, unknown_ms, None
    known_ms = np.maximum(latency_ms[:, None] - unknown_ms, MIN_KNOWN_SHARE * latency_ms[:, None])
    return classes_ms, unknown_ms, known_ms


def member_latency(
    member: str,
    run: Callable[[FloatArray], FloatArray],
    inputs: StepInputs,
    device_classes: int,
    constants: FloatArray,
    typical_log_ratio: FloatArray,
) -> FloatArray:
    """Latency on each target, milliseconds, shape (targets, profiles).

    Parameters
    ----------
    run : the stacked network, (profiles, inputs) -> (targets, profiles, outputs).
    constants : per target, as `members.network_latency` takes them, (targets, 1, ...).
    typical_log_ratio : (targets,), the median over classes of the log ratio of device times.
    """
    seen = network_inputs(np, member, inputs.classes_ms, device_classes, inputs.latency_ms, inputs.sizes)
    step_ms = step_scale(np, inputs.classes_ms, device_classes, inputs.latency_ms)
    network_ms = network_latency(np, member, run(seen), inputs.classes_ms, step_ms, constants)
    ratio: FloatArray = np.exp(UNKNOWN_POWER * np.asarray(typical_log_ratio))[:, None, None]
    latency_ms: FloatArray = network_ms + inputs.unknown_ms * ratio
    return latency_ms[..., 0]


class ProfileBatch(Struct, frozen=True):
    """Profiles recorded on one anchor, with their step latencies there.

    Attributes
    ----------
    latency_ms : measured on the anchor, milliseconds, (profiles,); None: unknown.
    inputs : class times as inputs of the default method's networks, without batch and pixel sizes.
    unknown : operations without a class, per profile.
    """

    profiles: Sequence[Profile]
    anchor: str
    latency_ms: np.ndarray | None
    inputs: StepInputs
    unknown: Sequence[UnknownOperations]


def profile_batch(profiles: Sequence[Profile], anchor: str, latency_ms: np.ndarray | None) -> ProfileBatch:
    """Sum the profiles' operations to classes."""
    classes = load_operation_classes()
    times, unknown = classes.encode(profiles)
    device, idle = len(classes.device), classes.names.index(IDLE_CLASS)
    return ProfileBatch(profiles, anchor, latency_ms, step_inputs(times, device, idle, latency_ms, None), unknown)


#: Offsets inside the logarithms, so that equal members or a duplicate in the data don't give zero width.
SPREAD_OFFSET, DISTANCE_OFFSET = 0.01, 0.02
#: Maximum width: a factor of a thousand up or down means unknown. If it is fitted on few networks, the extrapolated
#: scale can exceed the range of floats.
MAX_LOG_SD = log_sd_of(math.log(1_000))
_MAX_LOG_SCALE = 100.0
#: Weight of a profile's total time relative to its class shares in the distance.
TOTAL_WEIGHT = 0.05
#: Upper bounds of the distance bands, and their names.
DISTANCE_BANDS = (0.10, 0.28, 0.50)
BAND_WORDS = ("like", "somewhat unlike", "unlike", "very unlike")


class IntervalScale(Struct, frozen=True):
    """Interval half-width: scale of the log error times an empirical quantile of held-out errors.

    The log half-width at `level` is quantile[pair] * exp(offset[pair] + spread * log(s + 0.01) + distance * log(d +
    0.02)), with s the standard deviation of the members' log latencies and d the distance from the training data. It is
    converted to the standard deviation of a log-normal error. Scale and quantile come from the same errors on held-out
    architectures. Unlike conformal prediction this guarantees no coverage: it is checked on architectures that neither
    members nor interval saw. The uncertainty of an imputed truncated profile is added.
    """

    level: float
    spread: float
    distance: float
    offset: Mapping[str, Mapping[str, float]]
    quantile: Mapping[str, Mapping[str, float]]
    error_by_distance: Sequence[float]

    def log_sd(
        self, anchor: str, targets: Sequence[str], member_ms: FloatArray, distance: FloatArray, doubt: FloatArray
    ) -> FloatArray:
        """Return the standard deviation in the logarithm, at most `MAX_LOG_SD`, (targets, profiles).

        Parameters
        ----------
        member_ms : members' latencies, (targets, profiles, members).
        distance, doubt : (profiles,).
        """
        pairs = [(self.offset[anchor][target], self.quantile[anchor][target]) for target in targets]
        offset, quantile = np.array(pairs).reshape(-1, 2).T[..., None]
        log_scale = offset + scale_features(member_ms, distance) @ np.array([self.spread, self.distance])
        # Clip before the power too: zero times infinity is NaN.
        scale: FloatArray = np.exp(np.minimum(log_scale, _MAX_LOG_SCALE))
        log_sd: FloatArray = np.minimum(combined_sd(log_sd_of(quantile * scale, self.level), doubt), MAX_LOG_SD)
        return log_sd


def scale_features(member_ms: FloatArray, distance: FloatArray) -> FloatArray:
    """Log spread of the members and log distance, (..., profiles, 2), from latencies (..., profiles, members)."""
    spread = np.log(np.maximum(member_ms, SMALLEST_NUMBER)).std(axis=-1)
    away = np.broadcast_to(np.log(distance + DISTANCE_OFFSET), spread.shape)
    return np.stack([np.log(spread + SPREAD_OFFSET), away], axis=-1)


def class_shares(classes_ms: FloatArray, device_classes: int) -> FloatArray:
    """Square roots of class shares, and a small weight of total time, (profiles, classes + 1)."""
    device = classes_ms[:, :device_classes]
    total = np.maximum(device.sum(axis=1, keepdims=True), 1e-3)
    return np.hstack([np.sqrt(device / total), TOTAL_WEIGHT * np.log(total)])


def nearest_distance(shares: FloatArray, reference: FloatArray, block: int = 512) -> FloatArray:
    """Euclidean distance of each profile to the nearest row of `reference`, (profiles,)."""
    squares = (reference**2).sum(axis=1)
    parts = []
    for start in range(0, len(shares), block):
        here = shares[start : start + block]
        distances = (here**2).sum(axis=1)[:, None] + squares - 2 * here @ reference.T
        parts.append(np.sqrt(np.maximum(distances.min(axis=1), 0)))
    return np.concatenate(parts) if parts else np.zeros(0)


#: Name of a distance band -> phrase that compares the profile with the training data.
_PHRASES = dict(
    zip(BAND_WORDS, ("similar to", "somewhat different from", "not similar to", "very different from"), strict=True)
)


class Similarity(Struct, frozen=True):
    """Similarity of a profile to the training data.

    Attributes
    ----------
    distance : to the nearest training profile, in the space of class shares.
    words : "like the training data", "unlike", ...
    error_percent : mean error on held-out architectures at this distance.
    """

    distance: float
    words: str
    error_percent: float

    @classmethod
    def at(cls, distance: float, error_by_distance: Sequence[float]) -> Similarity:
        """Similarity at a distance, by the mean errors of held-out architectures in each band, percent.

        >>> Similarity.at(0.2, (4.0, 6.0, 9.0, 15.0)).words
        'somewhat unlike'
        """
        band = int(np.searchsorted(DISTANCE_BANDS, distance))
        return cls(distance, BAND_WORDS[band], float(error_by_distance[band]))

    @property
    def is_dissimilar(self) -> bool:
        """Whether the distance warrants a warning."""
        return self.words in BAND_WORDS[2:]

    @property
    def phrase(self) -> str:
        """Phrase before "the training data" in a sentence."""
        return _PHRASES[self.words]

    @property
    def error_words(self) -> str:
        """The mean error as a phrase; the farthest band is open, so its mean error is a lower bound."""
        least = "at least " if self.words == BAND_WORDS[-1] else ""
        return f"{least}{self.error_percent:.0f}%"


ACTIVATIONS = ("relu", "silu")
#: Number of products computed together: they stay in the CPU cache, and more would start threads.
_VALUES_TOGETHER = 200_000
#: exp(80) is finite in single precision; a sigmoid beyond it is 0.
_FARTHEST = 80


class DenseStack(Struct, frozen=True):
    """Networks of equal shape, computed in the precision of their weights.

    Attributes
    ----------
    kernels, biases : per layer (models, inputs, outputs) and (models, 1, outputs).
    activation : "relu" or "silu", between layers.
    """

    kernels: Sequence[np.ndarray]
    biases: Sequence[np.ndarray]
    activation: str

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS or not self.kernels or len(self.kernels) != len(self.biases):
            raise ValueError("not the layers of a network")
        models, width = self.models, self.inputs
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            if kernel.shape[:2] != (models, width) or bias.shape != (models, 1, kernel.shape[2]):
                raise ValueError("layers that do not fit")
            width = kernel.shape[2]

    @property
    def models(self) -> int:
        """Number of networks."""
        models: int = self.kernels[0].shape[0]
        return models

    @property
    def inputs(self) -> int:
        """Number of input values per row."""
        inputs: int = self.kernels[0].shape[1]
        return inputs

    def run(self, seen: np.ndarray) -> np.ndarray:
        """Return the outputs of all networks, (rows, inputs) -> (models, rows, outputs)."""
        chunk = max(1, _VALUES_TOGETHER // max(kernel[0].size for kernel in self.kernels))
        if len(seen) > chunk:
            parts = [self.run(seen[start : start + chunk]) for start in range(0, len(seen), chunk)]
            return np.concatenate(parts, axis=1)
        value = np.asarray(seen, self.kernels[0].dtype)
        last = len(self.kernels) - 1
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            value = value @ kernel
            value += bias
            if layer < last and self.activation == "relu":
                np.maximum(value, 0, out=value)
            elif layer < last:
                value = value / (1 + np.exp(-np.maximum(value, -_FARTHEST)))
        return value


#: Rows times trees evaluated together: their buffers stay in the CPU cache.
_TREES_TOGETHER = 40_000


class TreeStack(Struct, frozen=True, dict=True):
    """Ensembles that sum the leaves of their trees.

    All nodes are in one table. The two children of a split are adjacent: first the left one, for values up to the
    threshold, then the right one.

    Attributes
    ----------
    roots : root nodes of the trees, (models, trees).
    features : (nodes,), column that a split compares; 0 for a leaf.
    steps : (nodes,), offset of a split's left child; 0 for a leaf.
    numbers : float64 (nodes,), threshold of a split, value of a leaf.
    inputs : number of columns.
    """

    roots: np.ndarray
    features: np.ndarray
    steps: np.ndarray
    numbers: FloatArray
    inputs: int

    def __post_init__(self) -> None:
        nodes = self.numbers.shape
        if len(nodes) != 1 or self.features.shape != nodes or self.steps.shape != nodes or self.roots.ndim != 2:
            raise ValueError("not a table of nodes")
        if not _within(self.features, self.inputs) or not _within(self.roots, *nodes) or self.steps.min() < 0:
            raise ValueError("a tree's node points nowhere")
        _ = self._levels

    @property
    def models(self) -> int:
        """Number of ensembles."""
        return len(self.roots)

    def run(self, seen: FloatArray) -> FloatArray:
        """Return the outputs of all ensembles, (rows, inputs) -> (models, rows, 1)."""
        if seen.shape[1] != self.inputs:
            raise ValueError(f"{self.inputs} columns are needed, not {seen.shape[1]}")
        chunk = max(1, _TREES_TOGETHER // max(1, self.roots.size))
        if len(seen) > chunk:
            parts = [self.run(seen[start : start + chunk]) for start in range(0, len(seen), chunk)]
            return np.concatenate(parts, axis=1)
        # Rows of one tree are contiguous, so its few nodes stay in the CPU cache.
        rows = np.arange(len(seen))
        values = np.ascontiguousarray(seen.T, float).ravel()
        columns = self._columns if len(seen) == 1 else self._columns * len(seen)
        at = np.repeat(self.roots.reshape(-1, 1), len(seen), axis=1).astype(np.intp)
        place, value, threshold = np.empty_like(at), np.empty(at.shape), np.empty(at.shape)
        # Without `out` and "clip", each take would allocate an array and check its bounds, which are already checked.
        for _ in range(self._levels):
            columns.take(at, out=place, mode="clip")
            place += rows
            values.take(place, out=value, mode="clip")
            self._thresholds.take(at, out=threshold, mode="clip")
            self._lefts.take(at, out=place, mode="clip")
            np.add(place, value > threshold, out=at)
        leaves = self.numbers.take(at).reshape(*self.roots.shape, len(seen))
        sums: FloatArray = leaves.sum(axis=1)
        return sums[..., None]

    @cached_property
    def _columns(self) -> np.ndarray:
        return self.features.astype(np.intp)

    @cached_property
    def _lefts(self) -> np.ndarray:
        """Left child of each node; a leaf is its own child."""
        lefts: np.ndarray = np.arange(len(self.steps)) + self.steps
        return lefts

    @cached_property
    def _thresholds(self) -> FloatArray:
        """Threshold of each node; no value goes right at a leaf."""
        return np.where(self.steps > 0, self.numbers, np.inf)

    @cached_property
    def _levels(self) -> int:
        """Maximum depth in splits."""
        # Not `np.unique`, which loads numpy's masked arrays: a tenth of a process's start-up time.
        level, levels = np.array(sorted(set(self.roots.ravel().tolist())), np.intp), 0
        met = len(level)
        while True:
            splits = level[self.steps[level] > 0]
            if not len(splits):
                return levels
            left = splits + self.steps[splits]
            level, levels, met = np.concatenate([left, left + 1]), levels + 1, met + 2 * len(left)
            if met > len(self.steps) or not _within(level, len(self.steps)):
                raise ValueError("a tree's node points nowhere")


def _within(values: np.ndarray, end: int) -> bool:
    return bool(values.size) and bool(values.min() >= 0) and bool(values.max() < end)


Fitted: TypeAlias = DenseStack | TreeStack

_WHOLE = "iu"
_REAL = "f"


def written(fitted: Fitted) -> bytes:
    """Serialize `fitted`: weights unchanged, tables of nodes in the smallest lossless types."""
    if isinstance(fitted, TreeStack):
        names = ("roots", "features", "steps", "numbers", "inputs")
        arrays = {name: _smallest(np.asarray(getattr(fitted, name))) for name in names}
    else:
        arrays = {"activation": np.array(fitted.activation)}
        for layer, (kernel, bias) in enumerate(zip(fitted.kernels, fitted.biases, strict=True)):
            arrays |= {f"kernel_{layer}": _little_endian(kernel), f"bias_{layer}": _little_endian(bias)}
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    return data.getvalue()


def read_fitted(data: bytes) -> Fitted:
    """Deserialize a file.

    Raises
    ------
    ValueError : the content is not a fitted model.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "roots" not in arrays:
            layers = range((len(arrays) - 1) // 2)
            kernels, biases = (
                [_of_kind(arrays[f"{part}_{layer}"], _REAL) for layer in layers] for part in ("kernel", "bias")
            )
            return DenseStack(kernels, biases, str(arrays["activation"]))
        roots, features, steps = (_of_kind(arrays[name], _WHOLE) for name in ("roots", "features", "steps"))
        numbers = _of_kind(arrays["numbers"], _REAL).astype(float)
        return TreeStack(roots, features, steps, numbers, int(arrays["inputs"]))
    except (ValueError, LookupError, EOFError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as error:
        raise ValueError("not a file of fitted arrays") from error


def _of_kind(array: np.ndarray, kinds: str) -> np.ndarray:
    if array.dtype.kind not in kinds:
        raise ValueError(f"an array of {array.dtype}")
    return array


def _smallest(array: np.ndarray) -> np.ndarray:
    """`array` in the smallest type of its kind that holds every value exactly."""
    if array.dtype.kind == _REAL:
        single = array.astype("<f4")
        return single if np.array_equal(single, array) else array.astype("<f8")
    limits = {kind: np.iinfo(kind) for kind in ("<u2", "<i4", "<i8")}
    least, most = array.min(), array.max()
    return array.astype(next(kind for kind, limit in limits.items() if limit.min <= least and most <= limit.max))


def _little_endian(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"))
