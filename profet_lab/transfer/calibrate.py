"""Calibrate the analytical model of a GPU on a few measured workloads, and choose these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from profet_core.transfer.steps import KnownSteps, StepsThere, transfer_steps
from scipy.optimize import least_squares

from profet_core.latency import Estimate
from profet_core.transfer.model import NOISE_LOG_SD, CalibratedGpu, Correction, correction_inputs, covariance
from profet_core.transfer.targets import Target
from profet_lab.transfer.step_model import BENCHMARK, InstanceSteps

#: Prior errors of a GPU's speed, its bandwidth-bound speed, and a network's latency; standard
#: deviations of the logarithm. Chosen, not fitted.
SPEED_LOG_SD, BANDWIDTH_LOG_SD, NETWORK_LOG_SD = 0.40, 0.25, 0.10
#: Error of a new network's step before any cell (GPUs held out, one cell). It counts as so many cells.
PRIOR_LOG_SD, PRIOR_CELLS = 0.14, 8.0
#: The farthest start of the search.
_MAX_LOG_SPEED = 1.5
#: An input that hardly varies counts as one that varies by this.
_MIN_SCALE = 1e-3


class MeasuredCells(Struct, frozen=True):
    """Workloads that were measured on a GPU.

    rows : of the steps that profiled instances are known by, (cells,).
    latency_ms : on the GPU, (cells,).
    networks : name of each cell's, (cells,).
    """

    rows: np.ndarray
    latency_ms: np.ndarray
    networks: np.ndarray


class Calibrated(Struct, frozen=True):
    """A fit: the target with its speeds, a correction an anchor, and the spread of new networks."""

    target: Target
    corrections: Mapping[str, Correction]
    log_sd: float

    def served(self, known: KnownSteps, reference: str) -> Estimate:
        """Latencies on the GPU with their intervals, as serving gives them, (profiles,)."""
        found = transfer_steps(known, reference, [self.target])
        ms = found.latency_ms[0]
        factors = self.corrections[known.anchor].log_factors(_inputs(known, found))
        return Estimate(latency_ms=ms * np.exp(factors), log_sd=found.log_sd[0])


def calibrate(known: Mapping[str, KnownSteps], reference: str, prior: Target, cells: MeasuredCells) -> Calibrated:
    """Fit a GPU's speeds and corrections to its cells.

    known : anchor -> all steps that could be cells, their latencies on profiled instances measured. Inputs are
        scaled by how they vary over these.
    prior : the GPU by its specs.
    """
    logs = np.log(cells.latency_ms)
    own = {name: steps_of(one, cells.rows) for name, one in known.items()}
    target = _fit_speeds(own, reference, prior, logs)
    corrections, errors = {}, []
    for name, one in own.items():
        everything = _inputs(known[name], transfer_steps(known[name], reference, [prior]))
        found = transfer_steps(one, reference, [target])
        left = logs - np.log(found.latency_ms[0])
        correction, unseen = _fit_correction(_inputs(one, found), left, everything.std(axis=0), cells.networks)
        corrections[name] = correction
        errors.append(unseen)
    log_sd = _log_sd(np.array(errors))
    return Calibrated(replace(target, log_sd=log_sd), corrections, log_sd)


def calibrated_gpu(found: Calibrated, cells: MeasuredCells, *, gpu: str, instance: str, tf32: bool) -> CalibratedGpu:
    """The fit as `transfer.json` holds it."""
    return CalibratedGpu(
        gpu=gpu,
        instance=instance,
        tf32=tf32,
        cells=len(cells.rows),
        networks=len(np.unique(cells.networks)),
        compute=found.target.compute,
        bandwidth=found.target.bandwidth,
        log_sd=found.log_sd,
        corrections=found.corrections,
    )


def steps_of(known: KnownSteps, rows: np.ndarray) -> KnownSteps:
    """What is known of some of the steps."""
    return replace(
        known,
        parts=known.parts.of(rows),
        latencies={
            name: Estimate(latency_ms=one.latency_ms[rows], log_sd=one.log_sd[rows])
            for name, one in known.latencies.items()
        },
        floor_ms=known.floor_ms[rows],
        work_ms={name: values[rows] for name, values in known.work_ms.items()},
    )


def _inputs(known: KnownSteps, found: StepsThere) -> np.ndarray:
    return correction_inputs(known, found.free_ms[0], found.launch_ms[0], found.latency_ms[0])


def _fit_speeds(own: Mapping[str, KnownSteps], reference: str, prior: Target, logs: np.ndarray) -> Target:
    """The most likely speeds, all anchors counting as one cell each time."""

    def at(away: np.ndarray) -> Target:
        faster, bandwidth = away
        return replace(prior, compute=prior.compute + faster, bandwidth=prior.bandwidth + faster + bandwidth)

    def missed(target: Target) -> list[np.ndarray]:
        return [np.log(transfer_steps(one, reference, [target]).latency_ms[0]) - logs for one in own.values()]

    def residuals(away: np.ndarray) -> np.ndarray:
        each = np.concatenate(missed(at(away))) / (NETWORK_LOG_SD * np.sqrt(len(own)))
        return np.concatenate([each, away / (SPEED_LOG_SD, BANDWIDTH_LOG_SD)])

    # Too long by so much by the specs: the speed is so much more, but for launches.
    start = np.clip(np.median(np.concatenate(missed(prior))), -_MAX_LOG_SPEED, _MAX_LOG_SPEED)
    return at(least_squares(residuals, [start, 0.0], diff_step=1e-3).x)


def _fit_correction(
    inputs: np.ndarray, left: np.ndarray, scale: np.ndarray, networks: np.ndarray
) -> tuple[Correction, np.ndarray]:
    """The correction, and each cell's error by one that saw none of its network, (cells,)."""
    mean, scale = inputs.mean(axis=0), np.maximum(scale, _MIN_SCALE)
    cells = (inputs - mean) / scale
    shared = covariance(cells, cells)
    noisy = shared + NOISE_LOG_SD**2 * np.eye(len(left))
    unseen = np.empty(len(left))
    for name in np.unique(networks):
        out = networks == name
        weights = np.linalg.solve(noisy[np.ix_(~out, ~out)], left[~out]) if not out.all() else np.zeros(0)
        unseen[out] = left[out] - shared[np.ix_(out, ~out)] @ weights
    return Correction(mean, scale, cells, np.linalg.solve(noisy, left)), unseen


def _log_sd(errors: np.ndarray) -> float:
    """Spread of new networks by what cells missed, (anchors, cells), and by what is known before them."""
    squares = float((errors**2).mean(axis=0).sum())
    return float(np.sqrt((PRIOR_CELLS * PRIOR_LOG_SD**2 + squares) / (PRIOR_CELLS + errors.shape[1])))


def choose_cells(medians: InstanceSteps, allowed: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """The benchmark first if it is allowed, then one size of each network in turn; networks and sizes by chance.

    allowed : boolean mask of the workloads to choose among.
    count : at most this many.

    Returns
    -------
    rows : (count,), each once, in the order of choice.
    """
    if allowed.sum() < count:
        raise ValueError(f"{count} cells of {allowed.sum()}")
    left = {
        str(name): list(random.permutation(np.flatnonzero(allowed & (medians.architectures == name))))
        for name in np.unique(medians.architectures[allowed])
    }
    chosen = list(np.flatnonzero(medians.benchmark & allowed))
    for row in chosen:
        left[BENCHMARK[0]].remove(row)
    # The benchmark was its network's turn.
    turn = [name for name in left if not chosen or name != BENCHMARK[0]]
    while len(chosen) < count:
        for name in random.permutation(turn):
            if left[name]:
                chosen.append(left[name].pop())
        turn = list(left)
    return np.array(chosen[:count])
