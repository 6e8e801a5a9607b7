"""Reconcile contradicting predictions of two steps of one network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from profet_core.latency import combined_sd, join, log_sd_of
from profet_core.messages import Code, Note
from profet_core.prediction.records import InstancePrediction
from profet_core.training.known import KnownStep


def joint_predictions(known: Sequence[KnownStep]) -> tuple[KnownStep, ...]:
    """Return the known steps so that none is faster than one with a smaller batch and no more pixels.

    If an instance is predicted faster at the larger size, both rows get one latency. It is the geometric mean weighted
    by inverse variance (a measured one alone counts), with an interval that covers their disagreement, and a note.
    Everything else stays unchanged, as does a single step.
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
    """Whether neither of its sizes is above the other's; unknown sizes count as equal."""
    pairs = ((one.batch_size, other.batch_size), (one.pixels, other.pixels))
    return all(ours is None or theirs is None or ours <= theirs for ours, theirs in pairs)


def _pooled(
    row: InstancePrediction, step: KnownStep, other: InstancePrediction, other_step: KnownStep
) -> tuple[InstancePrediction, InstancePrediction]:
    """Give both rows one latency; `step` is of the smaller size. If only one is measured, it stays unchanged."""
    log_sds = [_log_sd(one) for one in (row, other)]
    weights = _weights(log_sds)
    alone = next((one for one, weight in zip((row, other), weights, strict=True) if weight == 1), None)
    both = [replace(one, log_sd=log_sd or 0.0) for one, log_sd in zip((row, other), log_sds, strict=True)]
    mean = join(both, weights)
    latency_ms = float(mean.latency_ms) if alone is None or alone.latency_ms is None else alone.latency_ms
    apart = log_sd_of(abs(math.log(_ms(row) / _ms(other))) / 2)
    log_sd = combined_sd(float(mean.log_sd), apart)

    def joined(one: InstancePrediction, weight: float, away: KnownStep, wrongly: str) -> InstancePrediction:
        if weight == 1:
            return one
        return replace(
            one.scaled(latency_ms / _ms(one)).noted(Note.of(Code.COMBINED, size=away.words, how=wrongly)),
            latency_ms=latency_ms,
            log_sd=None if one.log_sd is None else log_sd,
        )

    return joined(row, weights[0], other_step, "faster"), joined(other, weights[1], step, "slower")


def _ms(row: InstancePrediction) -> float:
    return math.nan if row.latency_ms is None else row.latency_ms


def _log_sd(row: InstancePrediction) -> float | None:
    """0 for a measurement, None if unknown."""
    return 0.0 if row.basis.is_exact else row.log_sd


def _weights(log_sds: Sequence[float | None]) -> tuple[float, ...]:
    """Inverse-variance weights with a sum of 1; equal if one is unknown or both are exact."""
    if None in log_sds or all(log_sd == 0 for log_sd in log_sds):
        return tuple(1 / len(log_sds) for _ in log_sds)
    if 0 in log_sds:
        return tuple(float(log_sd == 0) for log_sd in log_sds)
    inverse = [(log_sd or 1.0) ** -2 for log_sd in log_sds]
    return tuple(value / sum(inverse) for value in inverse)


def _with_rows(step: KnownStep, rows: dict[str, InstancePrediction]) -> KnownStep:
    prediction = step.prediction
    predictions = tuple(rows.get(row.instance, row) for row in prediction.predictions)
    anchor = rows.get(prediction.anchor)
    anchor_ms = prediction.anchor_latency_ms if anchor is None else anchor.latency_ms
    return replace(step, prediction=replace(prediction, predictions=predictions, anchor_latency_ms=anchor_ms))
