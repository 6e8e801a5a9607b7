"""Correct a prediction by a latency measured on the target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from profet_core.catalog.naming import gpu_words
from profet_core.errors import Code, InputError, Note
from profet_core.prediction.table import Prediction
from profet_core.units import format_ms, positive_number
from profet_recorder.profiles.record import ProfileMeta

#: Share of one workload's measured log error that applies to another of the same network: at the same sizes, and if the
#: sizes are unknown. `profet validate` measures the gain.
SHARE_AT_SAME_SIZES, SHARE_WITHOUT_SIZES = 0.9, 0.6
#: Number of batch-size doublings over which the share falls by a factor of e; a pixel doubling counts as this many.
DOUBLINGS_PER_E, PIXEL_FACTOR = 4.0, 1.5
#: A measurement this many times off the prediction is more likely an input error than a model error.
SLIP_FACTOR = 3.0


def correct_by_measurement(
    prediction: Prediction,
    reference: Prediction,
    measured_ms: Mapping[str, float],
    same_gpu: Mapping[str, str] | None = None,
) -> Prediction:
    """Correct targets of a prediction by measured latencies of the same network.

    latency * (measured / predicted there) ** share; the share decreases with the distance between the two workloads.
    The interval is scaled too and keeps its relative width.

    Parameters
    ----------
    prediction : the prediction to correct.
    reference : the prediction for the measured workload: `prediction` itself if it is the same one, else that of
        another batch or pixel size of the same network, profiled on the same anchor.
    measured_ms : target -> measured step latency, milliseconds.
    same_gpu : other target -> the measured target with the same GPU, whose error corrects it too.

    Raises
    ------
    InputError : a measured target was not predicted, or a latency is not a positive number.
    """
    share = (
        SHARE_AT_SAME_SIZES
        if reference is prediction
        else share_transferred(prediction.profile.meta, reference.profile.meta)
    )
    errors = {target: _error(prediction, reference, target, value) for target, value in measured_ms.items()}
    factors = {target: error**share for target, error in errors.items()}
    doubts = tuple(
        Note(
            Code.MEASURED_FAR,
            measured=format_ms(measured_ms[target]),
            instance=target,
            predicted=format_ms(reference.latencies_ms[target]),
        )
        for target, error in errors.items()
        if not 1 / SLIP_FACTOR <= error <= SLIP_FACTOR
    )
    gpus = {row.instance: gpu_words(row.offer) for row in prediction.predictions}
    notes = tuple(
        Note(
            Code.CORRECTED,
            instance=target,
            gpu=gpus[target],
            measured=format_ms(measured_ms[target]),
            change=f"{abs(100 * (1 - factor)):.0f}% {'faster' if factor <= 1 else 'slower'}",
        )
        for target, factor in factors.items()
    )
    factors |= {other: factors[target] for other, target in (same_gpu or {}).items()}
    return replace(_corrected(prediction, factors), warnings=(*prediction.warnings, *doubts, *notes))


def share_transferred(meta: ProfileMeta, reference_meta: ProfileMeta) -> float:
    """Share of a measured log error that applies to another workload of the same network, 0 to 1.

    >>> share_transferred(ProfileMeta(batch_size=64, pixels=128), ProfileMeta(batch_size=64, pixels=128))
    0.9
    """
    batch = _doublings(meta.batch_size, reference_meta.batch_size)
    pixels = _doublings(meta.pixels, reference_meta.pixels)
    if batch is None or pixels is None:
        return SHARE_WITHOUT_SIZES
    return SHARE_AT_SAME_SIZES * math.exp(-(batch + PIXEL_FACTOR * pixels) / DOUBLINGS_PER_E)


def _doublings(size: int | None, other: int | None) -> float | None:
    return None if size is None or other is None else abs(math.log2(size / other))


def _error(prediction: Prediction, reference: Prediction, target: str, measured_ms: float) -> float:
    """Ratio of measured to predicted latency."""
    predicted_ms = reference.latencies_ms
    if target == prediction.anchor or target not in prediction.latencies_ms or target not in predicted_ms:
        others = ", ".join(row.instance for row in prediction.predictions if row.instance != prediction.anchor)
        raise InputError(f"A measured latency must be for a predicted target ({others}), not {target!r}.")
    return positive_number(f"The measured latency of {target}", measured_ms) / predicted_ms[target]


def _corrected(prediction: Prediction, factors: Mapping[str, float]) -> Prediction:
    """Multiply latencies of instances by a factor each."""
    # An instance that shares its target with others gets a row of its own.
    pairs = [(row, factors.get(offer.name)) for offer, row in prediction.offers]
    number = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
    table = prediction.table.take([row for row, _ in number])
    # If one of two errors is new, the error of the ratio is unknown.
    relative_to = tuple(
        "" if factor is not None or other in factors else other
        for (_, factor), other in zip(number, table.relative_to, strict=True)
    )
    factor = np.array([1.0 if factor is None else factor for _, factor in number])
    # The parts determine scaling with size, so they stay in proportion.
    table = replace(table, latency_ms=table.latency_ms * factor, relative_to=relative_to)
    offers = tuple((offer, number[pair]) for (offer, _), pair in zip(prediction.offers, pairs, strict=True))
    return replace(prediction, table=table, offers=offers)
