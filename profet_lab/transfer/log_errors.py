"""How far predictions are off, in the logarithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def root_mean_square(errors: np.ndarray | Sequence[float]) -> float:
    """Spread of errors about 0."""
    return float(np.sqrt(np.mean(np.square(errors))))
