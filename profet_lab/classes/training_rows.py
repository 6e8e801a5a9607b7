"""What one model of a member is trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrainingRows:
    """One model's: a pair, and the rows (boolean mask) of the measurements it may learn from."""

    anchor: str
    target: str
    rows: np.ndarray
