"""The default scaler: the scaling model times a learned correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations_with_replacement

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject
from profet_core.scaling.axes import INNER_KNOTS, KNOTS
from profet_core.scaling.law import law_ms, step_work
from profet_core.scaling.monotone import monotone_interpolation

#: Largest correction in the logarithm, so that one outlier network in the measurements can't distort all others.
LARGEST_LOG_RESIDUAL = 0.5


@dataclass(frozen=True, slots=True)
class ResidualPolynomial:
    """Predict the log ratio of latency to the scaling model at each inner knot.

    Attributes
    ----------
    degree : of the polynomial.
    centre, spread : mean and standard deviation of each input in training, for standardization.
    low, high : minimum and maximum of each input in training; inputs are clipped to this range because a polynomial
        extrapolates badly.
    coefficients : one row per term (as `polynomial_terms` orders them), one column per inner knot.
    offsets : instance -> increment on that instance, one number per inner knot.

    Raises
    ------
    ArtifactError : inconsistent shapes, or invalid numbers.
    """

    degree: int
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    offsets: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        try:
            inputs = np.array([self.centre, self.spread, self.low, self.high], float)
            terms = polynomial_terms(inputs[:1], self.degree).shape[1]
            coefficients = np.array(self.coefficients, float).reshape(terms, INNER_KNOTS)
            offsets = np.array(list(self.offsets.values()), float).reshape(len(self.offsets), INNER_KNOTS)
        except (ValueError, TypeError) as error:
            raise ArtifactError("The scaler's correction is invalid: retrain.") from error
        if not all(np.isfinite(values).all() for values in (inputs, coefficients, offsets)) or (inputs[1] <= 0).any():
            raise ArtifactError("The scaler's correction holds invalid numbers: retrain.")

    def factors(self, instances: Sequence[str], inputs: FloatArray) -> FloatArray:
        """Factors on the scaling model, shape (curves, 3); `inputs` has shape (curves, inputs)."""
        known = (np.clip(inputs, self.low, self.high) - self.centre) / self.spread
        nothing = (0.0,) * INNER_KNOTS
        offsets = np.array([self.offsets.get(name, nothing) for name in instances]).reshape(len(known), -1)
        logarithms: FloatArray = polynomial_terms(known, self.degree) @ np.array(self.coefficients) + offsets
        return np.exp(np.clip(logarithms, -LARGEST_LOG_RESIDUAL, LARGEST_LOG_RESIDUAL))


@dataclass(frozen=True, slots=True)
class LearnedScaler:
    """Latency between the endpoints of an axis: exact at them, non-decreasing, and never outside them.

    Attributes
    ----------
    axis : "batch" or "pixels".
    ends_only : model if only the two latencies are known; its inputs are `end_inputs`.
    informed : model if the context is known: the fixed pixel size along "batch" (a third input), the head's share along
        "pixels" (an input of the scaling model).
    """

    axis: str
    ends_only: ResidualPolynomial
    informed: ResidualPolynomial

    def inner_ms(
        self,
        instances: Sequence[str],
        low_ms: FloatArray,
        high_ms: FloatArray,
        other_sizes: FloatArray,
        head_shares: FloatArray,
    ) -> FloatArray:
        """Latencies at the three inner knots, milliseconds, shape (curves, 3).

        Parameters
        ----------
        low_ms, high_ms : latencies at the endpoints, the second above the first, shape (curves,).
        other_sizes, head_shares : as in `ScaleContext`, NaN where unknown, shape (curves,).
        """
        low_ms, high_ms = np.asarray(low_ms, float), np.asarray(high_ms, float)
        known = ~np.isnan(other_sizes if self.axis == "batch" else head_shares)
        by_law_ms = law_ms(self.axis, low_ms, high_ms, head_shares)
        factors = np.empty_like(by_law_ms)
        for rows, residual, inputs in (
            (~known, self.ends_only, end_inputs(low_ms, high_ms)),
            (known, self.informed, informed_inputs(self.axis, low_ms, high_ms, other_sizes)),
        ):
            if rows.any():
                chosen = [name for name, wanted in zip(instances, rows, strict=True) if wanted]
                factors[rows] = residual.factors(chosen, inputs[rows])
        between = np.clip(by_law_ms * factors, low_ms[:, None], high_ms[:, None])
        return np.maximum.accumulate(between, axis=1)

    def scaled(
        self, instance: str, low_ms: float, high_ms: float, other_size: float = np.nan, head_share: float = np.nan
    ) -> FloatArray:
        """Scaled latency, 0 at the smallest and 1 at the largest, at every whole size of the axis."""
        inner = self.inner_ms([instance], *np.array([[low_ms], [high_ms], [other_size], [head_share]], float))[0]
        knots = np.array([0.0, *np.clip((inner - low_ms) / (high_ms - low_ms), 0, 1), 1.0])
        sizes = np.arange(KNOTS[self.axis][0], KNOTS[self.axis][-1] + 1)
        scaled = monotone_interpolation(step_work(self.axis, KNOTS[self.axis]), knots, step_work(self.axis, sizes))
        # The interpolation is non-decreasing, but rounding may lower the last digit.
        scaled = np.maximum.accumulate(np.clip(scaled, 0, 1))
        scaled[0], scaled[-1] = 0.0, 1.0
        return scaled

    def as_json(self) -> dict[str, object]:
        """Plain numbers for the manifest."""
        return asdict(self)


def learned_scaler(values: JsonObject) -> LearnedScaler:
    """Parse a scaler from the output of `LearnedScaler.as_json`."""
    ends_only, informed = (ResidualPolynomial(**values[name]) for name in ("ends_only", "informed"))
    return LearnedScaler(values["axis"], ends_only, informed)


def end_inputs(low_ms: FloatArray, high_ms: FloatArray) -> FloatArray:
    """Features of both endpoints: log increase in latency and log size of a step, shape (curves, 2)."""
    return np.column_stack([np.log(high_ms) - np.log(low_ms), np.log(low_ms)])


def informed_inputs(axis: str, low_ms: FloatArray, high_ms: FloatArray, other_sizes: FloatArray) -> FloatArray:
    """`end_inputs`, and along "batch" the logarithm of the pixel size."""
    ends = end_inputs(low_ms, high_ms)
    return np.column_stack([ends, np.log(other_sizes)]) if axis == "batch" else ends


def polynomial_terms(inputs: FloatArray, degree: int) -> FloatArray:
    """1, every input, every product of two, ... up to `degree`; shape (rows, terms)."""
    columns = [np.ones(len(inputs))]
    for power in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(inputs.shape[1]), power):
            columns.append(inputs[:, chosen].prod(axis=1))
    return np.column_stack(columns)
