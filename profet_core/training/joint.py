"""Two steps of one network whose predictions contradict each other, made to agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from profet_core.latency import Interval
from profet_core.prediction.records import InstancePrediction
from profet_core.training.known import KnownStep


def joint_predictions(known: Sequence[KnownStep]) -> tuple[KnownStep, ...]:
    """The known steps, none faster than one of them with a smaller batch and no more pixels.

    Where an instance is predicted faster at the larger size, both take one latency: the mean of the logarithms, each
    weighted by the inverse square of its interval's width (a measured one counts alone), with an interval that covers
    their disagreement, and a note. Everything else stays as it is; so does a single step.
    """
    if len(known) != 2:
        return tuple(known)
    first, second = known
    smaller, larger = (second, first) if _is_within(second, first) and not _is_within(first, second) else known
    if not _is_within(smaller, larger):
        return first, second
    same = _is_within(larger, smaller)
    rows = {row.instance: row for row in larger.prediction.predictions}
    pooled: dict[str, tuple[InstancePrediction, InstancePrediction]] = {}
    for row in smaller.prediction.predictions:
        other = rows.get(row.instance)
        if other is None or row.latency_ms is None or other.latency_ms is None:
            continue
        if row.latency_ms > other.latency_ms or (same and row.latency_ms != other.latency_ms):
            pooled[row.instance] = _pooled(row, smaller, other, larger)
    if not pooled:
        return first, second
    changed = {
        id(step): _with_rows(step, {name: both[place] for name, both in pooled.items()})
        for place, step in enumerate((smaller, larger))
    }
    return changed[id(first)], changed[id(second)]


def _is_within(one: KnownStep, other: KnownStep) -> bool:
    """Neither of its sizes is above the other's; sizes that are not known are the same."""
    pairs = ((one.batch_size, other.batch_size), (one.pixels, other.pixels))
    return all(ours is None or theirs is None or ours <= theirs for ours, theirs in pairs)


def _pooled(
    row: InstancePrediction, step: KnownStep, other: InstancePrediction, other_step: KnownStep
) -> tuple[InstancePrediction, InstancePrediction]:
    """Both rows at one latency; `step` is of the smaller size. What alone was measured stays as it is."""
    halves = [_half_width(one) for one in (row, other)]
    weights = _weights(halves)
    logs = [math.log(one.latency_ms) if one.latency_ms is not None else math.nan for one in (row, other)]
    alone = next((one for one, weight in zip((row, other), weights, strict=True) if weight == 1), None)
    mean_ms = math.exp(sum(weight * log for weight, log in zip(weights, logs, strict=True)))
    latency_ms = mean_ms if alone is None or alone.latency_ms is None else alone.latency_ms
    known_half = sum(weight * (half or 0.0) for weight, half in zip(weights, halves, strict=True))
    half = math.hypot(known_half, abs(logs[0] - logs[1]) / 2)

    def joined(one: InstancePrediction, weight: float, away: KnownStep, wrongly: str) -> InstancePrediction:
        if weight == 1:
            return one
        return replace(
            one,
            latency_ms=latency_ms,
            reach=one.reach and one.reach.scaled(latency_ms / (one.latency_ms or latency_ms)),
            interval=None if one.interval is None else Interval.around(latency_ms, half),
            note="; ".join(filter(None, (f"combined with {away.words}, which was predicted {wrongly}", one.note))),
        )

    return joined(row, weights[0], other_step, "faster"), joined(other, weights[1], step, "slower")


def _half_width(row: InstancePrediction) -> float | None:
    """Of the interval, in the logarithm; 0 for what was measured, None where nothing is known."""
    if row.basis.is_exact:
        return 0.0
    return None if row.interval is None else row.interval.log_half_width


def _weights(halves: Sequence[float | None]) -> tuple[float, ...]:
    """Inverse squares, to a sum of 1; equal ones where one is not known or both are exact."""
    if None in halves or all(half == 0 for half in halves):
        return tuple(1 / len(halves) for _ in halves)
    if 0 in halves:
        return tuple(float(half == 0) for half in halves)
    inverse = [(half or 1.0) ** -2 for half in halves]
    return tuple(value / sum(inverse) for value in inverse)


def _with_rows(step: KnownStep, rows: dict[str, InstancePrediction]) -> KnownStep:
    prediction = step.prediction
    predictions = tuple(rows.get(row.instance, row) for row in prediction.predictions)
    anchor = rows.get(prediction.anchor)
    anchor_ms = prediction.anchor_latency_ms if anchor is None else anchor.latency_ms
    return replace(step, prediction=replace(prediction, predictions=predictions, anchor_latency_ms=anchor_ms))
