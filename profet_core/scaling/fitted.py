"""What scaling asks of a models folder: the fitted scalers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from profet_core.scaling.learned import LearnedScaler


class Polynomial(Protocol):
    """The documented scaler of one instance along one axis."""

    def scaled(self, sizes: np.ndarray) -> np.ndarray:
        """Scaled latency, 0 at the smallest size, 1 at the largest, at `sizes`."""


class FittedScalers(Protocol):
    """Scalers by axis, "batch" or "pixels"; `profet_core.artifacts.models.Models` is one."""

    def scaler(self, instance: str | None, axis: str) -> Polynomial:
        """The documented scaler of an instance; InputError if there is none."""

    def learned_scaler(self, axis: str) -> LearnedScaler | None:
        """The default scaler; None if these models have none."""
