"""One network's steps at any batch and pixel size, from one or two that were profiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias, TypedDict, Unpack

import numpy as np
from msgspec.structs import replace

from profet_core.catalog import Instance
from profet_core.ensemble.members import profile_batch
from profet_core.ensemble.operations import load_operation_classes
from profet_core.errors import ArtifactError, Code, InputError, Note
from profet_core.latency import (
    Basis,
    Estimate,
    FloatArray,
    combined_sd,
    free_ms,
    log_sd_of,
    smooth_max,
)
from profet_core.offers import OfferTable
from profet_core.prediction.checks import without_input_wait
from profet_core.prediction.growth import (
    GrowthModel,
    KnownPoint,
    log_sizes,
    scale_from_two,
    step_signs,
)
from profet_core.prediction.models import Models
from profet_core.prediction.predict import Prediction
from profet_core.prediction.scaler import (
    AXIS_RANGE,
    LARGEST_PIXELS,
    SCALE_METHODS,
    LearnedScaler,
    ScaleContext,
    ScaledLatency,
    axis_range,
    check_ends,
    check_size,
)
from profet_core.prediction.targets import StepTable, offer_table
from profet_profiles.record import Profile
from profet_profiles.units import whole_number

#: Steps of both of a network's profiles.
Tables: TypeAlias = tuple[StepTable, StepTable]


def other_networks(first: Profile, second: Profile) -> tuple[str, ...]:
    """Differences between profiles of any two sizes, one sentence each."""
    same_pixels = None in (first.meta.pixels, second.meta.pixels) or first.meta.pixels == second.meta.pixels
    words = {**({"parameters": "number of parameters"} if same_pixels else {}), "gpu": "GPU"}
    both = {name: (getattr(first.meta, name), getattr(second.meta, name)) for name in words}
    return tuple(
        f"The two profiles differ in {words[name]} ({ours} and {theirs}): check that they are of the same network."
        for name, (ours, theirs) in both.items()
        if None not in (ours, theirs) and ours != theirs
    )


#: Range of sizes that steps can be scaled to and from.
BATCH_SIZES, PIXEL_SIZES = (1, 1024), (16, LARGEST_PIXELS)


def check_batch(batch_size: object) -> int:
    """Check a batch size that steps are scaled to."""
    return _check("The batch size", batch_size, BATCH_SIZES)


def check_pixels(pixels: object) -> int:
    """Check a pixel size that steps are scaled to."""
    return _check("The pixel size", pixels, PIXEL_SIZES)


def _check(name: str, value: object, between: tuple[int, int]) -> int:
    number = whole_number(name, value, at_least=0)
    if not between[0] <= number <= between[1]:
        raise InputError(f"{name} must be between {between[0]} and {between[1]}, not {number}.")
    return number


def joint_predictions(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Reconcile two predictions of one network so that both agree; a single one stays unchanged.

    Launch overhead doesn't depend on size, so both get the mean, and their latencies change with it. Where an instance
    is predicted faster at the larger size, both rows get one latency. It is the geometric mean weighted by inverse
    variance (a measured one alone counts), with an interval that covers their disagreement, and a note.
    """
    if len(predictions) != 2:
        return tuple(predictions)
    first, second = predictions
    tables = _with_equal_launches(*_aligned(first.table, second.table))
    if _is_within(first, second):
        tables = _pooled(first, second, tables, same=_is_within(second, first))
    elif _is_within(second, first):
        tables = _pooled(second, first, tables[::-1], same=False)[::-1]
    return tuple(_with_table(step, table) for step, table in zip(predictions, tables, strict=True))


def _with_table(step: Prediction, table: StepTable) -> Prediction:
    """Replace a prediction's table; the anchor's latency is that of its row, if that changes."""
    rows, before = {target.instance: row for row, target in enumerate(table.targets)}, step.latencies_ms
    anchor_ms = step.anchor_latency_ms
    if step.anchor in before and table.latency_ms[rows[step.anchor]] != before[step.anchor]:
        anchor_ms = float(table.latency_ms[rows[step.anchor]])
    return replace(step, table=table, anchor_latency_ms=anchor_ms)


def _aligned(*tables: StepTable) -> Tables:
    """Give the tables the same rows; a target that only one has is that of its GPU and host in the other."""
    targets = tuple(dict.fromkeys(target for table in tables for target in table.targets))
    aligned = []
    for table in tables:
        places = {target: row for row, target in enumerate(table.targets)}
        rows = [places.get(target, places.get(target._replace(instance=""), -1)) for target in targets]
        aligned.append(table if table.targets == targets else replace(table.take(rows), targets=targets))
    return aligned[0], aligned[1]


def _with_equal_launches(first: StepTable, second: StepTable) -> Tables:
    """Both with the mean of their launch overheads on each unprofiled GPU; measured latencies stay as they are."""
    product = first.launch_ms * second.launch_ms
    differ = (product > 0) & (first.launch_ms != second.launch_ms)
    launch_ms = np.sqrt(np.where(differ, product, np.nan))

    def equal(table: StepTable) -> StepTable:
        factor = smooth_max(table.free_ms, launch_ms) / smooth_max(table.free_ms, table.launch_ms)
        measured = np.array([basis.is_exact for basis in table.basis])
        latency_ms = np.where(differ & ~measured, table.latency_ms * factor, table.latency_ms)
        return replace(table, latency_ms=latency_ms, launch_ms=np.where(differ, launch_ms, table.launch_ms))

    return equal(first), equal(second)


def _is_within(prediction: Prediction, other: Prediction) -> bool:
    """Whether neither of its sizes is above the other's; unknown sizes count as equal."""
    pairs = ((prediction.batch_size, other.batch_size), (prediction.pixels, other.pixels))
    return all(ours is None or theirs is None or ours <= theirs for ours, theirs in pairs)


def _pooled(smaller: Prediction, larger: Prediction, tables: Tables, *, same: bool) -> Tables:
    """Give both one latency on targets where the larger is faster; at the `same` size, wherever they differ.

    If only one of them is measured, it stays unchanged.
    """
    low_ms, high_ms = (table.latency_ms for table in tables)
    rows = np.flatnonzero((low_ms > high_ms) | (same & (low_ms < high_ms)))
    known_ms = np.array([low_ms[rows], high_ms[rows]])
    log_sds = np.array([[0.0 if table.basis[row].is_exact else table.log_sd[row] for row in rows] for table in tables])
    weights = _weights(log_sds.reshape(2, -1))
    alone = weights == 1
    latency_ms = np.where(alone.any(axis=0), (known_ms * alone).sum(axis=0), (known_ms**weights).prod(axis=0))
    apart = log_sd_of(np.abs(np.log(known_ms[0] / known_ms[1])) / 2)
    log_sd = combined_sd((weights * np.nan_to_num(log_sds)).sum(axis=0), apart)
    pooled = []
    for changed, table, other, how in zip(~alone, tables, (larger, smaller), ("faster", "slower"), strict=True):
        at = rows[changed].tolist()
        note = Note(Code.COMBINED, size=other.size_words, how=how)
        pooled.append(
            table.with_rows(
                at,
                latency_ms=latency_ms[changed],
                log_sd=np.where(np.isnan(table.log_sd[at]), np.nan, log_sd[changed]),
                free_ms=free_ms(latency_ms[changed], table.launch_ms[at]),
                notes=[(note, *table.notes[row]) for row in at],
            )
        )
    return pooled[0], pooled[1]


def _weights(log_sds: FloatArray) -> FloatArray:
    """Inverse-variance weights with a sum of 1, (2, rows); equal if one is unknown or both are exact."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(log_sds == 0, np.inf, log_sds**-2.0)
        weights = inverse / inverse.sum(axis=0)
    exact = log_sds == 0
    equal = np.isnan(log_sds).any(axis=0) | exact.all(axis=0)
    return np.where(equal, 0.5, np.where(exact.any(axis=0), exact, weights))


def steps_at(
    models: Models, predictions: Sequence[Prediction], *, batch_size: int, pixels: int | None = None
) -> OfferTable:
    """Step of every offer at a batch and pixel size.

    At a known size these are that prediction's rows unchanged (after `joint_predictions`). Elsewhere each latency is
    scaled by the model fitted on the measured networks. Its interval widens with distance, less with two known steps.
    No latency decreases as batch or pixels grow, on any instance.

    Parameters
    ----------
    predictions : from one or two profiles of a network.
    pixels : None: those of the profile.

    Raises
    ------
    InputError : a size is out of range or unknown but needed, or there are not one or two profiles.
    ArtifactError : the models have no scaling model.
    """
    predictions = _checked(predictions)
    size = check_batch(batch_size), _pixels_at(predictions, pixels)
    if len(predictions) == 1 and predictions[0].is_at(*size):
        return predictions[0].predictions
    (table,) = resized(models, predictions, [size])
    return offer_table(table, _offers(predictions))


def curves_at(
    models: Models,
    predictions: Sequence[Prediction],
    axis: str,
    sizes: Sequence[int],
    other_size: int | None = None,
    *,
    instances: Collection[str] | None = None,
) -> list[OfferTable]:
    """Step of offers at each of `sizes`, as `steps_at` gives it; all tables have the same rows.

    Parameters
    ----------
    axis : "batch" or "pixels".
    other_size : size on the other axis; None: that of the profile.
    instances : instances to return; None: all that the predictions have.

    Raises
    ------
    the same as `steps_at`.
    """
    axis_range(axis)
    predictions = _checked(predictions)
    if axis == "batch":
        pixels = _pixels_at(predictions, other_size)
        wanted = [(check_batch(size), pixels) for size in sizes]
    else:
        batch_size = _batch_at(predictions, other_size)
        wanted = [(batch_size, _pixels_at(predictions, size)) for size in sizes]
    offers = [pair for pair in _offers(predictions) if instances is None or pair[0].name in instances]
    return [offer_table(table, offers) for table in resized(models, predictions, wanted)]


def _checked(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """One or two predictions, checked and reconciled: their tables have the same rows."""
    if len(predictions) not in (1, 2):
        raise InputError(f"Scaling needs one or two profiles, not {len(predictions)}.")
    for step in predictions:
        if step.batch_size is not None:
            check_batch(step.batch_size)
        if step.pixels is not None:
            check_pixels(step.pixels)
    if any(step.batch_size is None for step in predictions):
        raise InputError("Give the batch size the profile was recorded at.")
    return joint_predictions(predictions)


def _offers(predictions: Sequence[Prediction]) -> list[tuple[Instance, int]]:
    """Offers of all predictions, each with its row."""
    return list({offer.name: (offer, row) for step in predictions for offer, row in step.offers}.values())


def _pixels_at(predictions: Sequence[Prediction], wanted: int | None) -> int | None:
    """`wanted`, checked; the profiles' pixels if None."""
    recorded = {step.pixels for step in predictions}
    if wanted is None:
        if len(recorded - {None}) > 1:
            raise InputError("The profiles have different pixel sizes: choose one.")
        return next(iter(recorded - {None}), None)
    if None in recorded:
        raise InputError("Give the pixel size the profile was recorded at.")
    pixels, measured = check_pixels(wanted), AXIS_RANGE["pixels"][1]
    if pixels > measured and all((step.pixels or 0) <= measured for step in predictions):
        # How steps grow with larger images follows from one of larger images alone.
        raise InputError(
            f"A profile of images up to {measured} pixels can't be scaled to {pixels}: record one of larger images.",
            "at_pixels",
        )
    return pixels


def _batch_at(predictions: Sequence[Prediction], wanted: int | None) -> int:
    """`wanted`, checked; the profiles' batch size if None."""
    if wanted is not None:
        return check_batch(wanted)
    first, *others = (step.batch_size for step in predictions)
    if first is None or any(size != first for size in others):
        raise InputError("The profiles have different batch sizes: choose one.")
    return first


def resized(
    models: Models, predictions: Sequence[Prediction], wanted: Sequence[tuple[int, int | None]]
) -> list[StepTable]:
    """Return one network's steps at each batch and pixel size, from reconciled predictions.

    At a profile's own size these are its own rows, else scaled ones.
    """
    if models.growth is None:
        raise ArtifactError("The models don't support other sizes: run `profet train --sizes`.")
    sizes = log_sizes([batch for batch, _ in wanted], [_area(size) for _, size in wanted])
    scaled = _scaled(models, models.growth, predictions, sizes)
    sized = []
    recorded = [(step.by_counts, step.table, step.sizes) for step in predictions if step.by_counts is not None]
    at_size = recorded[0][0].sized(recorded) if recorded else None
    for place, size in enumerate(wanted):
        table, profiled = scaled.column(place), next((step for step in predictions if step.is_at(*size)), None)
        if at_size is not None and (profiled is None or len(predictions) > 1):
            table = at_size(table, *size)
        if profiled is not None:
            table = profiled.table if len(predictions) == 1 else table.merged(profiled.table, profiled.table.known)
        sized.append(table)
    return sized


def _scaled(models: Models, growth: GrowthModel, predictions: Sequence[Prediction], sizes: FloatArray) -> StepTable:
    """Scaled steps, (targets, sizes)."""
    tables = [step.table for step in predictions]
    source, scaled = (
        tables[0].merged(tables[-1], ~tables[0].known),
        _scaled_latencies(models, growth, predictions, sizes),
    )
    has_latency, known_log_sd = source.known, np.nan_to_num(source.log_sd)[:, None]
    words = " and ".join(step.size_words for step in predictions)
    scaling = np.sqrt(np.maximum(scaled.log_sd**2 - known_log_sd**2, 0.0))
    shape = scaled.latency_ms.shape
    launch_ms = np.broadcast_to(source.launch_ms[:, None], shape)
    return replace(
        source,
        latency_ms=scaled.latency_ms,
        # A method without intervals has none at other sizes either; a given latency gets one.
        log_sd=np.where((has_latency & ~np.isnan(source.log_sd))[:, None], scaled.log_sd, np.nan),
        basis=tuple(
            Basis.RESIZED if has_latency[row] and not basis.is_rough else basis
            for row, basis in enumerate(source.basis)
        ),
        notes=tuple(
            (Note(Code.SCALED_FROM, sizes=words), *notes) if has_latency[row] else notes
            for row, notes in enumerate(source.notes)
        ),
        relative_log_sd=combined_sd(source.relative_log_sd[:, None], scaling),
        free_ms=free_ms(scaled.latency_ms, launch_ms),
        launch_ms=launch_ms,
        members={},
    )


def _scaled_latencies(
    models: Models, growth: GrowthModel, predictions: Sequence[Prediction], sizes: FloatArray
) -> Estimate:
    """Scaled latencies, (targets, sizes); NaN if unknown."""
    points = [_point(models, growth, step) for step in predictions]
    alone = []
    for point in points:
        away = sizes - point.at
        log_ms = point.log_ms[:, None] + point.growth.log_growth(*away)
        scaling_log_sd = growth.error.log_sd(point.growth.share[:, None], *away)
        log_sd = combined_sd(point.log_sd[:, None], scaling_log_sd)
        alone.append(Estimate(latency_ms=np.exp(log_ms), log_sd=log_sd))
    first, second = points[0], points[-1]
    best = alone[0] if (first.at == second.at).all() else scale_from_two(first, second, growth.error, sizes)
    # A target that only one of the steps is known on.
    for estimate in alone:
        missing = np.isnan(best.latency_ms)
        best = Estimate(
            latency_ms=np.where(missing, estimate.latency_ms, best.latency_ms),
            log_sd=np.where(missing, estimate.log_sd, best.log_sd),
        )
    return best


def _point(models: Models, growth: GrowthModel, step: Prediction) -> KnownPoint:
    # An unprofiled anchor is represented by the instance that its profile was mapped to.
    anchor, table = step.read_by or step.anchor, step.table
    scaling = growth.models.get(anchor)
    if scaling is None:
        raise ArtifactError(f"The models don't support other sizes for profiles of {anchor}: run `profet train`.")
    # If the latency is unknown, scaling is computed from a placeholder and then dropped.
    latency_ms = np.where(table.known, table.latency_ms, 1.0)
    profile, _ = without_input_wait(step.profile, None)
    classes_ms = profile_batch([profile], anchor, None).inputs.classes_ms
    signs = step_signs(load_operation_classes(), np.repeat(classes_ms, len(table.targets), axis=0), latency_ms)
    is_large = (step.pixels or 0) > AXIS_RANGE["pixels"][1]
    same = models.transfer.profiled_gpus
    own = scaling.growth([same.get(target.gpu.name, "") for target in table.targets], signs, is_large=is_large)
    at = log_sizes(step.batch_size or 1, _area(step.pixels))
    return KnownPoint(at, np.log(table.latency_ms), np.nan_to_num(table.log_sd), own)


def _area(pixels: int | None) -> float:
    return 1.0 if pixels is None else float(pixels) ** 2


class ScaleOptions(TypedDict, total=False):
    """Options of a curve.

    method : "profet" for PROFET's documented polynomial; "default" for the more accurate curve (`LearnedScaler`), or
        the polynomial if the models have none.
    context : optional inputs, used by "default". Along "pixels" the curve is for networks whose classes grow with the
        pixels, as in the measurements, unless `fixed_classes` is set.
    """

    method: str
    context: ScaleContext


def scale(
    models: Models,
    instance: str | None,
    axis: str,
    min_ms: float,
    max_ms: float,
    at: int,
    **options: Unpack[ScaleOptions],
) -> ScaledLatency:
    """Latency at size `at`, from the latencies at the axis' smallest and largest size.

    Parameters
    ----------
    instance : a measured one, or None for an unprofiled one: the default curve is then the part shared by all measured
        instances. The documented polynomial needs an instance.
    axis : "batch" (16 to 256 images per step) or "pixels" (32 to 256 per side).
    min_ms, max_ms : step latency at the smallest and at the largest size, milliseconds.
    at : whole number within the axis range.
    options : those of `ScaleOptions`.

    Raises
    ------
    InputError : unknown instance, axis or method, size out of range, or the largest latency is not above the smallest.
    """
    latency_ms = scale_curve(models, instance, axis, min_ms, max_ms, [at], **options)[0]
    return ScaledLatency(instance, axis, int(at), float(latency_ms))


def scale_curve(
    models: Models,
    instance: str | None,
    axis: str,
    min_ms: float,
    max_ms: float,
    sizes: Sequence[int] | None = None,
    **options: Unpack[ScaleOptions],
) -> np.ndarray:
    """Latencies at many sizes (every whole size of the axis if None), milliseconds, shape (sizes,).

    Source of "profet": min-max scaled latency of PROFET's scaler, arXiv:2208.05130. Takes and raises what `scale` does.
    """
    method, context = options.get("method", "default"), options.get("context") or ScaleContext()
    smallest, largest = axis_range(axis)
    if method not in SCALE_METHODS:
        raise InputError(f"Unknown method {method!r}: use {' or '.join(SCALE_METHODS)}.")
    learned = models.learned_scaler(axis) if method == "default" else None
    scaler = learned or models.scaler(instance, axis)
    if learned and instance is not None:
        models.scaler(instance, axis)  # InputError for an unknown instance
    low, high = check_ends(axis, min_ms, max_ms)
    wanted = range(smallest, largest + 1) if sizes is None else [check_size(axis, size) for size in sizes]
    if isinstance(scaler, LearnedScaler):
        # A head with a fixed number of classes scales like the body, as if there were none.
        head_share = None if context.fixed_classes else context.head_share
        context_values = (np.nan if value is None else float(value) for value in (context.other_size, head_share))
        every_size = context.passing(axis, scaler.scaled(instance or "", low, high, *context_values), low, high)
        scaled = every_size[np.fromiter(wanted, int) - smallest]
    else:
        scaled = scaler.scaled(np.fromiter(wanted, float))
    # Adding a share of the span is non-decreasing in the share, unlike a weighted mean, which may round down. Both
    # endpoints are returned exactly as given.
    return np.where(scaled == 1, high, np.minimum(low + scaled * (high - low), high))
