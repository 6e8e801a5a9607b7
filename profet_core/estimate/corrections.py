"""Learned correction of the analytical model: log(latency / model) by step features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.fitted.trees import TreeStack


class Correction(Protocol):
    """Correction of one method."""

    def log_ratio(self, features: FloatArray) -> FloatArray:
        """log(latency / analytical model), (steps, features) -> (steps,)."""
        ...


@dataclass(frozen=True)
class NoCorrection:
    """No correction of the analytical model."""

    def log_ratio(self, features: FloatArray) -> FloatArray:
        """Zeros, (steps,)."""
        return np.zeros(len(features))


@dataclass(frozen=True)
class LogLinear:
    """The documented regression: log latency as a weighted sum of features.

    Attributes
    ----------
    columns : of the features, in order of selection. weights : by column. law : column of the analytical model.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    law: int

    def log_ratio(self, features: FloatArray) -> FloatArray:
        """log(latency / analytical model), (steps, features) -> (steps,)."""
        log_ms: FloatArray = features[:, list(self.columns)] @ np.array(self.weights)
        return self.intercept + log_ms - features[:, self.law]


@dataclass(frozen=True)
class BoostedTrees:
    """Sum of boosted trees, stored as arrays."""

    trees: TreeStack

    def log_ratio(self, features: FloatArray) -> FloatArray:
        """log(latency / analytical model), (steps, features) -> (steps,)."""
        return self.trees.run(features)[0, :, 0]
