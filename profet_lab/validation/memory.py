"""Validate memory fit on held-out architectures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from profet_core.ensemble.classes import OperationClasses, load_operation_classes
from profet_core.training.memory import DeviceTimes, MemoryModel, RecordedStep, Verdict, fit_answer
from profet_lab.measurements.tables import Measurements
from profet_lab.memory.fit import (
    CERTAIN,
    TENSORFLOW_PEAK,
    calibrate_formula,
    class_times,
    fit_formula,
    fit_memory,
    log_room,
    memory_tables,
    ran_elsewhere,
    step_peaks,
)
from profet_lab.tasks import held_out
from profet_recorder.profiles.record import ProfileMeta

#: The batch size whose profile is given; every batch size of the grid is answered for.
PROFILED_BATCH = 16
#: What is known of the network, from most to least.
KNOWN = ("profile and its meta", "meta without times", "that it ran")
_ANSWER = ["known", "ran", "probability", "verdict"]
#: Batch size of the second recorded peak.
SECOND_BATCH = 64
#: Rows with a recorded peak: answered as `KNOWN`, and at other pixels.
ONE_PEAK = "recorded peak"
_OTHER_PIXELS = "recorded peak at other pixels with {} parameters"


def memory_report(measurements: Measurements, folder: Path) -> dict:
    """Leave-one-architecture-out figures of the memory model.

    Returns:
    `architectures`, `certain`, `profiled_batch` : how many were held out, `CERTAIN` and `PROFILED_BATCH`.
    `arithmetic` : the layers' outputs are known: every buildable cell (workload x GPU) once.
    `served` : what a user's profile knows: profiles at batch 16 on each instance, answers for every batch size on every
        GPU; `KNOWN` -> scores.
    `recorded` : the same questions where the step's peak was recorded, by what is known of it -> scores; "at other
        pixels" asks for these.
    Scores: `cells`; `did_not_run`; `accuracy` and `recall` with every answer taken as the likelier one; `false_fits`,
    share of cells that "fit" by that and did not run; then with "can't tell" as an answer: `decided_accuracy`,
    `strict_accuracy` (of all cells), `strict_recall` ("can't tell" is a miss), `strict_false_fits`, `cant_tell`.
    `always_fits` is the accuracy of that answer.
    """
    cells, traffic = memory_tables(measurements, folder)
    probability = np.empty(len(cells))
    peaks = step_peaks()
    served, recorded = [], []
    for name in sorted(cells["model"].unique()):
        out, profiled = (cells["model"] == name).to_numpy(), traffic["model"] == name
        model = fit_memory(cells[~out], traffic[~profiled], peaks[peaks["model"] != name], {})
        probability[out] = expit(log_room(model.formula, cells[out]) / model.formula.log_scale)
        served.append(_served(model, cells[out], traffic[profiled]))
        recorded.append(recorded_answers(model, cells[out], peaks[peaks["model"] == name]))
    failures, pairs = ran_elsewhere(cells)
    ran = cells["ran"].to_numpy(bool)
    return {
        "architectures": int(cells["model"].nunique()),
        "certain": CERTAIN,
        "profiled_batch": PROFILED_BATCH,
        "ran_elsewhere": {"pairs": pairs, "failures": failures},
        "arithmetic": _scores(ran, probability, _verdicts(probability)),
        "served": _scores_by_known(served),
        "recorded": _scores_by_known(recorded),
    }


def _scores_by_known(answers: list[pd.DataFrame]) -> dict[str, dict]:
    return {
        str(known): _scores(part["ran"].to_numpy(bool), part["probability"].to_numpy(float), part["verdict"].to_numpy())
        for known, part in pd.concat(answers, ignore_index=True).groupby("known", sort=False)
    }


def layers_known(measurements: Measurements, folder: Path) -> dict:
    """Scores of `memory_report`'s `arithmetic` alone."""
    cells = memory_tables(measurements, folder)[0]

    def predict(others: pd.DataFrame, out: pd.DataFrame) -> np.ndarray:
        formula = calibrate_formula(fit_formula(others), others)
        return expit(log_room(formula, out) / formula.log_scale)

    probability = held_out(cells, cells["model"].to_numpy(str), predict)
    return _scores(cells["ran"].to_numpy(bool), probability, _verdicts(probability))


def _answers(
    model: MemoryModel, known: str, step: RecordedStep, profiled_gib: float, cells: pd.DataFrame
) -> list[tuple[str, bool, float | None, Verdict]]:
    """Rows as `_ANSWER` names them: a step judged at every size and GPU of `cells`."""
    return [
        (known, bool(cell["ran"]), answer.probability, answer.verdict)
        for cell in cells.to_dict("records")
        for answer in [
            fit_answer(
                model,
                step,
                profiled_gib,
                cell["memory_gib"],
                batch_size=cell["batch_size"],
                pixels=cell["pixels"],
            )
        ]
    ]


def _served(model: MemoryModel, cells: pd.DataFrame, traffic: pd.DataFrame) -> pd.DataFrame:
    """Every answer about one held-out architecture."""
    classes = load_operation_classes()
    memory_gib = cells.groupby("instance")["memory_gib"].first()
    rows: list[tuple] = []
    for _, profile in traffic[traffic["batch_size"] == PROFILED_BATCH].iterrows():
        queried = cells[cells["pixels"] == profile["pixels"]]
        for known, (meta, times) in _known_inputs(profile, classes).items():
            rows += _answers(model, known, RecordedStep(meta, times), float(memory_gib[profile["instance"]]), queried)
    return pd.DataFrame(rows, columns=_ANSWER)


def recorded_answers(model: MemoryModel, cells: pd.DataFrame, peaks: pd.DataFrame) -> pd.DataFrame:
    """Every answer about one architecture from the peaks of its steps: columns known, ran, probability, verdict."""
    by_size = peaks.set_index(["pixels", "batch_size"])
    rows: list[tuple] = []
    at_profiled = cells[cells["batch_size"] == PROFILED_BATCH]
    for _, profiled in at_profiled[at_profiled["ran"]].iterrows():
        pixels, gib = profiled["pixels"], profiled["memory_gib"]
        queried, others = cells[cells["pixels"] == pixels], cells[cells["pixels"] != pixels]
        # Where dense layers take all pixels, another pixel size is another network.
        same = others["parameters"] == profiled["parameters"]
        more = {
            _OTHER_PIXELS.format("the same"): others[same],
            _OTHER_PIXELS.format("other"): others[~same],
        }
        ran_everywhere = bool(at_profiled.loc[at_profiled["pixels"] == pixels, "ran"].all())
        for known, step in _recorded_steps(by_size, pixels, int(profiled["parameters"])).items():
            parts = {**({known: queried} if ran_everywhere else {}), **(more if known == ONE_PEAK else {})}
            for name, part in parts.items():
                rows += _answers(model, name, step, gib, part)
    return pd.DataFrame(rows, columns=_ANSWER)


def _recorded_steps(by_size: pd.DataFrame, pixels: int, parameters: int) -> dict[str, RecordedStep]:
    """What is known -> a step whose peak was recorded."""

    def meta(batch_size: int, parameters: int | None = parameters) -> ProfileMeta:
        mib = float(by_size[TENSORFLOW_PEAK][pixels, batch_size]) / 2**20
        return ProfileMeta(batch_size=batch_size, pixels=pixels, parameters=parameters, peak_memory_mib=mib)

    one = meta(PROFILED_BATCH)
    return {
        ONE_PEAK: RecordedStep(one),
        f"peaks at batch {PROFILED_BATCH} and {SECOND_BATCH}": RecordedStep(one, second=meta(SECOND_BATCH)),
        "recorded peak without parameters": RecordedStep(meta(PROFILED_BATCH, parameters=None)),
    }


def _known_inputs(profile: pd.Series, classes: OperationClasses) -> dict[str, tuple[ProfileMeta, DeviceTimes | None]]:
    """`KNOWN` -> meta and times of one row of `traffic_table`, as far as they are known."""
    times = None
    if not profile["cut"]:
        times = DeviceTimes(class_times(profile, classes), profile["gpu_model"], profile["bandwidth_gb_per_s"])
    sizes = ProfileMeta(batch_size=PROFILED_BATCH, pixels=int(profile["pixels"]))
    meta = replace(sizes, parameters=int(profile["parameters"]))
    return dict(zip(KNOWN, ((meta, times), (meta, None), (sizes, None)), strict=True))


def _scores(ran: np.ndarray, probability: np.ndarray, verdict: np.ndarray) -> dict:
    """See `memory_report`; a probability that is missing leaves the figures of the likelier answer out."""
    by_likelier: dict[str, float | None] = {"accuracy": None, "recall": None, "false_fits": None}
    if not np.isnan(probability).any():
        likelier = probability > 0.5
        by_likelier = {
            "accuracy": float((likelier == ran).mean()),
            "recall": float((~likelier)[~ran].mean()),
            "false_fits": float((likelier & ~ran).mean()),
        }
    decided = verdict != Verdict.CANT_TELL
    right = np.where(ran, verdict == Verdict.FITS, verdict == Verdict.DOES_NOT_FIT)
    return {
        "cells": len(ran),
        "did_not_run": int((~ran).sum()),
        "always_fits": float(ran.mean()),
        **by_likelier,
        "cant_tell": float((~decided).mean()),
        "decided_accuracy": float(right[decided].mean()),
        "strict_accuracy": float(right.mean()),
        "strict_recall": float(right[~ran].mean()),
        "strict_false_fits": float(((verdict == Verdict.FITS) & ~ran).mean()),
        "false_does_not_fit": float(((verdict == Verdict.DOES_NOT_FIT) & ran).mean()),
    }


def _verdicts(probability: np.ndarray) -> np.ndarray:
    sure = [probability >= CERTAIN, probability <= 1 - CERTAIN]
    return np.select(sure, [Verdict.FITS, Verdict.DOES_NOT_FIT], Verdict.CANT_TELL)
