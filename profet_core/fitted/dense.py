"""Stacked dense networks; a linear model is one of a single layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ACTIVATIONS = ("relu", "silu")
#: Number of products computed together: they stay in the CPU cache, and more would start threads.
_VALUES_TOGETHER = 200_000
#: exp(80) is finite in single precision; a sigmoid beyond it is 0.
_FARTHEST = 80


@dataclass(frozen=True, slots=True)
class DenseStack:
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
        """Outputs of all networks, (rows, inputs) -> (models, rows, outputs)."""
        chunk = max(1, _VALUES_TOGETHER // max(kernel[0].size for kernel in self.kernels))
        if len(seen) <= chunk:
            return self._run(seen)
        parts = [self._run(seen[start : start + chunk]) for start in range(0, len(seen), chunk)]
        return np.concatenate(parts, axis=1)

    def _run(self, seen: np.ndarray) -> np.ndarray:
        value = np.asarray(seen, self.kernels[0].dtype)
        last = len(self.kernels) - 1
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            value = value @ kernel
            value += bias
            if layer < last:
                value = self._activated(value)
        return value

    def _activated(self, value: np.ndarray) -> np.ndarray:
        activated: np.ndarray
        if self.activation == "relu":
            activated = np.maximum(value, 0, out=value)
        else:
            activated = value / (1 + np.exp(-np.maximum(value, -_FARTHEST)))
        return activated
