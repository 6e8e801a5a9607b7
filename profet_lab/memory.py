"""Fit, write and validate `memory.json`: whether a training step fits in memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec import to_builtins
from msgspec.structs import astuple, replace
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit

from profet_core.catalog import Catalog, load_gpus, load_shipped
from profet_core.ensemble.operations import load_operation_classes
from profet_core.files import sha256_hex
from profet_core.training.memory import (
    GIB_PER_VALUE,
    HELD_COPIES,
    MEMORY_VERSION,
    DeviceTimes,
    ImageRelation,
    MemoryFormula,
    MemoryModel,
    PeakRelation,
    StepMemory,
    TrafficRelation,
    Verdict,
    fit_answer,
)
from profet_lab.measurements.tables import WORKLOAD, Measurements, load_architectures
from profet_lab.models_folder import rounded, signed
from profet_lab.tasks import held_out
from profet_profiles.record import ProfileMeta
from profet_profiles.units import US_PER_MS


def layer_values(architectures: pd.DataFrame) -> pd.DataFrame:
    """Columns model, pixels, parameters, and convolution_values and other_values: outputs of an image's layers."""
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
    for instance in ran.columns:
        for other in ran.columns:
            if instance != other and memory[other] >= memory[instance]:
                pairs += int(ran[instance].sum())
                failures += int((ran[instance] & ~ran[other]).sum())
    return failures, pairs


#: Arithmetic of a plain training step, which the fit starts from and is drawn to: context and workspace 0.5 GiB;
#: weights, gradients and a temporary copy; every convolution's output once; of normalization, activation and addition,
#: which can work in place, half.
PRIOR = MemoryFormula(fixed_gib=0.5, per_parameter=3.0, per_convolution=1.0, per_other=0.5, log_scale=0.1)
#: Weight of the prior: a factor e of one coefficient costs as much as this many badly predicted cells.
PRIOR_WEIGHT = 1.0


def log_room(formula: MemoryFormula, cells: pd.DataFrame) -> np.ndarray:
    """log(memory / needed) of each cell: above 0 it should fit."""
    held_gib = formula.fixed_gib + formula.per_parameter * cells["parameters"] * GIB_PER_VALUE
    needed_gib = held_gib + activations_gib(formula, cells)
    return np.log((cells["memory_gib"] / needed_gib).to_numpy(float))


def activations_gib(formula: MemoryFormula, table: pd.DataFrame) -> pd.Series:
    """Return true activations of each row by the memory model, GiB."""
    values = formula.per_convolution * table["convolution_values"] + formula.per_other * table["other_values"]
    return values * table["batch_size"] * GIB_PER_VALUE


def fit_formula(cells: pd.DataFrame) -> MemoryFormula:
    """Most likely coefficients given what ran, with positive coefficients near `PRIOR`.

    The probability that a cell ran is logistic in `log_room` over `log_scale`, which is then the fitted cells' own: for
    new architectures `calibrate_formula` widens it.
    """
    batch = cells["batch_size"] * GIB_PER_VALUE
    terms = [cells["parameters"] * GIB_PER_VALUE, cells["convolution_values"] * batch, cells["other_values"] * batch]
    fitted = most_likely(np.column_stack([np.ones(len(cells)), *terms]), cells, astuple(PRIOR))
    return MemoryFormula(*fitted.tolist())


def most_likely(terms: np.ndarray, cells: pd.DataFrame, prior: Sequence[float]) -> np.ndarray:
    """Positive coefficients of `terms`, shape (cells, coefficients), and last the logistic scale, near `prior`."""
    log_memory, sign = np.log(cells["memory_gib"].to_numpy(float)), np.where(cells["ran"], 1.0, -1.0)
    center = np.log(prior)

    def loss(logs: np.ndarray) -> float:
        room = (log_memory - np.log(terms @ np.exp(logs[:-1]))) / np.exp(logs[-1])
        return PRIOR_WEIGHT * ((logs - center) ** 2).sum() - log_expit(sign * room).sum()

    return np.exp(minimize(loss, center, method="L-BFGS-B").x)


def held_out_log_room(cells: pd.DataFrame) -> np.ndarray:
    """`log_room` of each cell by the memory model fitted without its architecture."""
    return held_out(cells, cells["model"].to_numpy(str), lambda others, out: log_room(fit_formula(others), out))


def calibrate_formula(formula: MemoryFormula, cells: pd.DataFrame) -> MemoryFormula:
    """Return the memory model with the `log_scale` that makes held-out architectures most likely."""
    return replace(formula, log_scale=_likeliest_scale(held_out_log_room(cells), cells["ran"]))


def _likeliest_scale(
    room: np.ndarray, ran: pd.Series, known_scale: float = 0.0, times: np.ndarray | float = 1.0
) -> float:
    """Return the most likely scale of what ran; each `room` has scale hypot(known_scale, scale x times)."""
    sign = np.where(ran, 1.0, -1.0)

    def loss(log_scale: float) -> float:
        return -log_expit(sign * room / np.hypot(known_scale, np.exp(log_scale) * times)).sum()

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.005), np.log(1.0)), method="bounded").x))


#: The most bytes that the tensors of one step of plain SGD held at once, in blocks of 512 bytes as PyTorch's allocator
#: hands them out: every measured network as `profet_collect` builds it, run on tensors without values
#: (`FakeTensorMode`), each storage counted while it is alive, so that no size needs a GPU. `peak_bytes` counts all
#: tensors; `without_indices_bytes` excludes the indices that PyTorch's maximum pooling keeps.
PEAKS_FILE = Path(__file__).with_name("step_peaks.csv")
#: The peak that counts: what was measured ran in TensorFlow, which keeps no indices of a pooling.
TENSORFLOW_PEAK = "without_indices_bytes"
#: Batch size at which peaks are recorded: with 4 instead answers were less certain.
RECORDED_BATCH = 16
#: How far a peak at the requested size would be from the memory that another GPU needs, where libraries choose
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
#: Activations are at the least this share of a peak, as where one is requested.
_MIN_ACTIVATION_SHARE = 0.01


def recorded_cells(cells: pd.DataFrame, peaks: pd.DataFrame) -> pd.DataFrame:
    """Add to the cells of `memory_cells` peak_gib, recorded at `RECORDED_BATCH`, and growth.

    Their batch is larger by the growth; cells of networks without a peak are dropped.

    Parameters
    ----------
    peaks : the table of `PEAKS_FILE`.
    """
    recorded, network = peaks[peaks["batch_size"] == RECORDED_BATCH], ["model", "pixels"]
    with_peaks = cells.merge(recorded[network].assign(peak_gib=recorded[TENSORFLOW_PEAK] / 2**30), on=network)
    return with_peaks.assign(growth=with_peaks["batch_size"] / RECORDED_BATCH)


def fit_peak(cells: pd.DataFrame, peaks: pd.DataFrame) -> PeakRelation:
    """Most likely coefficients near `ASSUMED_PEAK`; uncertainty from held-out architectures."""
    rows = recorded_cells(cells, peaks)
    if rows["model"].nunique() < 3:
        return ASSUMED_PEAK
    unseen = [(_fit_peak(rows[rows["model"] != name]), part) for name, part in rows.groupby("model")]
    scales = []
    for is_split in (True, False):
        parts = [_room(relation, part, is_split=is_split) for relation, part in unseen]
        room, doublings = (np.concatenate(values) for values in zip(*parts, strict=True))
        ran = pd.concat([part["ran"] for _, part in unseen])
        scales.append(_likeliest_scale(room, ran, LOG_SCALE, doublings))
    split, unsplit = scales
    return replace(
        _fit_peak(rows), log_scale=LOG_SCALE, log_scale_a_doubling=split, unsplit_log_scale_a_doubling=unsplit
    )


def _fit_peak(rows: pd.DataFrame) -> PeakRelation:
    parameters_gib, held, grows = _parts(rows, is_split=True)
    terms = np.column_stack([np.ones(len(rows)), parameters_gib, held + grows * rows["growth"].to_numpy(float)])
    prior = (ASSUMED_PEAK.fixed_gib, ASSUMED_PEAK.per_parameter, ASSUMED_PEAK.per_peak, ASSUMED_PEAK.log_scale)
    fixed_gib, per_parameter, per_peak, _ = most_likely(terms, rows, prior).tolist()
    return replace(ASSUMED_PEAK, fixed_gib=fixed_gib, per_parameter=per_parameter, per_peak=per_peak)


def _parts(rows: pd.DataFrame, *, is_split: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, and of the recorded peak what stays and what grows, GiB; unsplit: as if all grew."""
    parameters_gib = rows["parameters"].to_numpy(float) * GIB_PER_VALUE * is_split
    peak = rows["peak_gib"].to_numpy(float)
    grows = np.clip(peak - HELD_COPIES * parameters_gib, _MIN_ACTIVATION_SHARE * peak, peak)
    return parameters_gib, peak - grows, grows


def _room(relation: PeakRelation, rows: pd.DataFrame, *, is_split: bool) -> tuple[np.ndarray, np.ndarray]:
    """log(memory / needed), and how often the recorded activations double until the memory is full."""
    parameters_gib, stays, grows = _parts(rows, is_split=is_split)
    memory, growth = rows["memory_gib"].to_numpy(float), rows["growth"].to_numpy(float)
    held = relation.fixed_gib + relation.per_parameter * parameters_gib + relation.per_peak * stays
    activations = relation.per_peak * grows
    spare = memory - held
    doublings = np.where(spare > 0, np.log2(np.maximum(spare, 1e-9) / activations), 0.0)
    return np.log(memory / (held + activations * growth)), doublings


#: Classes whose time is bandwidth's, in groups that share one weight.
MOVING = (
    ("activation", "activation gradient", "bias gradient"),
    ("batch norm", "batch norm gradient"),
    ("addition", "elementwise", "data movement"),
    ("pooling", "pooling gradient"),
)
UPDATE = "weight update"
#: Steps with fewer activations, GiB, fit everywhere and are bound by launches: they teach nothing here.
MIN_GIB = 0.3
#: Parameters, GiB, from which on the weight update is bound by bandwidth.
LARGE_PARAMETERS_GIB = 0.05
#: Error (of the logarithm) beyond which a profile counts linearly, not squared.
HUBER = 0.3
#: Prior of the weights: what is moved passes memory about 20 times a step.
PRIOR_LOG_WEIGHT, TRAFFIC_PRIOR_WEIGHT, OFFSET_WEIGHT = math.log(0.05), 0.025, 2.5
#: A logistic memory model has this scale where a normal one has the deviation 1.
LOGISTIC_SCALE = math.sqrt(3) / math.pi
_TINY_GIB = 1e-3


def traffic_table(measurements: Measurements, architectures: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """One row a profiled workload and instance, medians over repeats.

    Columns: instance, gpu_model, bandwidth_gb_per_s, model, pixels, batch_size, parameters, convolution_values,
    other_values, cut (above 0: the profile lacks operations), and one `us NAME` a class: microseconds of the step.
    """
    classes, gpus = load_operation_classes(), load_gpus()
    parts = []
    for instance in measurements.instances:
        encoded = classes.encode_table(measurements.operations, measurements.times_us[instance])
        gpu = gpus.find(catalog[instance].gpu, catalog[instance].gpu_memory_gib)
        columns = [f"us {name}" for name in classes.names]
        table = pd.DataFrame(encoded.times_ms * US_PER_MS, columns=columns).assign(cut=encoded.truncated.astype(float))
        table = pd.concat([measurements.workloads.reset_index(drop=True), table], axis=1)
        table = table.groupby(WORKLOAD, as_index=False)[[*columns, "cut"]].median()
        parts.append(table.assign(instance=instance, gpu_model=gpu.model, bandwidth_gb_per_s=gpu.bandwidth_gb_per_s))
    return pd.concat(parts, ignore_index=True).merge(layer_values(architectures), on=["model", "pixels"])


def fit_traffic(table: pd.DataFrame, formula: MemoryFormula) -> TrafficRelation:
    """Weights and offsets by robust regression of the logarithm; errors on held-out architectures.

    Truncated profiles are dropped: they lack the cheap operations, which are most of what moves activations.
    """
    table = table[table["cut"] == 0]
    table = table.assign(gib=activations_gib(formula, table))
    teaching = table[table["gib"] > MIN_GIB]
    weights, offsets = _fit_moved(teaching)
    errors = held_out(
        teaching,
        teaching["model"].to_numpy(str),
        lambda others, out: np.log(_estimated_gib(*_fit_moved(others), out) / out["gib"]),
    )
    mean_square = float(pd.Series(errors**2, teaching.index).groupby(teaching["model"]).mean().mean())
    update_gib, parameters_gib = _moved_gib(table, (UPDATE,)), table["parameters"].to_numpy(float) * GIB_PER_VALUE
    large = (parameters_gib > LARGE_PARAMETERS_GIB) & (update_gib > 0)
    return TrafficRelation(
        weights={name: weight for group, weight in zip(MOVING, weights, strict=True) for name in group},
        log_offset=offsets,
        log_scale=LOGISTIC_SCALE * math.sqrt(mean_square),
        parameters_per_update=float(np.median(parameters_gib[large] / update_gib[large])),
    )


def fit_images(table: pd.DataFrame, formula: MemoryFormula) -> ImageRelation:
    """Activations of a megapixel: the median over architectures, and how far they spread."""
    table = table[[*WORKLOAD, "convolution_values", "other_values"]].drop_duplicates()
    megapixels = table["batch_size"].astype(float) * table["pixels"].astype(float) ** 2 / 1e6
    log_ratio = np.log(activations_gib(formula, table) / megapixels)
    by_model = log_ratio.groupby(table["model"]).mean()
    center = float(by_model.median())
    # The center was chosen on the same architectures: one degree of freedom is spent.
    spread = math.sqrt(float(((by_model - center) ** 2).sum()) / max(len(by_model) - 1, 1))
    return ImageRelation(gib_per_megapixel=math.exp(center), log_scale=LOGISTIC_SCALE * spread)


def _estimated_gib(weights: list[float], offsets: Mapping[str, float], table: pd.DataFrame) -> np.ndarray:
    """Activations of each row by the weights of `MOVING` and the offsets of GPUs, GiB."""
    weighted = sum(weight * _moved_gib(table, group) for group, weight in zip(MOVING, weights, strict=True))
    return np.maximum(weighted * np.exp(table["gpu_model"].map(offsets).fillna(0.0).to_numpy(float)), _TINY_GIB)


def _fit_moved(table: pd.DataFrame) -> tuple[list[float], dict[str, float]]:
    wanted = np.log(table["gib"].to_numpy(float))
    moved = np.stack([_moved_gib(table, group) for group in MOVING], axis=1)
    names = sorted(table["gpu_model"].unique())
    is_gpu = np.stack([(table["gpu_model"] == name).to_numpy(float) for name in names], axis=1)
    groups = len(MOVING)

    def loss(values: np.ndarray) -> float:
        logs, offsets = values[:groups], values[groups:]
        error = np.log(moved @ np.exp(logs) + _TINY_GIB) + is_gpu @ offsets - wanted
        prior = TRAFFIC_PRIOR_WEIGHT * ((logs - PRIOR_LOG_WEIGHT) ** 2).sum() + OFFSET_WEIGHT * (offsets**2).sum()
        return HUBER**2 * (np.sqrt(1 + (error / HUBER) ** 2) - 1).sum() + prior

    start = np.append(np.full(groups, PRIOR_LOG_WEIGHT), np.zeros(len(names)))
    values = minimize(loss, start, method="L-BFGS-B").x
    return np.exp(values[:groups]).tolist(), dict(zip(names, values[groups:].tolist(), strict=True))


def _moved_gib(table: pd.DataFrame, group: tuple[str, ...]) -> np.ndarray:
    """GiB that the classes could move in their time at the specified bandwidth."""
    us = table[[f"us {name}" for name in group]].sum(axis=1)
    return (us * table["bandwidth_gb_per_s"] * 1e3 / 2**30).to_numpy(float)


#: A step "fits" from this probability on, and does not fit below what is missing to 1. Chosen beforehand.
CERTAIN = 0.9


def fit_memory(
    cells: pd.DataFrame, traffic: pd.DataFrame, peaks: pd.DataFrame, fitted_on: dict[str, str]
) -> MemoryModel:
    """All coefficients from `memory_cells`, `traffic_table` and the table of `PEAKS_FILE`."""
    formula = calibrate_formula(fit_formula(cells), cells)
    failures, pairs = ran_elsewhere(cells)
    return MemoryModel(
        formula=formula,
        traffic=fit_traffic(traffic, formula),
        images=fit_images(traffic, formula),
        certain=CERTAIN,
        ran_probability=1 - (failures + 1) / (pairs + 2),
        fitted_on=fitted_on,
        peak=fit_peak(cells, peaks),
    )


def memory_tables(measurements: Measurements, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that `fit_memory` takes: cells and profiles. `folder` holds `architectures.csv`."""
    architectures, catalog = load_architectures(folder), load_shipped()
    cells = memory_cells(measurements.all_latencies, architectures, catalog)
    return cells, traffic_table(measurements, architectures, catalog)


def memory_content(measurements: Measurements, folder: Path) -> dict:
    """Return the content of `memory.json`, fitted on all measurements; `folder` holds them and `architectures.csv`."""
    cells, traffic = memory_tables(measurements, folder)
    fitted_on = {
        "source": "PROFET measurements, github.com/ddps-lab/profet (MIT)",
        "cells": str(len(cells)),
        "did not run": str(int((~cells["ran"]).sum())),
        **measurements.sha256,
        PEAKS_FILE.name: sha256_hex(PEAKS_FILE.read_bytes()),
    }
    model = fit_memory(cells, traffic, pd.read_csv(PEAKS_FILE), fitted_on)
    parts = rounded(to_builtins(model))
    content = {"schema_version": MEMORY_VERSION, "law": parts.pop("formula"), **parts}
    content["measured"] = measured_networks(cells)
    content.pop("checksum")
    return signed(content)


def measured_networks(cells: pd.DataFrame) -> list[dict]:
    """Return the workloads of each network that ran, as `MeasuredNetwork` reads them."""
    networks = []
    for _, network in cells.groupby("model"):
        parameters = network.groupby("pixels")["parameters"].first().items()
        largest: dict[str, dict[str, int]] = {}
        ran = network[network["ran"]].groupby(["pixels", "memory_gib"], as_index=False)["batch_size"].max()
        for row in ran.itertuples():
            largest.setdefault(str(row.pixels), {})[f"{row.memory_gib:g}"] = int(row.batch_size)
        networks.append({"parameters": {str(size): int(count) for size, count in parameters}, "largest_batch": largest})
    return networks


#: The batch size whose profile is given; every batch size of the grid is answered for.
PROFILED_BATCH = 16
#: What is known of the network, from most to least.
KNOWN = ("profile and its meta", "meta without times", "that it ran")
#: Batch size of the second recorded peak.
SECOND_BATCH = 64


def memory_report(measurements: Measurements, folder: Path) -> dict:
    """Leave-one-architecture-out figures of the memory model.

    Returns
    -------
    architectures, certain, profiled_batch : how many were held out, `CERTAIN` and `PROFILED_BATCH`.
    arithmetic : the layers' outputs are known: every buildable cell (workload x GPU) once.
    served : what a user's profile knows: profiles at batch 16 on each instance, answers for every batch size on every
        GPU; `KNOWN` -> scores.
    recorded : the same questions where the step's peak was recorded, by what is known of it -> scores; "at other
        pixels" asks for these.
    """
    cells, traffic = memory_tables(measurements, folder)
    peaks = pd.read_csv(PEAKS_FILE)
    served, recorded = [], []
    for name in sorted(cells["model"].unique()):
        out, profiled = cells["model"] == name, traffic["model"] == name
        model = fit_memory(cells[~out], traffic[~profiled], peaks[peaks["model"] != name], {})
        served += _served(model, cells[out], traffic[profiled])
        recorded += _recorded(model, cells[out], peaks[peaks["model"] == name])
    failures, pairs = ran_elsewhere(cells)
    return {
        "architectures": int(cells["model"].nunique()),
        "certain": CERTAIN,
        "profiled_batch": PROFILED_BATCH,
        "ran_elsewhere": {"pairs": pairs, "failures": failures},
        "arithmetic": layers_known(measurements, folder),
        **{
            kind: {str(case): _scores(part) for case, part in pd.concat(answers).groupby("known", sort=False)}
            for kind, answers in (("served", served), ("recorded", recorded))
        },
    }


def layers_known(measurements: Measurements, folder: Path) -> dict:
    """Scores of every buildable cell by its layers' outputs, its architecture held out."""
    cells = memory_tables(measurements, folder)[0]

    def predict(others: pd.DataFrame, out: pd.DataFrame) -> np.ndarray:
        formula = calibrate_formula(fit_formula(others), others)
        return expit(log_room(formula, out) / formula.log_scale)

    probability = held_out(cells, cells["model"].to_numpy(str), predict)
    sure = [probability >= CERTAIN, probability <= 1 - CERTAIN]
    verdict = np.select(sure, [Verdict.FITS, Verdict.DOES_NOT_FIT], Verdict.CANT_TELL)
    return _scores(cells.assign(probability=probability, verdict=verdict))


def _answers(model: MemoryModel, case: str, step: StepMemory, cells: pd.DataFrame) -> pd.DataFrame:
    """Columns known, ran, probability and verdict: a step judged at every size and GPU of `cells`."""
    answers = [
        fit_answer(model, step, cell["memory_gib"], batch_size=cell["batch_size"], pixels=cell["pixels"])
        for cell in cells.to_dict("records")
    ]
    columns = {
        "probability": [answer.probability for answer in answers],
        "verdict": [answer.verdict for answer in answers],
    }
    return pd.DataFrame({"known": case, "ran": cells["ran"].to_numpy(bool), **columns})


def _served(model: MemoryModel, cells: pd.DataFrame, traffic: pd.DataFrame) -> list[pd.DataFrame]:
    """Every answer about one held-out architecture from its profiles, by `KNOWN`."""
    classes = load_operation_classes()
    memory_gib = cells.groupby("instance")["memory_gib"].first()
    answers = []
    for _, profile in traffic[traffic["batch_size"] == PROFILED_BATCH].iterrows():
        times = None
        if not profile["cut"]:
            us = {name: float(profile[f"us {name}"]) for name in classes.names}
            times = DeviceTimes(us, profile["gpu_model"], profile["bandwidth_gb_per_s"])
        sizes = ProfileMeta(batch_size=PROFILED_BATCH, pixels=int(profile["pixels"]))
        meta = dataclasses.replace(sizes, parameters=int(profile["parameters"]))
        queried, ran_gib = cells[cells["pixels"] == profile["pixels"]], float(memory_gib[profile["instance"]])
        for case, inputs in zip(KNOWN, ((meta, times), (meta, None), (sizes, None)), strict=True):
            answers.append(_answers(model, case, StepMemory(*inputs, ran_gib=ran_gib), queried))
    return answers


def _recorded(model: MemoryModel, cells: pd.DataFrame, peaks: pd.DataFrame) -> list[pd.DataFrame]:
    """Every answer about one held-out architecture from the peaks of its steps."""
    bytes_by_size = peaks.set_index(["pixels", "batch_size"])[TENSORFLOW_PEAK]

    def meta(pixels: int, batch_size: int, parameters: int | None) -> ProfileMeta:
        mib = float(bytes_by_size[pixels, batch_size]) / 2**20
        return ProfileMeta(batch_size=batch_size, pixels=pixels, parameters=parameters, peak_memory_mib=mib)

    answers = []
    at_profiled = cells[cells["batch_size"] == PROFILED_BATCH]
    for _, profiled in at_profiled[at_profiled["ran"]].iterrows():
        pixels, parameters, ran_gib = profiled["pixels"], int(profiled["parameters"]), float(profiled["memory_gib"])
        recorded = StepMemory(meta(pixels, PROFILED_BATCH, parameters), ran_gib=ran_gib)
        second = replace(recorded, second=meta(pixels, SECOND_BATCH, parameters))
        alone = replace(recorded, meta=meta(pixels, PROFILED_BATCH, None))
        ran_everywhere = at_profiled.loc[at_profiled["pixels"] == pixels, "ran"].all()
        queried, others = cells[(cells["pixels"] == pixels) & ran_everywhere], cells[cells["pixels"] != pixels]
        # Where dense layers take all pixels, another pixel size is another network.
        same = others["parameters"] == parameters
        questions = (
            ("recorded peak", recorded, queried),
            ("recorded peak at other pixels with the same parameters", recorded, others[same]),
            ("recorded peak at other pixels with other parameters", recorded, others[~same]),
            (f"peaks at batch {PROFILED_BATCH} and {SECOND_BATCH}", second, queried),
            ("recorded peak without parameters", alone, queried),
        )
        answers += [_answers(model, case, step, part) for case, step, part in questions if len(part)]
    return answers


def _scores(answers: pd.DataFrame) -> dict:
    """How right answers are; those of the likelier one are None if a probability is missing.

    Returns
    -------
    cells, did_not_run, always_fits : how many, and the accuracy of that answer.
    accuracy, recall, false_fits : with every answer taken as the likelier one; `false_fits` is the share of cells that
        "fit" by that and did not run.
    decided_accuracy, strict_accuracy, strict_recall, strict_false_fits, false_does_not_fit, cant_tell : with "can't
        tell" as an answer; `strict_accuracy` is of all cells, `strict_recall` counts it as a miss.
    """
    ran, probability = answers["ran"].to_numpy(bool), answers["probability"].to_numpy(float)
    fits, does_not = (answers["verdict"] == verdict for verdict in (Verdict.FITS, Verdict.DOES_NOT_FIT))
    by_likelier: dict[str, float | None] = {"accuracy": None, "recall": None, "false_fits": None}
    if not np.isnan(probability).any():
        likelier = probability > 0.5
        by_likelier = {
            "accuracy": float((likelier == ran).mean()),
            "recall": float((~likelier)[~ran].mean()),
            "false_fits": float((likelier & ~ran).mean()),
        }
    decided, right = fits | does_not, np.where(ran, fits, does_not)
    return {
        "cells": len(ran),
        "did_not_run": int((~ran).sum()),
        "always_fits": float(ran.mean()),
        **by_likelier,
        "cant_tell": float((~decided).mean()),
        "decided_accuracy": float(right[decided].mean()),
        "strict_accuracy": float(right.mean()),
        "strict_recall": float(right[~ran].mean()),
        "strict_false_fits": float((fits & ~ran).mean()),
        "false_does_not_fit": float((does_not & ran).mean()),
    }
