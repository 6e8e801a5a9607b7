"""The stage for custom measurements: latencies that were measured on targets correct those that were predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from profet_core.catalog import Instance
from profet_core.catalog.naming import gpu_words
from profet_core.errors import Code, InputError, Note, OptionalInputError
from profet_core.prediction.table import StepTable
from profet_core.units import format_ms, positive_number
from profet_recorder.profiles.record import ProfileMeta

#: Share of one workload's measured log error that applies to another of the same network: at the same sizes, and if the
#: sizes are unknown. `profet validate` measures the gain.
SHARE_AT_SAME_SIZES, SHARE_WITHOUT_SIZES = 0.9, 0.6
#: Number of batch-size doublings over which the share falls by a factor of e; a pixel doubling counts as this many.
DOUBLINGS_PER_E, PIXEL_FACTOR = 4.0, 1.5
#: A measurement this many times off the prediction is more likely an input error than a model error.
SLIP_FACTOR = 3.0


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


def measured_ratios(
    table: StepTable, offers: Sequence[tuple[Instance, int]], anchor: str, measured_ms: Mapping[str, float]
) -> dict[str, float]:
    """Instance -> measured latency over the predicted one.

    Raises OptionalInputError if an instance is the anchor or was not predicted, or a latency is not a positive number.
    """
    rows = {name: row for name, row in table.rows(offers).items() if name != anchor}
    ratios = {}
    try:
        for name, ms in measured_ms.items():
            if name not in rows or not table.known[rows[name]]:
                others = ", ".join(rows)
                raise InputError(f"A measured latency must be for a predicted target ({others}), not {name!r}.")
            ratios[name] = positive_number(f"The measured latency of {name}", ms) / table.latency_ms.item(rows[name])
    except InputError as error:
        raise OptionalInputError(str(error), "measured") from None
    return ratios


def measurement_notes(
    offers: Sequence[tuple[Instance, int]],
    measured_ms: Mapping[str, float],
    ratios: Mapping[str, float],
    share: float,
) -> list[Note]:
    """Measurements that are far from the prediction, and what each one changes."""
    words = {offer.name: gpu_words(offer) for offer, _ in offers if offer.name in ratios}
    doubts, notes = [], []
    for name, ratio in ratios.items():
        measured, factor = format_ms(measured_ms[name]), ratio**share
        if not 1 / SLIP_FACTOR <= ratio <= SLIP_FACTOR:
            predicted = format_ms(measured_ms[name] / ratio)
            doubts.append(Note(Code.MEASURED_FAR, measured=measured, instance=name, predicted=predicted))
        change = f"{abs(100 * (1 - factor)):.0f}% {'faster' if factor <= 1 else 'slower'}"
        notes.append(Note(Code.CORRECTED, instance=name, gpu=words[name], measured=measured, change=change))
    return doubts + notes


def with_measurements(
    table: StepTable,
    offers: Sequence[tuple[Instance, int]],
    anchor: str,
    factors: Mapping[str, float],
) -> StepTable:
    """Multiply latencies of measured instances, and of others with the GPU of one, by the factor of the first such one.

    The interval is scaled too and keeps its relative width. A measured instance gets a row of its own.
    """
    measured = {name: row for name, row in table.rows(offers).items() if name in factors}
    new = {name: row for name, row in measured.items() if table.targets[row].instance != name}
    targets = (*table.targets, *(table.targets[row]._replace(instance=name) for name, row in new.items()))
    table = replace(table.take([*range(len(table.targets)), *new.values()]), targets=targets)
    by_gpu = {table.targets[measured[name]].gpu: factor for name, factor in reversed(list(factors.items()))}
    changed = {
        row: factors.get(target.instance) or by_gpu[target.gpu]
        for row, target in enumerate(table.targets)
        if target.gpu in by_gpu and target.instance != anchor
    }
    names = {table.targets[row].instance for row in changed}
    # If one of two errors is new, the error of the ratio is unknown.
    relative_to = tuple("" if row in changed or of in names else of for row, of in enumerate(table.relative_to))
    factor = np.array([changed.get(row, 1.0) for row in range(len(table.targets))])
    # The parts determine scaling with size, so they stay in proportion.
    return replace(table, latency_ms=table.latency_ms * factor, relative_to=relative_to)
