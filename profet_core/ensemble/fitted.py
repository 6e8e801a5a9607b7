"""Runs fitted dense layers and trees with numpy."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from profet_core.latency import FloatArray

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
