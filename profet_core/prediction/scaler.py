"""The scaler: the axes of batch and pixel size, and two end latencies to every size between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, to_builtins

from profet_core.errors import ArtifactError, InputError
from profet_core.files import JsonObject
from profet_core.latency import FloatArray
from profet_profiles import Profile
from profet_profiles.record import DEVICE_IDLE, DEVICE_PREFIX
from profet_profiles.units import positive_number, whole_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: The sizes measured along each axis.
KNOTS = {"batch": (16, 32, 64, 128, 256), "pixels": (32, 64, 128, 224, 256)}
#: Measured sizes of each axis, without the endpoints.
INNER_KNOTS = 3
SIZE_WORDS = {"batch": "batch size", "pixels": "image size"}
#: Smallest and largest size of each axis in the training data.
AXIS_RANGE = {axis: (sizes[0], sizes[-1]) for axis, sizes in KNOTS.items()}


def axis_range(axis: str) -> tuple[int, int]:
    """Minimum and maximum size of an axis; InputError for any other than "batch" and "pixels"."""
    if axis not in AXIS_RANGE:
        raise InputError(f"Unknown axis {axis!r}: use batch or pixels.")
    return AXIS_RANGE[axis]


#: Largest image size, and the step of sizes beyond the training data; detection and segmentation train there.
LARGEST_PIXELS, _LARGE_STEP = 1280, 32


def sizes_for(axis: str, recorded: int) -> list[int]:
    """Sizes to choose from for a profile, its own among them; larger images only where the profile's are larger.

    >>> sizes_for("pixels", 224)[-1], sizes_for("pixels", 640)[-1], sizes_for("batch", 512)[-2:]
    (256, 1280, [256, 512])
    """
    smallest, largest = axis_range(axis)
    larger = range(largest, LARGEST_PIXELS + 1, _LARGE_STEP) if axis == "pixels" and recorded > largest else ()
    return sorted({*range(smallest, largest + 1), *larger, recorded})


def check_size(axis: str, size: object) -> int:
    """`size` as an int within the axis range; InputError for anything else."""
    smallest, largest = axis_range(axis)
    number = whole_number(f"The {SIZE_WORDS[axis]}", size, at_least=0)
    if not smallest <= number <= largest:
        raise InputError(f"The {SIZE_WORDS[axis]} must be between {smallest} and {largest}, not {number}.")
    return number


def check_ends(axis: str, min_ms: float, max_ms: float) -> tuple[float, float]:
    """Both endpoint latencies, milliseconds; InputError unless they are positive and increasing."""
    at_min, at_max = (f"{end} pixels" if axis == "pixels" else f"batch {end}" for end in axis_range(axis))
    low = positive_number(f"The latency at {at_min}", min_ms)
    high = positive_number(f"The latency at {at_max}", max_ms)
    if high <= low:
        raise InputError(f"The latency at {at_max} ({high:g} ms) must be above the latency at {at_min} ({low:g} ms).")
    return low, high


#: Operations of a network's head: its dense layers, and the plain gradient step over all parameters, most of which are
#: in the dense layers of the measured networks.
HEAD_OPERATIONS = ("Device_MatMul", "Device_ResourceApplyGradientDescent")


class ScaleContext(Struct, frozen=True):
    """Optional inputs of a curve, which has both endpoint latencies; each may be None.

    Attributes
    ----------
    other_size : size on the fixed axis: pixels along "batch" (which uses it), batch size along "pixels" (which
        doesn't).
    head_share : `head_share` of a profile at the axis' largest size, on any GPU, 0 to 1; used along "pixels" only.
    fixed_classes : the network keeps its number of classes at every pixel size. In the measurements the classes grow
        with the pixels (32: 10; 64 and 128: 100; 224 and 256: 1000), and so does the head. With a fixed number of
        classes the head scales like the rest. Used along "pixels" only.
    known_at, known_ms : a size between the endpoints and its latency, which the curve passes through; both or none.

    Raises
    ------
    InputError : a size that is not a positive whole number, a share outside 0..1, or one of two known values.
    """

    other_size: int | None = None
    head_share: float | None = None
    fixed_classes: bool = False
    known_at: int | None = None
    known_ms: float | None = None

    def __post_init__(self) -> None:
        if self.other_size is not None:
            whole_number("The size on the other axis", self.other_size, at_least=1)
        if self.head_share is not None and not 0 <= self.head_share <= 1:
            raise InputError(f"The head's share must be between 0 and 1, not {self.head_share}.")
        if (self.known_at is None) is not (self.known_ms is None):
            raise InputError("A known latency needs its size, and a known size its latency.")

    def passing(self, axis: str, scaled: FloatArray, low_ms: float, high_ms: float) -> FloatArray:
        """Scaled latencies of every size of the axis, bent to pass through the known one; they stay non-decreasing."""
        if self.known_at is None or self.known_ms is None:
            return scaled
        (smallest, largest), at = axis_range(axis), check_size(axis, self.known_at)
        if not smallest < at < largest or not low_ms < self.known_ms < high_ms:
            raise InputError(
                f"The known latency must be at a {SIZE_WORDS[axis]} between {smallest} and {largest}, and between "
                f"{low_ms:g} and {high_ms:g} ms."
            )
        # Where the curve is level, there is nothing to bend.
        if not 0 < (before := scaled[at - smallest]) < 1:
            return scaled
        after = (self.known_ms - low_ms) / (high_ms - low_ms)
        return np.maximum.accumulate(monotone_interpolation([0, before, 1], [0, after, 1], scaled))


def head_share(profile: Profile) -> float | None:
    """Share of the head's operations in the device's busy time, 0 to 1; None without device work."""
    busy_us = sum(
        us for name, us in profile.operations.items() if name.startswith(DEVICE_PREFIX) and name != DEVICE_IDLE
    )
    if busy_us <= 0:
        return None
    head_us = sum(profile.operations.get(name, 0.0) for name in HEAD_OPERATIONS)
    return min(head_us / busy_us, 1.0)


def scale_context(axis: str, largest: Profile, *, fixed_classes: bool = False) -> ScaleContext:
    """Context from a profile at the largest size of `axis` ("batch" or "pixels").

    Raises
    ------
    InputError : its meta contains another size.
    """
    batch_size, pixels = largest.meta.batch_size, largest.meta.pixels
    recorded, other_size = (batch_size, pixels) if axis == "batch" else (pixels, batch_size)
    wanted = AXIS_RANGE[axis][1]
    if recorded not in (None, wanted):
        raise InputError(f"The profile at the largest size must be recorded at {axis} {wanted}, not {recorded}.")
    return ScaleContext(other_size, head_share(largest), fixed_classes)


#: Number of classes of the measured networks at each pixel knot.
CLASSES = (10, 100, 100, 1000, 1000)


def step_work(axis: str, sizes: Sequence[int] | np.ndarray) -> FloatArray:
    """Quantity that a step's work is proportional to: images along "batch", pixels per image along "pixels".

    Curves are interpolated over it. With one inner knot of the measured curves held out, a monotone cubic through the
    others misses it by 2.8% over the batch size (2.9% with both logarithms) and 6.0% over the square of the pixel size
    (7.3% over both logarithms, 7.8% over the size itself).
    """
    return np.asarray(sizes, float) ** (1 if axis == "batch" else 2)


def scaling_model_ms(axis: str, low_ms: FloatArray, high_ms: FloatArray, head_shares: FloatArray) -> FloatArray:
    """Latencies at the inner knots by the scaling model of the axis, milliseconds, shape (curves, 3).

    Along "batch" a step is a fixed time plus a time proportional to its images. Along "pixels" the body of the network
    scales with the area. Its head, `head_shares` of the largest step, also scales with the classes, because the
    measured networks have more classes at larger sizes. An unknown share (NaN) counts as no head.
    """
    low_ms, high_ms = low_ms[:, None], high_ms[:, None]
    work = step_work(axis, KNOTS[axis])
    if axis == "batch":
        # No step grows by more than its images, unless the largest size forces the GPU into slower kernels. Then that
        # endpoint gives no information on smaller sizes.
        most_ms: FloatArray = low_ms * (work / work[0])[1:-1]
        return np.minimum(low_ms + _inner_shares(work) * (high_ms - low_ms), most_ms)
    # With small images the GPU waits for launches, which are later hidden by its work. So the body's step is closer to
    # the maximum of both than to their sum: a root of a sum of squares.
    body = np.sqrt(low_ms**2 + _inner_shares(work**2) * (high_ms**2 - low_ms**2))
    head = low_ms + _inner_shares(work * CLASSES) * (high_ms - low_ms)
    share: FloatArray = np.nan_to_num(np.asarray(head_shares, float))[:, None]
    return (1 - share) * body + share * head


def _inner_shares(values: FloatArray) -> FloatArray:
    """Normalize: 0 at the first value, 1 at the last, the inner ones in between."""
    shares: FloatArray = (values - values[0]) / (values[-1] - values[0])
    return shares[1:-1]


def monotone_interpolation(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> FloatArray:
    """Values at `at` (within x) of the piecewise cubic through (x, y).

    x increases and has at least three points.

    Source: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic interpolants",
    SIAM J. Sci. Stat. Comput. 5 (1984), with the end slopes of C. Moler, Numerical Computing with MATLAB, 3.6. This
    matches `scipy.interpolate.PchipInterpolator`, which serving code doesn't depend on.

    >>> monotone_interpolation([0, 1, 2], [0, 1, 1], [0.5, 1, 1.5]).tolist()
    [0.6875, 1.0, 1.0]
    """
    x, y, at = np.asarray(x, float), np.asarray(y, float), np.asarray(at, float)
    steps, slopes = np.diff(x), np.diff(y) / np.diff(x)
    # Weighted harmonic mean of both neighboring slopes; 0 if they differ in sign or one is 0.
    left, right = slopes[:-1], slopes[1:]
    heavy, light = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    same_way = left * right > 0
    left, right = np.where(same_way, left, 1.0), np.where(same_way, right, 1.0)
    # A tiny slope divides to infinity, and the mean is 0 as it should be.
    with np.errstate(over="ignore"):
        inner = np.where(same_way, (heavy + light) / (heavy / left + light / right), 0.0)
    ends = [_end_tangent(*steps[:2], *slopes[:2]), _end_tangent(*steps[:-3:-1], *slopes[:-3:-1])]
    tangents = np.concatenate([ends[:1], inner, ends[1:]])
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(steps) - 1)
    step, slope, start = steps[piece], slopes[piece], tangents[piece]
    along = at - x[piece]
    quadratic = (3 * slope - 2 * start - tangents[piece + 1]) / step
    cubic = (start - 2 * slope + tangents[piece + 1]) / step**2
    values: FloatArray = y[piece] + along * (start + along * (quadratic + along * cubic))
    return values


def _end_tangent(near: float, next_one: float, slope: float, next_slope: float) -> float:
    """Three-point slope at an endpoint, bounded by 0 and three times the endpoint's own slope."""
    tangent = ((2 * near + next_one) * slope - near * next_slope) / (near + next_one)
    if np.sign(tangent) != np.sign(slope):
        return 0.0
    if np.sign(slope) != np.sign(next_slope) and abs(tangent) > 3 * abs(slope):
        return 3 * slope
    return tangent


class DocumentedScaler(Struct, frozen=True):
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


#: Largest correction in the logarithm, so that one outlier network in the measurements can't distort all others.
MAX_LOG_RESIDUAL = 0.5


class ResidualPolynomial(Struct, frozen=True):
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
        standardized = (np.clip(inputs, self.low, self.high) - self.centre) / self.spread
        nothing = (0.0,) * INNER_KNOTS
        offsets = np.array([self.offsets.get(name, nothing) for name in instances]).reshape(len(standardized), -1)
        logarithms: FloatArray = polynomial_terms(standardized, self.degree) @ np.array(self.coefficients) + offsets
        return np.exp(np.clip(logarithms, -MAX_LOG_RESIDUAL, MAX_LOG_RESIDUAL))


class LearnedScaler(Struct, frozen=True):
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
        is_informed = ~np.isnan(other_sizes if self.axis == "batch" else head_shares)
        model_ms = scaling_model_ms(self.axis, low_ms, high_ms, head_shares)
        factors = np.empty_like(model_ms)
        for rows, residual, inputs in (
            (~is_informed, self.ends_only, end_inputs(low_ms, high_ms)),
            (is_informed, self.informed, informed_inputs(self.axis, low_ms, high_ms, other_sizes)),
        ):
            if rows.any():
                chosen = [name for name, wanted in zip(instances, rows, strict=True) if wanted]
                factors[rows] = residual.factors(chosen, inputs[rows])
        between = np.clip(model_ms * factors, low_ms[:, None], high_ms[:, None])
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
        document: dict[str, object] = to_builtins(self)
        return document


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


#: "profet": the documented polynomial; "default": the more accurate of the two.
SCALE_METHODS = ("default", "profet")


class ScaledLatency(Struct, frozen=True):
    """Latency of one instance at one size between the endpoints."""

    instance: str | None
    axis: str
    at: int
    latency_ms: float
