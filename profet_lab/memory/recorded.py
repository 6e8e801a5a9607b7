"""Fits what recorded peaks tell of other sizes: `profet_core.memory.model.PeakRelation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from profet_core.memory.fit import HELD_COPIES
from profet_core.memory.model import GIB_PER_VALUE, PeakRelation
from profet_lab.memory.law import most_likely

#: The most bytes that the tensors of one step of plain SGD held at once, in blocks of 512 bytes as PyTorch's allocator
#: hands them out: every measured network as `profet_collect` builds it, run on tensors without values
#: (`FakeTensorMode`), each storage counted while it is alive, so that no size needs a GPU. `peak_bytes` counts all
#: tensors; `without_indices_bytes` leaves out the indices that PyTorch's maximum pooling keeps.
PEAKS_FILE = Path(__file__).with_name("step_peaks.csv")
#: The peak that counts: what was measured ran in TensorFlow, which keeps no indices of a pooling.
TENSORFLOW_PEAK = "without_indices_bytes"
#: Batch size at which peaks are recorded: with 4 instead answers were less certain.
RECORDED_BATCH = 16
#: How far a peak at the size that is asked would be from the memory that another GPU needs, where libraries choose
#: their workspace by what is free. Assumed: the cells only tell what a doubling adds.
LOG_SCALE = 0.04
#: Arithmetic without a fit to measurements.
ASSUMED_PEAK = PeakRelation(
    fixed_gib=0.5,
    per_parameter=0.25,
    per_peak=1.0,
    log_scale=0.1,
    log_scale_a_doubling=0.04,
    unsplit_log_scale_a_doubling=0.15,
)
_COEFFICIENTS = ("fixed_gib", "per_parameter", "per_peak")
#: Activations are at the least this share of a peak, as where one is asked.
_SMALLEST_SHARE = 0.01
_NETWORK = ["model", "pixels"]


def step_peaks(path: Path = PEAKS_FILE) -> pd.DataFrame:
    """The table: model, pixels, batch_size, peak_bytes, without_indices_bytes."""
    return pd.read_csv(path)


def recorded_cells(cells: pd.DataFrame, peaks: pd.DataFrame) -> pd.DataFrame:
    """The cells of `memory_cells` with peak_gib, recorded at `RECORDED_BATCH`, and growth, by which their batch is
    larger; those of networks without a peak are left out."""
    recorded = peaks[peaks["batch_size"] == RECORDED_BATCH]
    found = cells.merge(recorded[_NETWORK].assign(peak_gib=recorded[TENSORFLOW_PEAK] / 2**30), on=_NETWORK)
    return found.assign(growth=found["batch_size"] / RECORDED_BATCH)


def fit_peak(cells: pd.DataFrame, peaks: pd.DataFrame) -> PeakRelation:
    """Most likely coefficients near `ASSUMED_PEAK`; uncertainty from held-out architectures."""
    rows = recorded_cells(cells, peaks)
    if rows["model"].nunique() < 3:
        return ASSUMED_PEAK
    relation = _coefficients(rows)
    held_out = {}
    for name in sorted(rows["model"].unique()):
        is_out = rows["model"] == name
        held_out[name] = (_coefficients(rows[~is_out]), rows[is_out])
    return replace(
        relation,
        log_scale=LOG_SCALE,
        log_scale_a_doubling=_scale_a_doubling(held_out, is_split=True),
        unsplit_log_scale_a_doubling=_scale_a_doubling(held_out, is_split=False),
    )


def _coefficients(rows: pd.DataFrame) -> PeakRelation:
    parameters_gib, held, grows = _parts(rows, is_split=True)
    peak = held + grows * rows["growth"].to_numpy(float)
    terms = np.stack([np.ones(len(rows)), parameters_gib, peak], axis=1)
    prior = asdict(ASSUMED_PEAK)
    found = most_likely(terms, rows, [*(prior[name] for name in _COEFFICIENTS), ASSUMED_PEAK.log_scale])
    return replace(ASSUMED_PEAK, **dict(zip(_COEFFICIENTS, found[:-1].tolist(), strict=True)))


def _parts(rows: pd.DataFrame, *, is_split: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, and of the recorded peak what stays and what grows, GiB; unsplit: as if all grew."""
    parameters_gib = rows["parameters"].to_numpy(float) * GIB_PER_VALUE * is_split
    peak = rows["peak_gib"].to_numpy(float)
    grows = np.clip(peak - HELD_COPIES * parameters_gib, _SMALLEST_SHARE * peak, peak)
    return parameters_gib, peak - grows, grows


def _scale_a_doubling(held_out: Mapping[str, tuple[PeakRelation, pd.DataFrame]], *, is_split: bool) -> float:
    """The most likely, by what each relation says of the architecture that it was fitted without."""
    parts = [_room(relation, rows, is_split=is_split) for relation, rows in held_out.values()]
    room, doublings, sign = (np.concatenate(values) for values in zip(*parts, strict=True))

    def loss(log_scale: float) -> float:
        return -log_expit(sign * room / np.hypot(LOG_SCALE, np.exp(log_scale) * doublings)).sum()

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.005), np.log(1.0)), method="bounded").x))


def _room(relation: PeakRelation, rows: pd.DataFrame, *, is_split: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log(memory / needed); how often the recorded activations double until the memory is full; 1 where it ran."""
    parameters_gib, stays, grows = _parts(rows, is_split=is_split)
    memory, growth = rows["memory_gib"].to_numpy(float), rows["growth"].to_numpy(float)
    held = relation.fixed_gib + relation.per_parameter * parameters_gib + relation.per_peak * stays
    activations = relation.per_peak * grows
    spare = memory - held
    doublings = np.where(spare > 0, np.log2(np.maximum(spare, 1e-9) / activations), 0.0)
    return np.log(memory / (held + activations * growth)), doublings, np.where(rows["ran"], 1.0, -1.0)
