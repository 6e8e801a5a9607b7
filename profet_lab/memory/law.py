"""Fit the memory model to which workloads ran: the coefficients of `profet_core.memory.model.MemoryLaw`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit

from profet_core.catalog import Catalog
from profet_core.memory.model import GIB_PER_VALUE, MemoryLaw
from profet_lab.held_out import held_out
from profet_lab.measurements.tables import WORKLOAD


def layer_values(architectures: pd.DataFrame) -> pd.DataFrame:
    """Columns model, pixels, parameters, and output values of an image's layers: convolution_values,
    other_values."""
    return architectures[["model", "pixels", "parameters"]].assign(
        convolution_values=architectures["act_elems"] - architectures["other_elems"],
        other_values=architectures["other_elems"],
    )


def memory_cells(all_latencies: pd.DataFrame, architectures: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """One row a buildable workload and instance.

    Columns: instance, memory_gib (of its GPU, as the name says), model, pixels, batch_size, parameters,
    convolution_values and other_values (outputs of one image's layers), and `ran`: some repeat was recorded.
    """
    batches = pd.DataFrame({"batch_size": sorted(all_latencies["batch_size"].unique())})
    instances = sorted(all_latencies["instance"].unique())
    memory = pd.DataFrame({"instance": instances, "memory_gib": [catalog[name].gpu_memory_gib for name in instances]})
    cells = memory.merge(layer_values(architectures), how="cross").merge(batches, how="cross")
    seen = all_latencies[["instance", *WORKLOAD]].drop_duplicates().assign(ran=True)
    cells = cells.merge(seen, on=["instance", *WORKLOAD], how="left")
    return cells.assign(ran=cells["ran"].eq(True))


def ran_elsewhere(cells: pd.DataFrame) -> tuple[int, int]:
    """(workloads that ran on one GPU and did not on another with as much memory, pairs looked at)."""
    ran = cells.pivot(index=WORKLOAD, columns="instance", values="ran")
    memory = cells.groupby("instance")["memory_gib"].first()
    failures = pairs = 0
    for one in ran.columns:
        for other in ran.columns:
            if one != other and memory[other] >= memory[one]:
                pairs += int(ran[one].sum())
                failures += int((ran[one] & ~ran[other]).sum())
    return failures, pairs


#: Arithmetic of a plain training step, which the fit starts from and is drawn to: context and workspace 0.5 GiB;
#: weights, gradients and a temporary copy; every convolution's output once; of normalization, activation and addition,
#: which can work in place, half.
PRIOR = MemoryLaw(fixed_gib=0.5, per_parameter=3.0, per_convolution=1.0, per_other=0.5, log_scale=0.1)
#: Weight of the prior: a factor e of one coefficient costs as much as this many badly predicted cells.
PRIOR_WEIGHT = 1.0
_COEFFICIENTS = ("fixed_gib", "per_parameter", "per_convolution", "per_other")


def law_terms(cells: pd.DataFrame) -> np.ndarray:
    """What each coefficient is multiplied with, GiB, shape (cells, 4)."""
    batch = cells["batch_size"].to_numpy(float) * GIB_PER_VALUE
    return np.stack(
        [
            np.ones(len(cells)),
            cells["parameters"].to_numpy(float) * GIB_PER_VALUE,
            cells["convolution_values"].to_numpy(float) * batch,
            cells["other_values"].to_numpy(float) * batch,
        ],
        axis=1,
    )


def log_room(law: MemoryLaw, cells: pd.DataFrame) -> np.ndarray:
    """log(memory / needed) of each cell: above 0 it should fit."""
    coefficients = np.array([getattr(law, name) for name in _COEFFICIENTS])
    return np.log(cells["memory_gib"].to_numpy(float)) - np.log(law_terms(cells) @ coefficients)


def fit_law(cells: pd.DataFrame) -> MemoryLaw:
    """Most likely coefficients given what ran, with positive coefficients near `PRIOR`.

    The probability that a cell ran is logistic in `log_room` over `log_scale`, which is then the fitted cells' own: for
    new architectures `calibrate_law` widens it.
    """
    prior = [*(getattr(PRIOR, name) for name in _COEFFICIENTS), PRIOR.log_scale]
    found = most_likely(law_terms(cells), cells, prior)
    return MemoryLaw(**dict(zip((*_COEFFICIENTS, "log_scale"), found.tolist(), strict=True)))


def most_likely(terms: np.ndarray, cells: pd.DataFrame, prior: Sequence[float]) -> np.ndarray:
    """Positive coefficients of `terms`, shape (cells, coefficients), and last the logistic scale, near `prior`."""
    log_memory, sign = np.log(cells["memory_gib"].to_numpy(float)), np.where(cells["ran"], 1.0, -1.0)
    centre = np.log(prior)

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients, scale = np.exp(logs[:-1]), np.exp(logs[-1])
        needed = terms @ coefficients
        room = (log_memory - np.log(needed)) / scale
        pull = expit(-sign * room) * sign
        gradient = np.append((pull / needed / scale) @ terms * coefficients, pull @ room)
        distance = logs - centre
        return PRIOR_WEIGHT * distance @ distance - log_expit(sign * room).sum(), gradient + 2 * PRIOR_WEIGHT * distance

    return np.exp(minimize(loss, centre, jac=True, method="L-BFGS-B").x)


def held_out_log_room(cells: pd.DataFrame) -> np.ndarray:
    """`log_room` of each cell by the memory model fitted without its architecture."""
    return held_out(cells, cells["model"].to_numpy(str), lambda others, out: log_room(fit_law(others), out))


def calibrate_law(law: MemoryLaw, cells: pd.DataFrame) -> MemoryLaw:
    """The memory model with the `log_scale` that makes held-out architectures most likely."""
    room, sign = held_out_log_room(cells), np.where(cells["ran"], 1.0, -1.0)

    def loss(log_scale: float) -> float:
        return -log_expit(sign * room / np.exp(log_scale)).sum()

    best = minimize_scalar(loss, bounds=(np.log(0.005), np.log(1.0)), method="bounded").x
    return replace(law, log_scale=float(np.exp(best)))
