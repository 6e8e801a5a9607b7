"""Step latency at a size between two measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from profet_core.answers.questions import Context
from profet_core.profiles import Profile
from profet_core.sizes.axes import ScaleContext, scale_context
from profet_core.sizes.scaler import ScaledLatency, scale, scale_curve


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleQuestion:
    """Two measured latencies of one network, and the size between them.

    Attributes
    ----------
    instance : an instance, or a GPU by its name.
    axis : "batch" or "pixels". min_ms, max_ms : latency at its smallest and at its largest size.
    method : one of `scaling.scale.SCALE_METHODS`.
    other_size : pixels along batch, batch size along pixels. largest : a profile at the largest size.
    fixed_classes : along pixels, the number of classes stays fixed.
    """

    instance: str
    axis: str
    min_ms: float
    max_ms: float
    at: int
    method: str = "default"
    other_size: int | None = None
    largest: Profile | None = None
    fixed_classes: bool = False


@dataclass(frozen=True, slots=True)
class ScaleAnswer:
    """Latency at the requested size, and at others: milliseconds per step."""

    scaled: ScaledLatency
    sizes: tuple[int, ...]
    curve_ms: tuple[float, ...]


def answer_scale(context: Context, question: ScaleQuestion, sizes: Sequence[int] = ()) -> ScaleAnswer:
    """Scale a latency to the requested size.

    Parameters
    ----------
    sizes : additional sizes for a curve.

    Raises
    ------
    InputError : unknown instance, axis or method, size out of range, or the largest latency is not above the smallest.
    """
    known = question.instance in context.catalog or bool(context.gpus.named(question.instance))
    # An instance or GPU without measurements uses the curve shared by all measured ones.
    curve_of = context.models.profiled(question.instance) if known else question.instance
    ends = (context.models, curve_of, question.axis, question.min_ms, question.max_ms)
    curve_context = _curve_context(question)
    scaled = scale(*ends, question.at, method=question.method, context=curve_context)
    curve = scale_curve(*ends, list(sizes), method=question.method, context=curve_context) if sizes else ()
    return ScaleAnswer(replace(scaled, instance=question.instance), tuple(sizes), tuple(map(float, curve)))


def _curve_context(question: ScaleQuestion) -> ScaleContext:
    """Additional inputs beside both latencies; a given size overrides the profile's."""
    if question.largest is None:
        return ScaleContext(other_size=question.other_size, fixed_classes=question.fixed_classes)
    curve_context = scale_context(question.axis, question.largest, fixed_classes=question.fixed_classes)
    return curve_context if question.other_size is None else replace(curve_context, other_size=question.other_size)
