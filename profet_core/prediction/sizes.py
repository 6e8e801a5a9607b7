"""One network's steps at any batch and pixel size, from one or two that were profiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.catalog import Instance
from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import ArtifactError, Code, InputError, Note
from profet_core.latency import (
    SMOOTH_MAX_POWER,
    Basis,
    Estimate,
    FloatArray,
    StepTime,
    combined_sd,
    log_sd_of,
    smooth_max,
)
from profet_core.prediction.checks import without_input_wait
from profet_core.prediction.growth import (
    Growth,
    GrowthBySource,
    GrowthModel,
    KnownPoint,
    SizePoint,
    Sizes,
    scale_from_one,
    scale_from_two,
    step_signs,
)
from profet_core.prediction.models import Models
from profet_core.prediction.scaler import LARGEST_PIXELS, axis_range
from profet_core.prediction.table import Prediction, StepTable, offer_rows
from profet_core.units import whole_number
from profet_recorder.profiles.record import Profile

_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


def other_networks(first: Profile, second: Profile) -> tuple[str, ...]:
    """Differences between profiles of any two sizes, one sentence each."""
    same_pixels = None in (first.meta.pixels, second.meta.pixels) or first.meta.pixels == second.meta.pixels
    sizes = {"batch_size", "pixels"}
    return _differences(first, second, sizes if same_pixels else {*sizes, "parameters"})


def _differences(first: Profile, second: Profile, allowed: Collection[str]) -> tuple[str, ...]:
    lines = []
    for name, words in _WORDS.items():
        ours, theirs = getattr(first.meta, name), getattr(second.meta, name)
        if name not in allowed and None not in (ours, theirs) and ours != theirs:
            lines.append(
                f"The two profiles differ in {words} ({ours} and {theirs}): check that they are of the same network."
            )
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class TrainingSteps:
    """Step latencies at one batch size.

    Attributes
    ----------
    step_times : one per instance, each with its basis.
    scaled : whether they are scaled from a profile's size.
    pixels : image height and width; None: unknown.
    """

    batch_size: int
    step_times: tuple[StepTime, ...]
    scaled: bool = False
    pixels: int | None = None

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> milliseconds per step, for all instances with a latency."""
        return {row.instance: row.latency_ms for row in self.step_times if row.latency_ms is not None}


#: Range of sizes that steps can be scaled to and from.
BATCH_SIZES, PIXEL_SIZES = (1, 1024), (16, LARGEST_PIXELS)


@dataclass(frozen=True, slots=True)
class KnownStep:
    """One profiled step.

    Attributes
    ----------
    profile : with the number of steps used for the prediction.
    batch_size, pixels : recorded sizes; None: unknown.
    """

    profile: Profile
    prediction: Prediction
    batch_size: int | None = None
    pixels: int | None = None

    def check(self) -> None:
        """Raise InputError if steps can't be scaled from its size, beyond `BATCH_SIZES` or `PIXEL_SIZES`."""
        if self.batch_size is not None:
            check_batch(self.batch_size)
        if self.pixels is not None:
            check_pixels(self.pixels)

    def is_at(self, batch_size: int, pixels: int | None) -> bool:
        """Whether this is the step at these sizes; pixels None: any pixel size."""
        return self.batch_size == batch_size and (pixels is None or self.pixels == pixels)

    @property
    def sized_profile(self) -> Profile:
        """The profile with its known sizes."""
        meta = replace(self.profile.meta, batch_size=self.batch_size, pixels=self.pixels)
        return replace(self.profile, meta=meta)

    def changed(
        self, table: StepTable, *, offers: tuple[tuple[Instance, int], ...] | None = None, anchor_is_new: bool = False
    ) -> KnownStep:
        """The step with another table; `anchor_is_new`: the anchor's latency is that of its row."""
        prediction = replace(self.prediction, table=table, offers=offers or self.prediction.offers)
        if anchor_is_new:
            prediction = replace(prediction, anchor_latency_ms=prediction.latencies_ms[prediction.anchor])
        return replace(self, prediction=prediction)

    @property
    def words(self) -> str:
        """'batch 64' or 'batch 64, 224 pixels'."""
        pixels = "" if self.pixels is None else f", {self.pixels} pixels"
        return f"batch {self.batch_size}{pixels}"


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


def joint_predictions(known: Sequence[KnownStep]) -> tuple[KnownStep, ...]:
    """Return the known steps with equal launch overhead, none faster than one with a smaller batch and no more pixels.

    Launches belong to the network, so both steps get the geometric mean of their overheads on an unprofiled GPU. If an
    instance is predicted faster at the larger size, both rows get one latency. It is the geometric mean weighted
    by inverse variance (a measured one alone counts), with an interval that covers their disagreement, and a note.
    Everything else stays unchanged, as does a single step.
    """
    if len(known) != 2:
        return tuple(known)
    first, second = _with_equal_launches(*_aligned(*known))
    if _is_within(first, second):
        return _pooled(first, second, same=_is_within(second, first))
    if _is_within(second, first):
        second, first = _pooled(second, first, same=False)
    return first, second


def _aligned(*known: KnownStep) -> tuple[KnownStep, ...]:
    """The steps with tables of the same rows: one for each pair of rows that stand for an offer."""
    rows = [{offer.name: row for offer, row in step.prediction.offers} for step in known]
    names = dict.fromkeys(name for one in rows for name in one)
    pairs = {name: tuple(one.get(name, -1) for one in rows) for name in names}
    number = {pair: row for row, pair in enumerate(dict.fromkeys(pairs.values()))}
    return tuple(
        step.changed(
            step.prediction.table.take([pair[place] for pair in number]),
            offers=tuple((offer, number[pairs[offer.name]]) for offer, _ in step.prediction.offers),
        )
        for place, step in enumerate(known)
    )


def _with_equal_launches(first: KnownStep, second: KnownStep) -> tuple[KnownStep, KnownStep]:
    """Both steps with the mean of their launch overheads on each unprofiled GPU."""
    tables = first.prediction.table, second.prediction.table
    product = tables[0].launch_ms * tables[1].launch_ms
    differ = (product > 0) & (tables[0].launch_ms != tables[1].launch_ms)
    launch_ms = np.sqrt(np.where(differ, product, np.nan))

    def equal(step: KnownStep, table: StepTable) -> KnownStep:
        factor = smooth_max(table.free_ms, launch_ms) / smooth_max(table.free_ms, table.launch_ms)
        latency_ms = np.where(differ, table.latency_ms * factor, table.latency_ms)
        launches_ms = np.where(differ, launch_ms, table.launch_ms)
        return step.changed(replace(table, latency_ms=latency_ms, launch_ms=launches_ms))

    return equal(first, tables[0]), equal(second, tables[1])


def _is_within(one: KnownStep, other: KnownStep) -> bool:
    """Whether neither of its sizes is above the other's; unknown sizes count as equal."""
    pairs = ((one.batch_size, other.batch_size), (one.pixels, other.pixels))
    return all(ours is None or theirs is None or ours <= theirs for ours, theirs in pairs)


def _pooled(smaller: KnownStep, larger: KnownStep, *, same: bool) -> tuple[KnownStep, KnownStep]:
    """Give both one latency on targets where the larger is faster; at the `same` size, wherever they differ.

    If only one of them is measured, it stays unchanged.
    """
    tables = smaller.prediction.table, larger.prediction.table
    low_ms, high_ms = (table.latency_ms for table in tables)
    rows = np.flatnonzero((low_ms > high_ms) | (same & (low_ms < high_ms)))
    known_ms = np.array([low_ms[rows], high_ms[rows]])
    log_sds = np.array([[0.0 if table.basis[row].is_exact else table.log_sd[row] for row in rows] for table in tables])
    weights = _weights(log_sds.reshape(2, -1))
    alone = weights == 1
    latency_ms = np.where(alone.any(axis=0), (known_ms * alone).sum(axis=0), (known_ms**weights).prod(axis=0))
    apart = log_sd_of(np.abs(np.log(known_ms[0] / known_ms[1])) / 2)
    log_sd = combined_sd((weights * np.nan_to_num(log_sds)).sum(axis=0), apart)
    steps = []
    for place, (step, other, how) in enumerate(((smaller, larger, "faster"), (larger, smaller, "slower"))):
        changed, table = ~alone[place], step.prediction.table
        at = rows[changed].tolist()
        note = Note(Code.COMBINED, size=other.words, how=how)
        table = table.with_rows(
            at,
            latency_ms=latency_ms[changed],
            log_sd=np.where(np.isnan(table.log_sd[at]), np.nan, log_sd[changed]),
            free_ms=_free_ms(latency_ms[changed], table.launch_ms[at]),
            notes=[(note, *table.notes[row]) for row in at],
        )
        pooled = {offer.name for offer, row in step.prediction.offers if row in at}
        steps.append(step.changed(table, anchor_is_new=step.prediction.anchor in pooled))
    return steps[0], steps[1]


def _weights(log_sds: FloatArray) -> FloatArray:
    """Inverse-variance weights with a sum of 1, (2, rows); equal if one is unknown or both are exact."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(log_sds == 0, np.inf, log_sds**-2.0)
        found = inverse / inverse.sum(axis=0)
    exact = log_sds == 0
    equal = np.isnan(log_sds).any(axis=0) | exact.all(axis=0)
    return np.where(equal, 0.5, np.where(exact.any(axis=0), exact, found))


def steps_at(
    models: Models, known: Sequence[KnownStep], *, batch_size: int, pixels: int | None = None
) -> TrainingSteps:
    """Step latencies at a batch and pixel size.

    At a known size these are that prediction's rows unchanged (after `joint_predictions`). Elsewhere each latency is
    scaled by the model fitted on the measured networks. Its interval widens with distance, less with two known steps.
    No latency decreases as batch or pixels grow, on any instance.

    Parameters
    ----------
    known : one or two steps of a network.
    pixels : None: those of the known step.

    Raises
    ------
    InputError : a size is out of range or unknown but needed, or there are not one or two steps.
    ArtifactError : the models have no scaling model.
    """
    network = _Network.from_steps(models, known)
    check_batch(batch_size)
    size = batch_size, network.pixels_of(pixels)
    profiled = network.step_at(*size)
    if profiled is not None and len(network.known) == 1:
        return TrainingSteps(batch_size, profiled.prediction.predictions, pixels=size[1])
    (table,) = network.tables([size])
    return TrainingSteps(batch_size, offer_rows(table, network.offers), scaled=profiled is None, pixels=size[1])


def curves_at(
    models: Models,
    known: Sequence[KnownStep],
    axis: str,
    sizes: Sequence[int],
    other_size: int | None = None,
    *,
    instances: Collection[str] | None = None,
) -> Mapping[str, tuple[StepTime, ...]]:
    """Instance -> its step at each of `sizes`, as `steps_at` gives it.

    Parameters
    ----------
    axis : "batch" or "pixels". other_size : size on the other axis; None: that of the known step.
    instances : instances to return; None: all that the steps are known on.

    Raises
    ------
    the same as `steps_at`.
    """
    axis_range(axis)
    network = _Network.from_steps(models, known)
    if axis == "batch":
        pixels = network.pixels_of(other_size)
        wanted = [(check_batch(size), pixels) for size in sizes]
    else:
        batch_size = network.batch_of(other_size)
        wanted = [(batch_size, network.pixels_of(size)) for size in sizes]
    offers = [one for one in network.offers if instances is None or one[0].name in instances]
    rows = [offer_rows(table, offers) for table in network.tables(wanted)]
    return {offer.name: steps for (offer, _), steps in zip(offers, zip(*rows, strict=True), strict=False)}


@dataclass(frozen=True)
class _Network:
    """Known steps of one network, reconciled with each other.

    Attributes
    ----------
    known : their tables have the same rows. offers : of both, each with its row.
    """

    growth: GrowthModel
    known: tuple[KnownStep, ...]
    offers: tuple[tuple[Instance, int], ...]

    @classmethod
    def from_steps(cls, models: Models, known: Sequence[KnownStep]) -> _Network:
        """Check and reconcile one or two steps."""
        if len(known) not in (1, 2):
            raise InputError(f"Scaling needs one or two profiles, not {len(known)}.")
        for step in known:
            step.check()
        if any(step.batch_size is None for step in known):
            raise InputError("Give the batch size the profile was recorded at.")
        if models.growth is None:
            raise ArtifactError("The models don't support other sizes: run `profet train --sizes`.")
        known = joint_predictions(known)
        offers = {offer.name: (offer, row) for step in reversed(known) for offer, row in step.prediction.offers}
        order = dict.fromkeys(offer.name for step in known for offer, _ in step.prediction.offers)
        return cls(models.growth, known, tuple(offers[name] for name in order))

    def pixels_of(self, wanted: int | None) -> int | None:
        """`wanted`, checked; the known steps' pixels if None."""
        recorded = {step.pixels for step in self.known}
        if wanted is None:
            if len(recorded - {None}) > 1:
                raise InputError("The profiles have different pixel sizes: choose one.")
            return next(iter(recorded - {None}), None)
        if None in recorded:
            raise InputError("Give the pixel size the profile was recorded at.")
        return check_pixels(wanted)

    def batch_of(self, wanted: int | None) -> int:
        """`wanted`, checked; the known steps' batch size if None."""
        if wanted is not None:
            return check_batch(wanted)
        first, *others = (step.batch_size for step in self.known)
        if first is None or any(size != first for size in others):
            raise InputError("The profiles have different batch sizes: choose one.")
        return first

    def step_at(self, batch_size: int, pixels: int | None) -> KnownStep | None:
        """The step that is known at exactly this size."""
        return next((step for step in self.known if step.is_at(batch_size, pixels)), None)

    def tables(self, wanted: Sequence[tuple[int, int | None]]) -> list[StepTable]:
        """The steps at each size: a known step's own rows if it has one, else scaled ones."""
        sizes = Sizes(
            np.array([batch for batch, _ in wanted], float), np.array([_area(size) for _, size in wanted], float)
        )
        scaled = self._scaled(sizes)
        found = []
        for place, size in enumerate(wanted):
            table, profiled = scaled.column(place), self.step_at(*size)
            if profiled is not None:
                own = profiled.prediction.table
                table = own if len(self.known) == 1 else table.merged(own, own.known)
            found.append(table)
        return found

    def _scaled(self, sizes: Sizes) -> StepTable:
        """Scaled steps, (targets, sizes)."""
        tables = [step.prediction.table for step in self.known]
        source, scaled = tables[0].merged(tables[-1], ~tables[0].known), self._scaled_latencies(tables, sizes)
        known, known_log_sd = source.known, np.nan_to_num(source.log_sd)[:, None]
        words = " and ".join(step.words for step in self.known)
        scaling = np.sqrt(np.maximum(scaled.log_sd**2 - known_log_sd**2, 0.0))
        shape = scaled.latency_ms.shape
        launch_ms = np.broadcast_to(source.launch_ms[:, None], shape)
        return replace(
            source,
            latency_ms=scaled.latency_ms,
            # A method without intervals has none at other sizes either; a given latency gets one.
            log_sd=np.where((known & ~np.isnan(source.log_sd))[:, None], scaled.log_sd, np.nan),
            basis=tuple(
                Basis.RESIZED if known[row] and not basis.is_rough else basis for row, basis in enumerate(source.basis)
            ),
            notes=tuple(
                (Note(Code.SCALED_FROM, sizes=words), *notes) if known[row] else notes
                for row, notes in enumerate(source.notes)
            ),
            relative_log_sd=combined_sd(source.relative_log_sd[:, None], scaling),
            weights=np.broadcast_to(source.weights[:, :, None], (*source.weights.shape, shape[1])),
            free_ms=_free_ms(scaled.latency_ms, launch_ms),
            launch_ms=launch_ms,
            members={},
        )

    def _scaled_latencies(self, tables: Sequence[StepTable], sizes: Sizes) -> Estimate:
        """Scaled latencies, (targets, sizes); NaN if unknown."""
        points = [_point(self.growth, step, table) for step, table in zip(self.known, tables, strict=True)]
        alone = [scale_from_one(point, self.growth.error, sizes) for point in points]
        first, second = points[0], points[-1]
        if len(points) == 1 or first.at == second.at:
            best = alone[0]
        else:
            best = scale_from_two(first, second, self.growth.error, sizes)
        # A target that only one of the steps is known on.
        for one in alone:
            missing = np.isnan(best.latency_ms)
            best = Estimate(
                latency_ms=np.where(missing, one.latency_ms, best.latency_ms),
                log_sd=np.where(missing, one.log_sd, best.log_sd),
            )
        return best


def _point(growth: GrowthModel, step: KnownStep, table: StepTable) -> KnownPoint:
    # An unprofiled anchor is represented by the instance that its profile was mapped to.
    anchor = step.prediction.read_by or step.prediction.anchor
    scaling = growth.models.get(anchor)
    if scaling is None:
        raise ArtifactError(f"The models don't support other sizes for profiles of {anchor}: run `profet train`.")
    # If the latency is unknown, scaling is computed from a placeholder and then dropped.
    latency_ms = np.where(table.known, table.latency_ms, 1.0)
    profile, _ = without_input_wait(step.profile, None)
    classes_ms = ProfileBatch([profile], anchor, None).inputs.classes_ms
    signs = step_signs(load_operation_classes(), np.repeat(classes_ms, len(table.targets), axis=0), latency_ms)
    own = scaling.growth([target.instance for target in table.targets], signs)
    at = SizePoint(float(step.batch_size or 1), _area(step.pixels))
    return KnownPoint(at, np.log(table.latency_ms), np.nan_to_num(table.log_sd), _growth_by_source(own, table))


def _growth_by_source(own: Growth, table: StepTable) -> GrowthBySource:
    """Unprofiled GPUs scale like the instances they are transferred from, if these are known."""
    rows = {target.instance: row for row, target in enumerate(table.targets) if table.known[row]}
    columns = [column for column, name in enumerate(table.sources) if name in rows]
    parts = table.known & ~np.isnan(table.free_ms)
    weights = np.maximum(table.weights, 0.0)
    found = weights[:, columns]
    follows = parts & (found.sum(axis=1) > 0)
    powers = np.eye(len(table.targets))
    powers[follows] = 0.0
    factor = weights.sum(axis=1)[follows] / found.sum(axis=1)[follows]
    powers[np.ix_(follows, [rows[table.sources[column]] for column in columns])] = found[follows] * factor[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_free, log_launch = np.log(table.free_ms / table.latency_ms), np.log(table.launch_ms / table.latency_ms)
    return GrowthBySource(own, powers, np.where(parts, log_free, 0.0), np.where(parts, log_launch, -np.inf))


def _area(pixels: int | None) -> float:
    return 1.0 if pixels is None else float(pixels) ** 2


def _free_ms(latency_ms: FloatArray, launch_ms: FloatArray) -> FloatArray:
    """The free part of latencies if launches stay constant; NaN without parts."""
    beyond = np.maximum(latency_ms**SMOOTH_MAX_POWER - launch_ms**SMOOTH_MAX_POWER, 0.0)
    found: FloatArray = beyond ** (1 / SMOOTH_MAX_POWER)
    return found
