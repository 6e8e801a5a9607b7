"""Stacked ensembles of regression trees, evaluated level by level for all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray

#: Rows times trees evaluated together: their buffers stay in the CPU cache.
_TREES_TOGETHER = 40_000


@dataclass(frozen=True)
class TreeStack:
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
        """Outputs of all ensembles, (rows, inputs) -> (models, rows, 1)."""
        if seen.shape[1] != self.inputs:
            raise ValueError(f"{self.inputs} columns are needed, not {seen.shape[1]}")
        chunk = max(1, _TREES_TOGETHER // max(1, self.roots.size))
        parts = [self._run(seen[start : start + chunk]) for start in range(0, len(seen), chunk)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((self.models, 0, 1))

    def _run(self, seen: FloatArray) -> FloatArray:
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
