"""Judge estimates scaled from a measured time on pairs of published steps of one source, network and precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace

from profet_core.catalog import load_gpus
from profet_core.latency import LEVEL, quantile
from profet_core.layers.measured import OF_PROGRAM, Learned, Shares, Steps
from profet_core.layers.rates import SMALL_BATCH, Mode, log_peaks
from profet_lab.estimate_fit import (
    PROFET,
    Problem,
    as_new_source,
    fit,
    hosts,
    launch_log_sd,
    step_parts_ms,
    with_gpu_steps,
)
from profet_lab.tasks import Progress, error_figures, run_tasks

#: What a pair has in common besides the source; the GPU or the batch size differs.
_ALIKE = ("source", "network", "pixels", "mode")
#: Ratios of batch sizes on one GPU -> the kind of such a pair.
_BATCHES = {2: "twice the batch size", 4: "four times", 8: "eight times"}
_PRECISIONS = {Mode.FP32: "FP32 or TF32", Mode.TF32: "FP32 or TF32", Mode.HALF_TUNED: "tuned code"}


def held_out_steps(
    fit_problem: Problem, fitted: np.ndarray, progress: Progress | None = None
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Estimate published steps that have a pair by fits that saw neither their source nor their published family.

    Returns
    -------
    rows : `with_gpu_steps`, and launch_log_sd (of its host too).
    parts : milliseconds of work, of launches and of the start of each row.
    """
    rows = fit_problem.rows
    is_published = ((rows["source"] != PROFET) & (rows["starts"] == 1)).to_numpy()
    sources = _programs(rows)
    published = rows[is_published]
    has_pair = published.groupby([*_ALIKE, "batch_size"])["gpu"].transform("nunique") > 1
    has_pair |= published.groupby([*_ALIKE, "gpu"])["batch_size"].transform("nunique") > 1
    judged = is_published.copy()
    judged[is_published] = has_pair
    tasks, held = [], []
    for source, family in sorted(set(zip(sources[judged], rows["family"][judged], strict=True))):
        of_source, of_family = (sources == source).to_numpy(), (rows["family"] == family).to_numpy() & is_published
        tasks.append((fit_problem.subset(~(of_source | of_family)), fitted))
        held.append(fit_problem.subset(judged & of_source & of_family))
    found, parts = [], []
    for (learned, _), some, effects in zip(
        tasks, held, run_tasks(fit, tasks, progress=progress, threads=True), strict=True
    ):
        log_sd = launch_log_sd(learned.rows, learned.keys, effects)
        found.append(
            with_gpu_steps(some.rows, learned.rows).assign(
                launch_log_sd=np.hypot([host.log_sd for host in hosts(some.rows)], log_sd),
            )
        )
        parts.append(step_parts_ms(some, as_new_source(some.keys, effects)))
    return pd.concat(found, ignore_index=True), [np.concatenate(each) for each in zip(*parts, strict=True)]


def _programs(rows: pd.DataFrame) -> pd.Series:
    """Return the source of each row; rounds of MLPerf are one."""
    return rows["source"].str.replace(r" \d\.\d$", "", regex=True)


#: What `Shares` are chosen from.
CANDIDATES = (
    Shares(0.58, 0.18, 0.05, 0.32),
    Shares(0.58, 0.18, 0.11, 0.32),
    Shares(0.66, 0.18, 0.05, 0.32),
    Shares(0.66, 0.18, 0.11, 0.32),
    Shares(0.74, 0.18, 0.05, 0.32),
)


def pairs_report(
    rows: pd.DataFrame, parts_ms: list[np.ndarray], network_log_sds: np.ndarray, gpu_log_sds: np.ndarray, source: float
) -> tuple[list[dict[str, Any]], Shares]:
    """Errors of the second step of each pair from the first one's number, by kind of pair.

    The shares that a source is judged with are those of `CANDIDATES` with the best intervals on all other sources.

    Parameters
    ----------
    rows, parts_ms : as `held_out_steps` returns them.
    network_log_sds, gpu_log_sds, source : uncertainty of each row's network and GPU, and of a source.

    Returns
    -------
    kinds : each with its `error_figures`, and the mean errors of the estimate alone, and of the first number times the
        ratio of both estimates (ratio), or of the peak FLOPs of both GPUs and of both batch sizes (peaks).
    shares : the best on all sources.
    """
    steps = Steps(
        gpus=rows["gpu"].to_numpy(str),
        generations=np.array([load_gpus()[name].compute_capability or 0.0 for name in rows["gpu"]]),
        modes=rows["mode"].to_numpy(),
        batch_sizes=rows["batch_size"].to_numpy(float),
        work_ms=parts_ms[0],
        launch_ms=parts_ms[1],
        start_ms=parts_ms[2],
        network_log_sd=network_log_sds,
        gpu_log_sd=gpu_log_sds,
        launch_log_sd=rows["launch_log_sd"].to_numpy(),
        shared_log_sd=np.full(len(rows), OF_PROGRAM * source),
        kernels_log_sd=np.zeros(len(rows)),
        removed=np.zeros(len(rows)),
    )
    measured_ms = rows["latency_ms"].to_numpy()
    groups = list(_pairs(rows))
    given = np.repeat([one for one, _ in groups], [len(others) for _, others in groups])
    other = np.array([row for _, others in groups for row in others])
    kinds = pd.Series([kind for _, others in groups for kind in others.values()])
    programs = _programs(rows).to_numpy()[given]
    judged = [_scaled(steps, groups, measured_ms, shares) for shares in CANDIDATES]
    scores = [2 * widths + 2 / (1 - LEVEL) * np.maximum(np.abs(errors) - widths, 0) for errors, widths in judged]

    def best(among: np.ndarray) -> int:
        """Return the candidate with the best mean score; each kind of pair counts the same."""
        return int(
            np.argmin([pd.Series(score[among]).groupby(kinds[among].to_numpy()).mean().mean() for score in scores])
        )

    errors, widths = np.zeros(len(kinds)), np.zeros(len(kinds))
    for program in sorted(set(programs)):
        chosen, here = best(programs != program) if len(set(programs)) > 1 else 0, programs == program
        errors[here], widths[here] = (values[here] for values in judged[chosen])
    alone = np.log(steps.latency_ms / measured_ms)
    gpus = [load_gpus()[name] for name in rows["gpu"]]
    peaks = np.array([log_peaks(gpu, Mode(mode))[0] for gpu, mode in zip(gpus, rows["mode"], strict=True)])
    by_peaks = np.log(measured_ms) + peaks - np.log(steps.batch_sizes)
    pairs = pd.DataFrame(
        {
            "kind": kinds,
            "error": errors,
            "half_width": widths,
            "alone": alone[other],
            "ratio": alone[other] - alone[given],
            "peaks": by_peaks[given] - by_peaks[other],
        }
    )
    return [
        {
            "kind": kind,
            **error_figures(some["error"], some["half_width"]),
            **{name: float(100 * np.expm1(some[name]).abs().mean()) for name in ("alone", "ratio", "peaks")},
        }
        for kind, some in pairs.groupby("kind")
    ], CANDIDATES[best(np.ones(len(kinds), bool))]


def _scaled(
    steps: Steps, groups: Sequence[tuple[int, Mapping[int, str]]], measured_ms: np.ndarray, shares: Shares
) -> tuple[np.ndarray, np.ndarray]:
    """Log error and half-width of the interval of each pair's second step, from the first one's number."""
    errors, widths = [], []
    for given, others in groups:
        at = list(others)
        learned = Learned.of(steps.take([given]), measured_ms[[given]], shares=shares)
        others_there = replace(steps.take(at), batch_sizes=np.repeat(steps.batch_sizes[given], len(at)))
        scaled = learned.on(steps.take(at), [others_there])
        errors.append(np.log(scaled.latency_ms / measured_ms[at]))
        widths.append(quantile() * scaled.log_sd)
    return np.concatenate(errors), np.concatenate(widths)


def _pairs(rows: pd.DataFrame) -> Iterator[tuple[int, Mapping[int, str]]]:
    """Each row, and the rows to infer from it with their kinds."""
    gpus, sizes = rows["gpu"].to_numpy(), rows["batch_size"].to_numpy()
    generations = np.array([str(load_gpus()[name].compute_capability) for name in gpus])
    for alike in rows.groupby([*_ALIKE]).indices.values():
        places = np.asarray(alike).tolist()
        mode = Mode(rows["mode"].iloc[places[0]])
        for given in places:
            others = {}
            for row in places:
                ratio = max(sizes[row], sizes[given]) / min(sizes[row], sizes[given])
                if gpus[row] == gpus[given] and ratio in _BATCHES:
                    others[row] = f"batch: {_BATCHES[ratio]}"
                elif gpus[row] != gpus[given] and ratio == 1:
                    size = f", batch below {SMALL_BATCH}" if sizes[row] < SMALL_BATCH else ""
                    other = "one generation" if generations[row] == generations[given] else "other generation"
                    others[row] = f"{_PRECISIONS.get(mode, 'AMP')}{size}: {other}"
            if others:
                yield given, others
