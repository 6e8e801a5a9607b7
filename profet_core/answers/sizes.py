"""Latency, cost and memory fit along batch or pixel size; latency at a size between two measured ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.answers.advise import AdviseAnswer, node_rows
from profet_core.answers.by_layers import NetworkPrediction
from profet_core.answers.context import Context
from profet_core.answers.predict import NO_BATCH, PredictedTraining, fits_in_training
from profet_core.errors import InputError
from profet_core.latency import StepTime
from profet_core.prediction.scaler import (
    KNOTS,
    ScaleContext,
    ScaledLatency,
    axis_range,
    scale_context,
)
from profet_core.prediction.sizes import curves_at, scale, scale_curve
from profet_core.questions import ScaleQuestion
from profet_core.training.advise import OfferRow
from profet_core.training.memory import FitAnswer, Verdict, does_not_fit
from profet_core.training.plans import Plan, plan_of


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One offer at one size; `fit` is None if its memory is unknown or was not requested."""

    size: int
    plan: Plan
    fit: FitAnswer | None = None


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """One offer at every size; `largest_fit` is the largest sure to fit in memory, 0 for none, None for all."""

    row: OfferRow
    points: tuple[SizePoint, ...]
    largest_fit: int | None


@dataclass(frozen=True, slots=True)
class SizesAnswer:
    """The training at its own size, and along an axis.

    Attributes
    ----------
    rows : the chosen rows of the advice, at the training's size.
    curves : of the drawn rows with a known latency.
    """

    advice: AdviseAnswer
    axis: str
    sizes: tuple[int, ...]
    rows: tuple[SizePoint, ...]
    curves: tuple[SizeCurve, ...]


def answer_sizes(
    context: Context,
    advice: AdviseAnswer,
    axis: str,
    sizes: Sequence[int],
    *,
    choose: Callable[[Sequence[OfferRow]], Iterable[OfferRow]] = list,
    draw: Callable[[Sequence[OfferRow]], Iterable[OfferRow]] = list,
) -> SizesAnswer:
    """Scale an advised training along "batch" or "pixels".

    Parameters
    ----------
    choose : selects the rows of the advice to answer for.
    draw : selects those of them that get a curve.
    """
    axis_range(axis)
    if advice.training.profile.meta.batch_size is None:
        raise InputError(NO_BATCH)
    if axis == "pixels" and advice.training.pixels is None:
        raise InputError("Enter the image size of the profile: {profiled_pixels}.", "profiled_pixels")
    training = advice.training
    rows = sizable(choose(advice.rows))
    drawn = list(draw(rows))
    points = _points(context, advice, axis, drawn, sizes)
    limits = _largest_fits(context, training, axis, drawn)
    curves = [
        SizeCurve(row, tuple(points[row.label]), limits.get(row.offer.name)) for row in drawn if row.label in points
    ]
    own = training.batch_size if axis == "batch" else training.pixels or 0
    found = tuple(SizePoint(own, row.plan, row.fit) for row in rows if row.plan)
    return SizesAnswer(advice, axis, tuple(sizes), found, tuple(curves))


def sizable(rows: Iterable[OfferRow]) -> list[OfferRow]:
    """Rows that have a curve: also an offer whose step doesn't fit at this size, and so has no plan."""
    return [row for row in rows if row.plan is not None or does_not_fit(row.fit)]


def at_largest_batch(context: Context, advice: AdviseAnswer, rows: Iterable[OfferRow]) -> list[SizePoint]:
    """Each offer at its largest batch that fits in the range of sizes; offers that fit no size are omitted."""
    smallest, most = axis_range("batch")
    every = [row for row in sizable(rows) if row.fit and (row.fit.largest_batch or 0) >= smallest]
    largest = {row.label: min(row.fit.largest_batch or 0, most) for row in every if row.fit}
    sizes = sorted(set(largest.values()))
    points = _points(context, advice, "batch", every, sizes)
    fits = {row.label: row.fit for row in every}
    return [replace(found[sizes.index(largest[label])], fit=fits[label]) for label, found in points.items()]


def _points(
    context: Context, advice: AdviseAnswer, axis: str, rows: Sequence[OfferRow], sizes: Sequence[int]
) -> dict[str, list[SizePoint]]:
    """Label of a row -> its point at each size, if the latency is known at all sizes."""
    training, names = advice.training, {row.offer.name for row in rows}
    other = training.pixels if axis == "batch" else training.batch_size
    if isinstance(first := training.prediction, NetworkPrediction):
        each = [first.at(*_size(training, axis, size), names).predictions for size in sizes]
        steps: Mapping[str, tuple[StepTime, ...]] = {same[0].instance: same for same in zip(*each, strict=True)}
    else:
        steps = curves_at(context.models, training.known, axis, sizes, other, instances=names)
    known = {name: found for name, found in steps.items() if all(one.latency_ms is not None for one in found)}
    shown = [row for row in rows if row.offer.name in known]
    points: dict[str, list[SizePoint]] = {row.label: [] for row in shown}
    for place, size in enumerate(sizes):
        at, one_gpu = _size(training, axis, size), [found[place] for found in known.values()]
        every = node_rows(context, advice.question, training, one_gpu, [row.offer for row in shown], at)
        by_name = {step.instance: step for step in every}
        work = replace(advice.advice.workload, batch_size=at[0])
        for row in shown:
            plan = plan_of(work, by_name[row.offer.name], row.offer, advice.advice.limits)
            points[row.label].append(SizePoint(size, plan))
    return points


def _largest_fits(context: Context, training: PredictedTraining, axis: str, rows: Sequence[OfferRow]) -> dict[str, int]:
    """Instance -> `SizeCurve.largest_fit`."""
    if axis == "batch":
        known = {row.offer.name: row.fit.largest_batch or 0 for row in rows if row.fit is not None}
        return {name: batch for name, batch in known.items() if batch < axis_range(axis)[1]}
    found: dict[str, int] = {}
    fitting, instances = 0, [row.offer.name for row in rows]
    for size in KNOTS[axis]:
        for name, fit in fits_in_training(context, training, instances, _size(training, axis, size)).items():
            if name not in found and fit.verdict is not Verdict.FITS:
                found[name] = fitting
        fitting = size
    return found


def _size(training: PredictedTraining, axis: str, size: int) -> tuple[int, int | None]:
    """Batch size and pixels at a size of an axis."""
    return (size, training.pixels) if axis == "batch" else (training.batch_size, size)


def answer_scale(
    context: Context, question: ScaleQuestion, sizes: Sequence[int] = ()
) -> tuple[ScaledLatency, list[float]]:
    """Latency at the requested size, and a curve at `sizes`, milliseconds per step."""
    known = question.instance in context.catalog or bool(context.gpus.named(question.instance))
    # An instance or GPU without measurements uses the curve shared by all measured ones.
    curve_of = context.models.profiled(question.instance) if known else question.instance
    ends = (context.models, curve_of, question.axis, question.min_ms, question.max_ms)
    if question.largest is None:
        known_there = ScaleContext(other_size=question.other_size, fixed_classes=question.fixed_classes)
    else:
        known_there = scale_context(question.axis, question.largest, fixed_classes=question.fixed_classes)
        if question.other_size is not None:
            known_there = replace(known_there, other_size=question.other_size)
    known_there = replace(known_there, known_at=question.known_at, known_ms=question.known_ms)
    scaled = scale(*ends, question.at, method=question.method, context=known_there)
    curve = scale_curve(*ends, list(sizes), method=question.method, context=known_there) if sizes else np.array([])
    return replace(scaled, instance=question.instance), curve.tolist()
