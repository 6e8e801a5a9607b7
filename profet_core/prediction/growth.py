"""Growth of a step with batch and pixel size, from one or two profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from profet_core.ensemble.operations import COPY_CLASS, IDLE_CLASS, OperationClasses
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.latency import Estimate, FloatArray, Values, combined_sd, log_sd_of

#: Features that determine a step's scaling, in the order of the coefficients.
SIGNS = (
    "step",
    "idle share",
    "idle over step",
    "busy over step",
    "copy over step",
    "convolution",
    "depthwise",
    "matrix product",
    "batch norm",
    "weight update",
    "activation",
    "pooling",
)
#: The first of them say how long the GPU waits.
_WAITS = SIGNS.index("copy over step")
_CLASSES_OF_SIGN = {
    "convolution": ("convolution", "convolution filter gradient", "convolution input gradient"),
    "depthwise": ("depthwise", "depthwise filter gradient", "depthwise input gradient"),
    "matrix product": ("matrix product",),
    "batch norm": ("batch norm", "batch norm gradient"),
    "weight update": ("weight update",),
    "activation": ("activation", "activation gradient"),
    "pooling": ("pooling", "pooling gradient"),
}
#: Upper bounds of the powers with which a step grows with work; measured steps rarely exceed them.
MAX_BATCH_POWER, MAX_AREA_POWER = 1.1, 1.3
#: Even a launch-bound step grows with this share of the work's logarithm, so that no two sizes take the same time and
#: rounding can't reverse an order.
MIN_GROWTH = 0.01
#: Logits beyond this count as certain.
_FARTHEST = 12.0
#: Bounds of the share that grows, if it is inferred from two known sizes.
_SHARES = (1e-4, 1 - 1e-4)
_MIN_SHARE = 0.01
_MIN_COPY_SHARE = 0.001


class Growth(Struct, frozen=True):
    """Scaling of steps on several instances from the size they are known at.

    All attributes have shape (instances,).

    log(latency / known latency) = (1 - e) log(1 - s + s exp(k u)) / k + e u, where u = batch_power x log(batch / known)
    + area_power x log(area of an image / known) and e = `MIN_GROWTH`. This is a smooth maximum of a constant part
    (launches, weights) and a part that grows with the work. It is non-decreasing in both sizes.

    Attributes
    ----------
    share_logit : logit of s, the share of the known step that grows.
    batch_power, area_power : powers of the number of images and of pixels per image in the work; above 0.
    sharpness : k; the larger it is, the closer the step is to the maximum of both parts instead of their sum.
    """

    share_logit: FloatArray
    batch_power: FloatArray
    area_power: FloatArray
    sharpness: float

    @property
    def share(self) -> FloatArray:
        """s, 0 to 1."""
        return 1 / (1 + np.exp(-self.share_logit))

    def log_growth(self, log_batch: FloatArray, log_area: FloatArray) -> FloatArray:
        """log(latency / known latency), (instances, sizes).

        Parameters
        ----------
        log_batch, log_area : logs of batch and image area over those of the known step, (sizes,).
        """
        logit = self.share_logit[:, None]
        work = self.batch_power[:, None] * log_batch + self.area_power[:, None] * log_area
        still, growing = -np.logaddexp(0, logit), -np.logaddexp(0, -logit)
        joined = np.logaddexp(still, growing + self.sharpness * work) / self.sharpness
        return (1 - MIN_GROWTH) * joined + MIN_GROWTH * work

    def through(self, log_batch: float, log_area: float, rise: FloatArray) -> Growth:
        """Scaling of steps that are also known at a larger size, `log_batch` and `log_area` away.

        Two latencies are better evidence than a profile. The model is then a constant part and a part proportional to
        the work, with the share that gives the log latency increase `rise`, (instances,). NaN: unknown, the scaling is
        unchanged.
        """
        work = log_batch + log_area
        beyond = (rise - MIN_GROWTH * work) / (1 - MIN_GROWTH)
        share = np.clip(np.expm1(beyond) / np.expm1(work), *_SHARES)
        has_rise = ~np.isnan(rise)
        return Growth(
            share_logit=np.where(has_rise, np.log(share / (1 - share)), self.share_logit),
            batch_power=np.where(has_rise, 1.0, self.batch_power),
            area_power=np.where(has_rise, 1.0, self.area_power),
            sharpness=1.0,
        )


class ScalingError(Struct, frozen=True):
    """Error of a step that is scaled to another size.

    The half-width of a 90% interval in the logarithm is, along an axis, |log ratio| ** `DISTANCE_POWER` x (of_size +
    of_still x (1 - s)). It increases with distance and with the share of the known step that doesn't grow. Errors of
    both axes are independent. All >= 0.

    Attributes
    ----------
    of_size, of_still : for batch up, batch down, area up, area down.
    """

    of_size: tuple[float, ...]
    of_still: tuple[float, ...]

    def log_sd(self, share: FloatArray, log_batch: FloatArray, log_area: FloatArray) -> FloatArray:
        """Return the standard deviation of the logarithm, in the broadcast shape of all three; 0 at the known size."""
        parts: list[FloatArray] = [
            (size + still * (1 - share)) * away
            for size, still, away in zip(
                self.of_size, self.of_still, scaling_distances(log_batch, log_area), strict=True
            )
        ]
        log_sd: FloatArray = log_sd_of(combined_sd(parts[0] + parts[1], parts[2] + parts[3]))
        return log_sd


#: Errors grow slightly slower than the distance; with this power, intervals cover near and far steps equally often.
DISTANCE_POWER = 0.75


def scaling_distances(log_batch: FloatArray, log_area: FloatArray) -> FloatArray:
    """Scaling distance in batch and area, to `DISTANCE_POWER`, (4, ...): batch up, batch down, area up, area down."""
    return np.maximum([log_batch, -log_batch, log_area, -log_area], 0) ** DISTANCE_POWER


class AnchorGrowthModel(Struct, frozen=True):
    """Model that predicts a step's scaling from a profile recorded on one anchor.

    Attributes
    ----------
    centre, spread : mean and standard deviation of each feature in training.
    low, high : features are clipped to these.
    share, batch, area : coefficients of a constant and of each feature, (1 + features,).
    offsets : measured instance -> offsets added to the three.
    sharpness : as in `Growth`.
    """

    centre: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    share: FloatArray
    batch: FloatArray
    area: FloatArray
    offsets: Mapping[str, tuple[float, ...]]
    sharpness: float

    def __post_init__(self) -> None:
        for values in (self.centre, self.spread, self.low, self.high):
            if values.shape != (len(SIGNS),) or not np.isfinite(values).all():
                raise ArtifactError("The scaling model is invalid: retrain.")
        for values in (self.share, self.batch, self.area):
            if values.shape != (1 + len(SIGNS),) or not np.isfinite(values).all():
                raise ArtifactError("The scaling model is invalid: retrain.")
        if (self.spread <= 0).any() or not self.sharpness > 0:
            raise ArtifactError("The scaling model is invalid: retrain.")

    def growth(self, instances: Sequence[str], signs: FloatArray, *, is_large: bool = False) -> Growth:
        """Scaling on each instance; `signs` as `step_signs` gives them, (instances, features).

        `is_large`: the step's images are larger than any measured one, as in detection. What such a step's kinds of
        operations would say was learned from classifiers: only the GPU's waits count.
        """
        standardized = (np.clip(signs, self.low, self.high) - self.centre) / self.spread
        if is_large:
            standardized[:, _WAITS:] = 0.0
        columns = np.column_stack([np.ones(len(standardized)), standardized])
        offsets = np.array([self.offsets.get(name, (0.0, 0.0, 0.0)) for name in instances]).reshape(-1, 3)
        share, batch, area = (
            np.clip(columns @ of + offset, -_FARTHEST, _FARTHEST)
            for of, offset in zip((self.share, self.batch, self.area), offsets.T, strict=True)
        )
        return Growth(
            share_logit=share,
            batch_power=MAX_BATCH_POWER / (1 + np.exp(-batch)),
            area_power=MAX_AREA_POWER / (1 + np.exp(-area)),
            sharpness=self.sharpness,
        )


def step_signs(classes: OperationClasses, classes_ms: FloatArray, latency_ms: FloatArray) -> FloatArray:
    """Features that predict scaling, (rows, features).

    Parameters
    ----------
    classes_ms : (rows, classes), class times of profiles on their anchor, milliseconds, as
        `profet_core.ensemble.members.step_inputs` imputes them without the latency.
    latency_ms : (rows,), of the same steps on the instance whose scaling is predicted.
    """
    columns = {name: classes_ms[:, column] for column, name in enumerate(classes.names)}
    device_ms = classes_ms[:, : len(classes.device)].sum(axis=1)
    idle_ms, copy_ms = columns[IDLE_CLASS], columns[COPY_CLASS]
    busy_ms = np.maximum(device_ms - idle_ms - copy_ms, 1e-6)
    shares = [sum(columns[name] for name in names) / busy_ms for names in _CLASSES_OF_SIGN.values()]
    return np.column_stack(
        [
            np.log(latency_ms),
            np.log(idle_ms / np.maximum(device_ms, 1e-6) + _MIN_SHARE),
            np.log(idle_ms / latency_ms + _MIN_SHARE),
            np.log(busy_ms / latency_ms),
            np.log(copy_ms / latency_ms + _MIN_COPY_SHARE),
            *shares,
        ]
    )


GROWTH_NAME = "growth.json"
GROWTH_VERSION = 1


class GrowthModel(Struct, frozen=True):
    """Models that scale a step to other sizes.

    Attributes
    ----------
    models : anchor -> scaling model for its profiles.
    error : of a step scaled from one profile.
    checksum : of the file's content.
    """

    models: Mapping[str, AnchorGrowthModel]
    error: ScalingError
    fitted_on: Mapping[str, str]
    checksum: str


def load_growth(folder: Path | str | None = None) -> GrowthModel:
    """Load `growth.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    return load_coefficients(models_folder(folder) / GROWTH_NAME, GROWTH_VERSION, growth_model)


def growth_model(content: JsonObject) -> GrowthModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    models, arrays = {}, ("centre", "spread", "low", "high", "share", "batch", "area")
    for anchor, row in content["curves"].items():
        models[anchor] = AnchorGrowthModel(
            **{name: np.array([finite_number(value) for value in row[name]]) for name in arrays},
            offsets=MappingProxyType({name: _numbers(values, 3) for name, values in row["offsets"].items()}),
            sharpness=finite_number(row["sharpness"]),
        )
    return GrowthModel(
        models=MappingProxyType(models),
        error=ScalingError(*(_numbers(content["error"][name], 4) for name in ("of_size", "of_still"))),
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )


def _numbers(values: Sequence[object], count: int) -> tuple[float, ...]:
    if len(values) != count:
        raise ValueError(f"{count} numbers are needed")
    return tuple(map(finite_number, values))


#: Between two sizes, errors are this fraction of the pooled error of both endpoints: 90% of the measured latencies
#: between the endpoints of an axis were within 0.53 of it along the batch and 0.61 along pixels.
BETWEEN = 0.6


def log_sizes(batch: Values, area: Values) -> FloatArray:
    """Logarithms of batch sizes and of image areas (1 if pixels are unknown), (2, sizes), or (2, 1) of one of each."""
    sizes: FloatArray = np.array([batch, area], float).reshape(2, -1)
    return np.log(sizes)


class KnownPoint(Struct, frozen=True):
    """Steps on several instances, known at one size.

    Attributes
    ----------
    at : as `log_sizes` gives it, (2, 1).
    log_ms, log_sd : (instances,), of the latencies.
    growth : scaling from this size.
    """

    at: FloatArray
    log_ms: FloatArray
    log_sd: FloatArray
    growth: Growth


def scale_from_two(first: KnownPoint, second: KnownPoint, error: ScalingError, sizes: FloatArray) -> Estimate:
    """Latencies at `log_sizes`, (instances, sizes), exact at both known sizes.

    They are non-decreasing if the known ones are.

    Between two sizes, if both of one are at least the other's, steps scale by the share that connects the two
    latencies. Elsewhere they scale by the mean of both profiles' estimates.
    """
    if tuple(first.at.ravel()) > tuple(second.at.ravel()):
        first, second = second, first
    log_ms = (_stretched if (first.at <= second.at).all() else _bridged)(first, second, sizes)
    by_first, by_second = (error.log_sd(point.growth.share[:, None], *(sizes - point.at)) for point in (first, second))
    # The nearer step has more weight, and their scaling error is below that of each alone.
    both = combined_sd(by_first, by_second)
    share = np.divide(by_first, by_first + by_second, out=np.zeros_like(both), where=both > 0)
    own_log_sd = (1 - share) * first.log_sd[:, None] + share * second.log_sd[:, None]
    within = ((sizes >= first.at) & (sizes <= second.at)).all(axis=0)
    scaling_log_sd = np.divide(by_first * by_second, both, out=np.zeros_like(both), where=both > 0)
    log_sd = combined_sd(own_log_sd, np.where(within, BETWEEN, 1.0) * scaling_log_sd)
    return Estimate(latency_ms=np.exp(log_ms), log_sd=log_sd)


def _mean_growth(first: KnownPoint, second: KnownPoint, sizes: FloatArray) -> FloatArray:
    by_first, by_second = (point.growth.log_growth(*(sizes - point.at)) for point in (first, second))
    return (by_first + by_second) / 2


def _stretched(small: KnownPoint, large: KnownPoint, sizes: FloatArray) -> FloatArray:
    """Interpolate between both with the fitted scaling; extrapolate beyond with the profiles' scaling."""
    rise = large.log_ms - small.log_ms
    away = large.at - small.at
    growth = small.growth.through(away[0].item(), away[1].item(), rise)
    span = growth.log_growth(*away)
    between = np.clip(growth.log_growth(*(sizes - small.at)) / span, 0, 1)
    grown = _mean_growth(small, large, sizes)
    below, above = (grown - _mean_growth(small, large, point.at) for point in (small, large))
    return small.log_ms[:, None] + rise[:, None] * between + np.minimum(below, 0) + np.maximum(above, 0)


def _bridged(wide: KnownPoint, deep: KnownPoint, sizes: FloatArray) -> FloatArray:
    """Combine steps where `deep` has the larger batch and `wide` the larger area; one axis connects their levels."""
    grown = _mean_growth(wide, deep, sizes)
    by_wide, by_deep = (point.log_ms[:, None] + grown - _mean_growth(wide, deep, point.at) for point in (wide, deep))
    return bridged(wide.at, deep.at, by_wide, by_deep, sizes)


def bridged(
    wide_at: FloatArray, deep_at: FloatArray, by_wide: FloatArray, by_deep: FloatArray, sizes: FloatArray
) -> FloatArray:
    """Combine what two steps say of others, (instances, sizes): one has the larger area, the other the larger batch."""
    to_deep: FloatArray = np.clip((sizes[0] - wide_at[0]) / (deep_at[0] - wide_at[0]), 0, 1)
    to_wide: FloatArray = np.clip((sizes[1] - deep_at[1]) / (wide_at[1] - deep_at[1]), 0, 1)
    higher = by_deep - by_wide
    return np.where(higher >= 0, by_wide + higher * to_deep, by_deep - higher * to_wide)
