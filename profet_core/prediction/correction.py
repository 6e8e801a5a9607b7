"""Corrects a prediction by one latency that the user has measured on the target with the same network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from profet_core.catalog import Catalog
from profet_core.cost import cost_usd
from profet_core.errors import InputError
from profet_core.prediction.predict import InstancePrediction, Prediction
from profet_core.profiles.record import ProfileMeta
from profet_core.units import format_ms, positive_number

#: How much of the measured error of one workload is carried to another of the same network: this at the same sizes,
#: fading with the distance in doublings of batch and pixel size. `profet validate` measures what it gains.
WEIGHT, REACH, PIXEL_FACTOR = 0.9, 4.0, 1.5
#: The weight where the sizes are not known.
WEIGHT_WITHOUT_SIZES = 0.6
#: A measurement this many times off the prediction is more likely a slip than an error of the models.
DOUBT_FACTOR = 3.0


def correct_by_measurement(
    prediction: Prediction,
    reference: Prediction,
    measured_ms: Mapping[str, float],
    catalog: Catalog,
    *,
    meta: ProfileMeta,
    reference_meta: ProfileMeta,
) -> Prediction:
    """A prediction whose targets are corrected by measured latencies of the same network.

    latency * (measured / predicted there) ** weight, the weight shrinking with the distance between the two workloads;
    the interval moves along and keeps its relative width.

    Parameters
    ----------
    prediction : what is wanted.
    reference : the prediction for the workload that was measured: `prediction` itself if it is the same one, else that
        of another batch or pixel size of the same network, profiled on the same anchor.
    measured_ms : target -> measured step latency, milliseconds.
    meta, reference_meta : what the two profiles say of their sizes.

    Raises
    ------
    InputError : a measured target that was not predicted, or a latency that is not a positive number.
    """
    weight = WEIGHT if reference is prediction else transfer_weight(meta, reference_meta)
    said = reference.latencies_ms
    factors = {}
    doubts = []
    for target, value in measured_ms.items():
        if target == prediction.anchor or target not in prediction.latencies_ms or target not in said:
            others = ", ".join(row.instance for row in prediction.predictions if row.instance != prediction.anchor)
            raise InputError(f"A measured latency must be of a predicted target ({others}), not {target!r}.")
        error = positive_number(f"The measured latency of {target}", value) / said[target]
        factors[target] = error**weight
        if not 1 / DOUBT_FACTOR <= error <= DOUBT_FACTOR:
            doubts.append(
                f"{format_ms(value)} on {target} is far from the {format_ms(said[target])} predicted there: is it "
                "milliseconds per step, and of the same network?"
            )
    rows = tuple(
        _corrected(_unrelated(row, factors), factors.get(row.instance), catalog) for row in prediction.predictions
    )
    notes = tuple(
        f"{target} was corrected by {100 * (factor - 1):+.1f} %, from the latency you measured there."
        for target, factor in factors.items()
    )
    return replace(prediction, predictions=rows, warnings=(*prediction.warnings, *doubts, *notes))


def transfer_weight(meta: ProfileMeta, reference_meta: ProfileMeta) -> float:
    """Share of a measured log error that is carried over to another workload of the same network, 0 to 1."""
    sizes = (meta.batch_size, reference_meta.batch_size, meta.pixels, reference_meta.pixels)
    if None in sizes:
        return WEIGHT_WITHOUT_SIZES
    doublings = abs(math.log2(sizes[0] / sizes[1])) + PIXEL_FACTOR * abs(math.log2(sizes[2] / sizes[3]))
    return WEIGHT * math.exp(-doublings / REACH)


def _unrelated(row: InstancePrediction, factors: Mapping[str, float]) -> InstancePrediction:
    """The row without the interval of its ratio to another, if either of the two is corrected: their errors are new."""
    if row.relative and (row.instance in factors or row.relative.instance in factors):
        return replace(row, relative=None)
    return row


def _corrected(row: InstancePrediction, factor: float | None, catalog: Catalog) -> InstancePrediction:
    if factor is None or row.latency_ms is None:
        return row
    latency_ms = row.latency_ms * factor
    return replace(
        row,
        latency_ms=latency_ms,
        interval=row.interval and row.interval.scaled(factor),
        cost_per_1000_steps_usd=cost_usd(1000 * latency_ms, catalog[row.instance].usd_per_hour),
    )
