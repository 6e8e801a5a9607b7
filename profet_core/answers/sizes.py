"""Latency, cost and memory fit along batch or pixel size; latency at a size between two measured ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.answers.advise import AdviseAnswer, node_rows
from profet_core.answers.context import Context
from profet_core.answers.document import Document
from profet_core.answers.predict import NO_BATCH, PredictedTraining, fits_in_training, steps_along
from profet_core.errors import InputError
from profet_core.prediction.scaler import KNOTS, ScaleContext, ScaledLatency, axis_range, scale_context
from profet_core.prediction.sizes import scale, scale_curve
from profet_core.questions import ScaleQuestion
from profet_core.training.memory import Verdict, does_not_fit
from profet_core.training.plans import CostTable, Plan, costed


class SizeCurve(Struct, frozen=True):
    """One offer at every size; `largest_fit` is the largest sure to fit in memory, 0 for none, None for all."""

    row: Plan
    points: tuple[Plan, ...]
    largest_fit: int | None


class SizesAnswer(Struct, frozen=True):
    """The training at its own size, and along an axis.

    Attributes
    ----------
    rows : the chosen rows of the advice with a number, at the training's size.
    curves : of the drawn rows with a known latency.
    """

    advice: AdviseAnswer
    axis: str
    sizes: tuple[int, ...]
    rows: tuple[Plan, ...]
    curves: tuple[SizeCurve, ...]


def answer_sizes(
    context: Context,
    advice: AdviseAnswer,
    axis: str,
    sizes: Sequence[int],
    *,
    choose: Callable[[Sequence[Plan]], Iterable[Plan]] = list,
    draw: Callable[[Sequence[Plan]], Iterable[Plan]] = list,
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
    tables = _tables(context, advice, axis, drawn, sizes)
    limits = _largest_fits(context, training, axis, drawn)
    curves = [
        SizeCurve(row, tuple(table[place] for table in tables), limits.get(row.instance))
        for place, row in enumerate(drawn)
        if all(table[place].has_number for table in tables)
    ]
    answered = tuple(row for row in rows if row.has_number)
    return SizesAnswer(advice, axis, tuple(sizes), answered, tuple(curves))


def sizable(rows: Iterable[Plan]) -> list[Plan]:
    """Rows that have a curve: also an offer whose step doesn't fit at this size, and so has no number."""
    return [row for row in rows if row.has_number or does_not_fit(row.fit)]


def at_largest_batch(context: Context, advice: AdviseAnswer, rows: Iterable[Plan]) -> list[Plan]:
    """Each offer at its largest batch that fits in the range of sizes; offers that fit no size are omitted."""
    smallest, most = axis_range("batch")
    every = [row for row in sizable(rows) if row.fit and (row.fit.largest_batch or 0) >= smallest]
    largest = [min(row.fit.largest_batch or 0, most) for row in every if row.fit]
    sizes = sorted(set(largest))
    tables = _tables(context, advice, "batch", every, sizes)
    plans = [tables[sizes.index(size)][place] for place, size in enumerate(largest)]
    return [plan for plan in plans if plan.has_number]


def _tables(
    context: Context, advice: AdviseAnswer, axis: str, rows: Sequence[Plan], sizes: Sequence[int]
) -> list[CostTable]:
    """Cost the training on these rows' offers at each size; a latency that is not known is the reason for no plan."""
    training, names = advice.training, {row.instance for row in rows}
    other = training.pixels if axis == "batch" else training.batch_size
    tables, offers = [], [row.offer for row in rows]
    curves = steps_along(context, training, axis, sizes, other, names)
    for size, one_gpu in zip(sizes, curves, strict=True):
        at = _size(training, axis, size)
        steps = node_rows(context, advice.question, training, one_gpu, offers, at)
        numbers, latencies_ms = steps.numbers, steps.latencies_ms
        table = costed(
            replace(advice.advice.workload, batch_size=at[0]),
            steps.take([numbers.get(offer.name, -1) for offer in offers], offers),
            advice.advice.limits,
            fits=[row.fit for row in rows],
            reasons=["" if offer.name in latencies_ms else "no latency" for offer in offers],
            anchor=advice.advice.table.anchor,
        )
        tables.append(table)
    return tables


def _largest_fits(context: Context, training: PredictedTraining, axis: str, rows: Sequence[Plan]) -> dict[str, int]:
    """Instance -> `SizeCurve.largest_fit`."""
    if axis == "batch":
        batches = {row.offer.name: row.fit.largest_batch or 0 for row in rows if row.fit is not None}
        return {name: batch for name, batch in batches.items() if batch < axis_range(axis)[1]}
    largest: dict[str, int] = {}
    fitting, instances = 0, [row.offer.name for row in rows]
    for size in KNOTS[axis]:
        for name, fit in fits_in_training(context, training, instances, _size(training, axis, size)).items():
            if name not in largest and fit.verdict is not Verdict.FITS:
                largest[name] = fitting
        fitting = size
    return largest


def _size(training: PredictedTraining, axis: str, size: int) -> tuple[int, int | None]:
    """Batch size and pixels at a size of an axis."""
    return (size, training.pixels) if axis == "batch" else (training.batch_size, size)


def answer_scale(
    context: Context, question: ScaleQuestion, sizes: Sequence[int] = ()
) -> tuple[ScaledLatency, list[float]]:
    """Latency at the requested size, and a curve at `sizes`, milliseconds per step."""
    is_known = question.instance in context.catalog or bool(context.gpus.named(question.instance))
    # An instance or GPU without measurements uses the curve shared by all measured ones; documented ones share none.
    curve_of = context.models.profiled(question.instance) if is_known else question.instance
    if question.method == "profet":
        curve_of = curve_of or question.instance
        for name in ("other_size", "largest", "fixed_classes", "known_at"):
            if getattr(question, name):
                says = f"The documented polynomial can't use {{{name}}}: leave it out or change {{method}}."
                raise InputError(says, name, "method")
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


class ScaleDocument(Document, frozen=True):
    """The latency of `answer_scale` as JSON."""

    instance: str
    axis: str
    at: int
    latency_ms: float

    @classmethod
    def of(cls, record: tuple[ScaledLatency, Sequence[float]]) -> Self:
        """Write an answer."""
        return super().of(record[0])
