"""One model of a step: the same answer by name and by profile, from every repeat, and slower for a larger batch.

Also published speeds of GPUs none of whose steps the rates saw, and ratios of GPUs that follow from others alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import AMP, CHANNELS_LAST, TF32, TUNED
from profet_core.layers.by_name import step_by_counts
from profet_core.layers.estimate import estimate
from profet_core.layers.networks import counts_of
from profet_core.layers.rates import Mode
from profet_core.layers.steps import NetworkStep
from profet_core.offers import OfferTable
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict, predict_many
from profet_core.prediction.sizes import curves_at
from profet_lab.estimate_fit import MLPERF, PROFET, SCRIPT, TIMM, estimate_rows, fit, predicted_ms, problem
from profet_lab.measurements.tables import WORKLOAD, Measurements
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer import BENCHMARK
from profet_lab.validation.gpus import asked, median_profiles, one_offer_per_gpu
from profet_profiles.record import Profile, ProfileMeta

#: GPUs, cases and batch sizes at which answers by name and by profile are compared.
COMPARED = (
    *("A10G", "L4", "L40S", "A100-SXM4-40GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB", "B200"),
    *("GeForce RTX 3090", "GeForce RTX 4090"),
)
CASES, BATCH_SIZES = (TF32, AMP, CHANNELS_LAST), (16, 32, 64, 128)
#: GPUs on which a larger batch is to take no less, and the one on which repeats are compared.
SLOPES, REPEATED = ("A100-SXM4-80GB", "H100-SXM5-80GB", "B200"), "H100-SXM5-80GB"
REPEATED_PIXELS = (64, 224)
#: Smaller batches of published tables measure launches, too; of the script only networks that no host delays compare.
_LARGE, _NOT_DELAYED = 64, "vgg"


def steps_report(models: Models, measurements: Measurements, folder: Path, progress: Progress) -> dict[str, Any]:
    """Return what has to be one answer.

    Returns
    -------
    ratios : of each anchor, named or not, the latency by name over that by profile: largest and mean of it or its
        reverse, and all rows.
    repeats : of each anchor, largest over smallest answer of the repeats of a step, 90 % of the workloads.
    falls : of each anchor and GPU, neighboring batch sizes of which the larger one is faster, percent.
    unseen : published speeds by rates that saw no step of the GPU, by precision.
    pairs : ratios of two GPUs' speeds.
    """
    ratios = [
        ratios_of(models, measurements, anchor, named=named) for anchor in models.instances for named in (True, False)
    ]
    served = {anchor: repeated(models, measurements, anchor) for anchor in models.instances}
    return {
        "ratios": ratios,
        "repeats": [{"anchor": anchor, "largest": spread_of_repeats(table)} for anchor, table in served.items()],
        "falls": [
            {"anchor": anchor, "gpu": gpu, "percent": falls_of_repeats(table, gpu)}
            for anchor, table in served.items()
            for gpu in SLOPES
        ],
        "unseen": unseen_speeds(estimate_rows(measurements.all_latencies, folder), progress),
        "pairs": pairs_of(models),
    }


def ratios_of(models: Models, measurements: Measurements, anchor: str, *, named: bool) -> dict[str, Any]:
    """Return the benchmark by name over by its profile on one anchor, with its measured step."""
    network, pixels, _ = BENCHMARK
    groups = measurements.workloads.groupby(WORKLOAD)
    workloads = groups.size().index.to_frame(index=False)
    profiles, known_ms = median_profiles(measurements, anchor, workloads, groups.ngroup().to_numpy())
    row = workloads.index[(workloads[["model", "pixels", "batch_size"]] == [*BENCHMARK]).all(axis=1)][0]
    catalog, counts, rows = one_offer_per_gpu(models), counts_of("resnet50", pixels), []
    by_counts = partial(step_by_counts, given=network) if named else None
    for case in CASES:
        options = {**asked(case), **({} if by_counts is None else {"by_counts": by_counts})}
        found = predict(models, catalog, profiles[row], anchor, latency_ms=float(known_ms[row]), **options)
        tables = curves_at(models, [found], "batch", BATCH_SIZES, instances=COMPARED)
        for size, table in zip(BATCH_SIZES, tables, strict=True):
            step = NetworkStep(counts, size, "resnet50", **asked(case))
            by_name, by_profile = _by_gpu(estimate(models, catalog, step, COMPARED).rows), _by_gpu(table)
            rows += [
                {"gpu": gpu, "case": case, "batch_size": size, "ratio": by_name[gpu] / by_profile[gpu]}
                for gpu in COMPARED
            ]
    logs = np.abs(np.log(np.array([one["ratio"] for one in rows], float)))
    largest, mean = float(np.exp(logs.max())), float(np.exp(logs).mean())
    return {"anchor": anchor, "named": named, "largest": largest, "mean": mean, "rows": rows}


def _by_gpu(rows: OfferTable) -> dict[str, float]:
    """GPU -> latency, of offers that have its name."""
    return {row.instance: row.latency_ms for row in rows if row.latency_ms is not None}


def repeated(models: Models, measurements: Measurements, anchor: str) -> pd.DataFrame:
    """Answers in TF32 of every run of `REPEATED_PIXELS` on `SLOPES`: the workloads' columns, and a column a GPU."""
    is_asked, names = measurements.workloads["pixels"].isin(REPEATED_PIXELS).to_numpy(), measurements.operations
    workloads = measurements.workloads[is_asked].reset_index(drop=True)
    profiles = [
        Profile(dict(zip(names, row.tolist(), strict=True)), meta=ProfileMeta(batch_size=int(batch), pixels=int(side)))
        for row, batch, side in zip(
            measurements.times_us[anchor][is_asked], workloads["batch_size"], workloads["pixels"], strict=True
        )
    ]
    known_ms = np.asarray(measurements.latency_ms[anchor], float)[is_asked].tolist()
    found = predict_many(
        models, one_offer_per_gpu(models), profiles, anchor, targets=SLOPES, latencies_ms=known_ms, trust_latency=True,
        **asked(TF32),
    )  # fmt: skip
    names_of = [target.gpu.name for target in found[0].table.targets]
    return workloads[WORKLOAD].join(pd.DataFrame([one.table.latency_ms for one in found], columns=names_of))


def spread_of_repeats(table: pd.DataFrame) -> float:
    """Largest over smallest answer of a workload's repeats, of 90 % of the workloads."""
    answers = table.groupby(WORKLOAD)[REPEATED]
    return float((answers.max() / answers.min()).quantile(0.9))


def falls_of_repeats(table: pd.DataFrame, gpu: str) -> float:
    """Of runs with the same number, neighboring batch sizes of which the larger one is faster, percent."""
    runs = table.assign(run=table.groupby(WORKLOAD).cumcount()).sort_values("batch_size")
    steps = np.log(runs[gpu]).groupby([runs["model"], runs["pixels"], runs["run"]]).diff().dropna()
    return float(100 * (steps < -1e-6).mean())


def unseen_speeds(rows: pd.DataFrame, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Judge published speeds of unprofiled GPUs, over those of others in its table, by rates that saw none of it."""
    every = problem(rows)
    rows, start = every.rows, fit(every)
    is_judged = _is_judged(rows)
    tables = rows["source"] + rows["network"] + rows["pixels"].map(" {}".format)
    gpus = sorted(set(rows.loc[is_judged, "gpu"]) - set(rows.loc[rows["source"] == PROFET, "gpu"]))
    held = [(rows["gpu"] == gpu).to_numpy() for gpu in gpus]
    fits = run_tasks(fit, [(every.subset(~out), start) for out in held], progress=progress, threads=True)
    found = []
    for out, effects in zip(held, fits, strict=True):
        errors = rows.assign(error=np.log(predicted_ms(every, effects) / rows["latency_ms"].to_numpy()), table=tables)
        others = errors[is_judged & ~out].groupby(["table", "gpu"])["error"].median().groupby("table").mean()
        judged = errors[is_judged & out]
        found.append(judged.assign(error=judged["error"] - judged["table"].map(others)).dropna(subset=["error"]))
    errors = pd.concat(found)
    in_half = errors["mode"] >= Mode.HALF
    return [
        {
            "precision": precision,
            "n": len(part),
            "gpus": part["gpu"].nunique(),
            "bias": float(100 * np.expm1(part["error"].mean())),
            "mape": float(100 * np.expm1(part["error"]).abs().mean()),
            "by_gpu": {gpu: float(100 * np.expm1(one).abs().mean()) for gpu, one in part.groupby("gpu")["error"]},
        }
        for precision, part in (("FP32 or TF32", errors[~in_half]), ("AMP", errors[in_half]))
        if len(part)
    ]


def _is_judged(rows: pd.DataFrame) -> np.ndarray:
    is_script = rows["source"].str.endswith(SCRIPT)
    is_large = ~is_script & (rows["batch_size"] >= _LARGE) & (rows["source"] != TIMM)
    is_large |= rows["source"].str.startswith(MLPERF)
    found = is_large | is_script & rows["network"].str.contains(_NOT_DELAYED)
    return (found & (rows["source"] != PROFET) & (rows["starts"] == 1)).to_numpy()


#: GPU, the other one, training code: ratios that no published step shows, and between what they are to be.
PAIRS = (("B300", "B200", "plain", (1.0, 1.5)), ("B200", "H200-SXM-141GB", TUNED, (1.4, 1.7)))


def pairs_of(models: Models, batch_size: int = 256) -> list[dict[str, Any]]:
    """Ratios of two GPUs' speeds in AMP, of the benchmark by name."""
    catalog, counts = one_offer_per_gpu(models), counts_of("resnet50", BENCHMARK[1])
    found = []
    for gpu, other, code, (low, high) in PAIRS:
        step = NetworkStep(counts, batch_size, "resnet50", precision=AMP, training_code=code)
        rows = _by_gpu(estimate(models, catalog, step, (gpu, other)).rows)
        ratio = rows[other] / rows[gpu]
        found.append({"gpu": gpu, "other": other, "code": code, "ratio": ratio, "low": low, "high": high})
    return found
