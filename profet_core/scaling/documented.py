"""PROFET's documented scaler (arXiv:2208.05130): a polynomial between an axis' endpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.errors import ArtifactError
from profet_core.scaling.axes import AXIS_RANGE


@dataclass(frozen=True, slots=True)
class DocumentedScaler:
    """An order-2 polynomial from size to latency, min-max scaled to 0..1 between the axis' endpoints.

    scaled(x) = intercept + linear * x + quadratic * x**2, as PROFET documents its scaler, with the polynomial
    normalized so that it is 0 at the smallest and 1 at the largest size.

    Raises
    ------
    ArtifactError : the coefficients miss an endpoint or decrease between them.
    """

    instance: str
    axis: str
    intercept: float
    linear: float
    quadratic: float

    def __post_init__(self) -> None:
        smallest, largest = AXIS_RANGE[self.axis]
        slopes = [self.linear + 2 * self.quadratic * size for size in (smallest, largest)]
        ends = self._polynomial(np.array([smallest, largest], float))
        if not np.allclose(ends, [0, 1], atol=1e-6) or min(slopes) < -1e-9:
            raise ArtifactError(
                f"The {self.axis} scaler of {self.instance} is not a rising curve from 0 to 1: retrain."
            )

    def _polynomial(self, sizes: FloatArray) -> FloatArray:
        return self.intercept + self.linear * sizes + self.quadratic * sizes**2

    def scaled(self, sizes: FloatArray) -> FloatArray:
        """Scaled latency (0 at the smallest size, 1 at the largest); non-decreasing, exact at the endpoints."""
        smallest, largest = AXIS_RANGE[self.axis]
        scaled = np.clip(self._polynomial(np.asarray(sizes, float)), 0.0, 1.0)
        scaled = np.where(sizes == smallest, 0.0, scaled)
        return np.where(sizes == largest, 1.0, scaled)
