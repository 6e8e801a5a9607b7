"""Rows for the catalogue's instances whose GPU nobody profiled, from what is known of the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.latency import Basis, Interval, RelativeInterval
from profet_core.prediction.records import InstancePrediction, Prediction, prediction_row
from profet_core.prediction.refusals import unknown_log_width
from profet_core.profiles.record import Profile
from profet_core.transfer.reach import Reached, other_host_log_half_width, reach_many
from profet_core.transfer.step import parts_of_profiles

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models
    from profet_core.transfer.model import TransferModel


def reachable(models: Models, catalog: Catalog) -> dict[str, Gpu]:
    """Instances of the catalogue that were not profiled but have a known GPU, and that GPU; derived ones first.

    Empty if these models have no transfer.
    """
    transfer = models.transfer
    if transfer is None:
        return {}
    found = {}
    for name, entry in catalog.items():
        if name not in models.instances:
            try:
                found[name] = transfer.gpus.find(entry.gpu, entry.gpu_memory_gib)
            except InputError:
                continue  # A price without a data sheet: shown in the catalogue only.
    return dict(sorted(found.items(), key=lambda item: transfer.basis_of(item[1])))


def unprofiled_rows(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    predictions: Sequence[Prediction],
    gpus: Mapping[str, Gpu],
    *,
    tf32: bool,
) -> list[tuple[InstancePrediction, ...]]:
    """For each profile one row an instance of `gpus`.

    Parameters
    ----------
    gpus : instance -> its GPU, some of what `reachable` gives.
    predictions : of every measured instance, one a profile, all with the same anchor.
    """
    profiled = {row.gpu: name for name, row in models.transfer.step.instances.items()}
    others = {gpu.name: gpu for gpu in gpus.values() if gpu.name not in profiled}
    reached = _reach(models.transfer, profiles, predictions, list(others.values()), tf32)
    shared = {profiled[gpu.name] for gpu in gpus.values() if gpu.name in profiled}
    host_half = _host_half_widths(models.transfer, profiles, predictions, shared)
    rows = []
    for number, prediction in enumerate(predictions):
        measured = {row.instance: row for row in prediction.predictions}
        rows.append(
            tuple(
                _same_gpu(catalog, name, measured[profiled[gpu.name]], host_half[profiled[gpu.name]][number])
                if gpu.name in profiled
                else _reached(catalog, name, reached[gpu.name], number, unknown_log_width(profiles[number]))
                for name, gpu in gpus.items()
            )
        )
    return rows


def _reach(
    transfer: TransferModel, profiles: Sequence[Profile], predictions: Sequence[Prediction], gpus: list[Gpu], tf32: bool
) -> dict[str, Reached]:
    """Latencies on GPUs that were not profiled, by the GPU's name."""
    anchor = predictions[0].anchor
    columns = zip(*([row for row in found.predictions if row.instance != anchor] for found in predictions), strict=True)
    known = {rows[0].instance: rows for rows in columns}
    return reach_many(
        transfer,
        profiles,
        anchor,
        {name: np.array([row.latency_ms for row in rows]) for name, rows in known.items()},
        {name: np.array([_log_half_width(row) for row in rows]) for name, rows in known.items()},
        gpus,
        anchor_ms=_anchor_ms(predictions),
        tf32=tf32,
    )


def _host_half_widths(
    transfer: TransferModel, profiles: Sequence[Profile], predictions: Sequence[Prediction], instances: set[str]
) -> dict[str, np.ndarray]:
    """What a latency known on each of `instances` may be off by on another host, (profiles,); NaN where it is not."""
    if not instances:
        return {}
    anchor_ms = _anchor_ms(predictions)
    parts = parts_of_profiles(profiles, anchor_ms)
    latency_ms = {
        name: np.array([found.latencies_ms.get(name, math.nan) for found in predictions]) for name in instances
    }
    return {
        name: other_host_log_half_width(transfer.step, parts, predictions[0].anchor, anchor_ms, values)
        for name, values in latency_ms.items()
    }


def _anchor_ms(predictions: Sequence[Prediction]) -> np.ndarray | None:
    """The anchor's latencies, (profiles,), if they were given."""
    given = predictions[0].anchor_latency_ms is not None
    return np.array([found.anchor_latency_ms for found in predictions]) if given else None


def _log_half_width(row: InstancePrediction) -> float:
    return 0.0 if row.interval is None else row.interval.log_half_width


def _reached(catalog: Catalog, instance: str, answer: Reached, number: int, unknown_half: float) -> InstancePrediction:
    latency_ms, interval = answer.of(number)
    relative = RelativeInterval(answer.relative_to, float(answer.relative_log_half_width[number]))
    # The anchor's own latency, which nothing widens, counts here too.
    wide = interval.widened(unknown_half)
    return prediction_row(catalog, instance, latency_ms, {}, answer.basis, wide, answer.note, relative)


def _same_gpu(catalog: Catalog, instance: str, measured: InstancePrediction, host_half: float) -> InstancePrediction:
    """An instance with the GPU of a profiled one takes its latency; its host may launch faster or slower."""
    note = f"latency of {measured.instance}, which has the same GPU"
    row = prediction_row(catalog, instance, measured.latency_ms, {}, Basis.DERIVED, note=note)
    if measured.latency_ms is None:
        return row
    width = math.exp(math.hypot(_log_half_width(measured), host_half))
    return replace(
        row,
        interval=Interval.within_factor(measured.latency_ms, width),
        relative=RelativeInterval(measured.instance, float(host_half)),
    )
