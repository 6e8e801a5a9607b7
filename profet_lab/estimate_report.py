"""Judge estimates without a profile on held-out data; write `estimate.json` and the table of rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from msgspec import Struct
from msgspec.structs import replace
from scipy.optimize import minimize
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import AMP, CODES, FP32, PRECISIONS, TF32, Gpu, compared_specs
from profet_core.files import sha256_hex
from profet_core.latency import LEVEL, log_sd_of, quantile
from profet_core.layers.networks import PROFET as PROFET_PREFIX
from profet_core.layers.networks import shared_name
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    ONCE,
    PRODUCTS,
    RATES_NAME,
    RATES_VERSION,
    SMALL_BATCH,
    Case,
    MeasuredRatios,
    Mode,
    Powers,
    RateModel,
    case_key,
    known_steps_in,
    load_rates,
    mode_of,
    spec_log_costs,
)
from profet_lab.estimate_fit import (
    BENCHMARK,
    FILES,
    OFTEN,
    PROFET,
    TIMM,
    UNKNOWN_GPU_LOG_SD,
    Problem,
    as_new_source,
    base_mode,
    chip_of,
    estimate_rows,
    fit,
    generation_of,
    group_of,
    hosts,
    known_generations,
    launch_log_sd,
    launched_shares,
    line_of,
    predicted_ms,
    problem,
    with_gpu_steps,
    without_networks,
)
from profet_lab.measured_pairs import held_out_steps, pairs_report
from profet_lab.measurements.tables import LATENCIES_FILE, Measurements
from profet_lab.memory import layers_known
from profet_lab.models_folder import signed, write_coefficients
from profet_lab.tasks import Fold, Progress, error_figures, grouped_folds, run_tasks, weighted_quantile
from profet_profiles.whole_files import write_whole

#: Folds of families, of networks and of published GPUs; each holds out several at once.
FOLDS = 12
WORKLOAD_FOLDS = 5
#: What is known of a held-out GPU of PROFET's: network, pixels and batch size.
BENCHMARK_STEP = (BENCHMARK, 224, 32)
#: Fewer errors than this take the interval of a wider case.
_MIN_ERRORS = 25
#: Where the search for the variances of known networks starts, and larger log ratios than count in it.
_VARIANCES, _MAX_LOG_RATIO, _MAX_SEARCH = (0.01, 0.005, 0.003, 0.005), 0.5, 200
_DIGITS = 4


def folds_of(rows: pd.DataFrame) -> dict[str, list[Fold]]:
    """Return what is held out -> its folds.

    Of published steps: families (a GPU known by one family alone stays known), sources, and GPUs but for their
    ResNet-50. Of PROFET's cells, each on all GPUs at once: workloads, networks; and GPUs with their published rows, but
    for one step of ResNet-50.
    """
    is_cell = (rows["source"] == PROFET).to_numpy()
    is_published = ~is_cell & (rows["starts"] == 1).to_numpy()
    has_others = (rows.groupby("gpu")["family"].transform("nunique") > 1).to_numpy()
    is_benchmark = ~is_cell & rows["network"].isin(["resnet50", "timm/resnet50"]).to_numpy()
    has_benchmark = rows["gpu"].isin(rows.loc[is_benchmark, "gpu"]).to_numpy()
    is_known = is_cell & (rows[["network", "pixels", "batch_size"]] == [*BENCHMARK_STEP]).all(axis=1).to_numpy()

    workloads = rows["network"] + rows["pixels"].map(" {}".format) + rows["batch_size"].map(" {}".format)
    names, place = np.unique(workloads, return_inverse=True)
    numbers = np.random.default_rng(0).permutation(len(names))[place] % WORKLOAD_FOLDS
    held_gpus = [(rows["gpu"] == gpu).to_numpy() & ~is_known for gpu in sorted(set(rows.loc[is_cell, "gpu"]))]
    is_other = is_cell & (rows["network"] != BENCHMARK).to_numpy()
    return {
        "families": [
            (learned | ~has_others, judged & has_others)
            for learned, judged in grouped_folds(rows["family"], is_published, FOLDS)
        ],
        "sources": grouped_folds(rows["source"].str.replace(r" \d\.\d$", "", regex=True), is_published),
        "gpus": [
            (learned | is_benchmark, judged & ~is_benchmark)
            for learned, judged in grouped_folds(rows["gpu"], is_published & has_benchmark, FOLDS)
        ],
        "workloads": [(~(is_cell & (numbers == fold)), is_cell & (numbers == fold)) for fold in range(WORKLOAD_FOLDS)],
        "networks": grouped_folds(rows["network"], is_cell),
        "cell GPUs": [(~held, held & is_other) for held in held_gpus],
    }


#: Where what was measured of a network corrects its estimates.
_CORRECTED = ("sources", "gpus", "workloads", "cell GPUs")
AS_ANSWERED = "families as answered"


def held_out_rows(
    fit_problem: Problem, fitted: np.ndarray, names: Sequence[str], progress: Progress | None = None
) -> dict[str, pd.DataFrame]:
    """Judge rows by what of `folds_of` is held out; beside families `AS_ANSWERED`, their source's effect omitted.

    Fits on parts of the rows start from `fitted`, the one on all of them.

    Returns
    -------
    rows : `with_gpu_steps` of the fold, family_fold (-1: none holds out its family), predicted_ms, log_error, share (of
        the variance that is left after what is known of the network), host_log_sd, and is_new_source (the source's
        effect is omitted).
    """
    folds = folds_of(fit_problem.rows)
    family_fold = np.full(len(fit_problem.rows), -1)
    for number, (_, judged) in enumerate(folds["families"]):
        family_fold[judged] = number
    fit_problem = replace(fit_problem, rows=fit_problem.rows.assign(family_fold=family_fold))
    errors = {}
    for name in names:
        tasks = [(fit_problem.subset(learned), fitted) for learned, _ in folds[name]]
        fits = run_tasks(fit, tasks, progress=progress, threads=True)
        kinds = {name: name == "sources"} | ({AS_ANSWERED: True} if name == "families" else {})
        for kind, is_new_source in kinds.items():
            parts = []
            for fold, effects in zip(folds[name], fits, strict=True):
                answered = (as_new_source if is_new_source else without_networks)(fit_problem.keys, effects)
                parts.append(_judged(fit_problem, fold, answered, is_known=name in _CORRECTED))
            errors[kind] = pd.concat(parts).sort_index().assign(is_new_source=is_new_source)
    return errors


def _judged(fit_problem: Problem, fold: Fold, effects: np.ndarray, *, is_known: bool) -> pd.DataFrame:
    learned, judged = (fit_problem.subset(rows) for rows in fold)
    rows, latency_ms, share = judged.rows, predicted_ms(judged, effects), np.ones(len(judged.rows))
    if is_known:
        ratios = np.log(learned.rows["latency_ms"].to_numpy() / predicted_ms(learned, effects))
        known = known_steps_in(known_steps(learned.rows, ratios))
        corrections, share = _corrections(known, rows)
        latency_ms = latency_ms * np.exp(corrections)
    return with_gpu_steps(rows, learned.rows).assign(
        predicted_ms=latency_ms,
        log_error=np.log(latency_ms / rows["latency_ms"]),
        share=share,
        host_log_sd=launched_shares(judged, effects)
        * np.hypot([host.log_sd for host in hosts(rows)], launch_log_sd(learned.rows, learned.keys, effects)),
    )


def _corrections(known: MeasuredRatios, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Log ratio of each row by what is known of its network, and the share of the variance that is left."""
    corrections = np.zeros((2, len(rows)))
    names = known_as(rows).to_numpy(str)
    batches, pixels = (rows[size].to_numpy(int) for size in ("batch_size", "pixels"))
    generations, modes = capabilities(rows), rows["mode"].to_numpy(int)
    for name, batch, side in sorted(set(zip(names.tolist(), batches.tolist(), pixels.tolist(), strict=True))):
        some = (names == name) & (batches == batch) & (pixels == side)
        wanted = [Mode(mode) for mode in modes[some]]
        corrections[:, some] = known.corrections(name, generations[some].tolist(), wanted, batch, side)
    return corrections[0], corrections[1]


class Doubts(Struct, frozen=True):
    """Standard deviations of the logarithm of an estimate, from errors on held-out rows.

    Attributes
    ----------
    by_case : fold of families -> key of a case -> of networks, without that fold's errors; -1: by all folds.
    few_steps : of the speed of a GPU that is known by few steps; by whether no GPU of its generation is known by many.
    unknown_gpu : of a GPU none of whose steps, and none of whose chip's, are known.
    source : between sources.
    """

    by_case: Mapping[int, Mapping[str, float]]
    few_steps: Mapping[bool, float]
    unknown_gpu: float
    source: float = 0.0

    def half_widths(self, held: pd.DataFrame) -> np.ndarray:
        """Of the intervals of `held_out_rows`, in the logarithm, by families in other folds than the row's family."""
        of_gpu, is_new = self._of_gpus(held), held["is_new_source"]
        of_source = np.hypot(held["host_log_sd"], self.source) * is_new
        return np.asarray(quantile() * np.sqrt(_case_sds(self.by_case, held) ** 2 + of_gpu**2 + of_source**2))

    def _of_gpus(self, held: pd.DataFrame) -> np.ndarray:
        steps, few = held["gpu_steps"], held["is_alone"].map(self.few_steps)
        return np.select([steps < 0, steps < OFTEN], [np.maximum(few, self.unknown_gpu), few], 0.0)

    def of_pairs(self, held: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Of the networks and of the GPUs of `measured_pairs.held_out_steps`."""
        return np.array([self.by_case[-1][key] for key in held["case_key"]]), self._of_gpus(held)


def _case_sds(by_case: Mapping[int, Mapping[str, float]], held: pd.DataFrame) -> np.ndarray:
    cases = zip(held["family_fold"], held["case_key"], strict=True)
    return np.array([by_case[fold][key] for fold, key in cases]) * np.sqrt(held["share"].to_numpy())


def doubts_of(held: Mapping[str, pd.DataFrame]) -> Doubts:
    """From held-out families, GPUs and sources: what their errors need beyond what the intervals have without it."""
    by_case = {fold: log_sds_by_case(held["families"], skip=fold) for fold in range(-1, FOLDS)}
    doubts = Doubts(by_case, few_steps={False: 0.0, True: 0.0}, unknown_gpu=UNKNOWN_GPU_LOG_SD)
    of_gpus = pd.concat([held[name].assign(fold=name) for name in ("gpus", "cell GPUs")], ignore_index=True)
    of_gpus = of_gpus[of_gpus["gpu_steps"].between(0, OFTEN - 1)]
    few = {alone: _needed(some, doubts, some["fold"] + some["gpu"]) for alone, some in of_gpus.groupby("is_alone")}
    doubts = replace(doubts, few_steps=few)
    sources = held["sources"]
    return replace(doubts, source=_needed(sources, doubts, sources["source"].str.replace(r" \d\.\d$", "", regex=True)))


def _needed(held: pd.DataFrame, doubts: Doubts, names: pd.Series) -> float:
    """Return the standard deviation that is missing; rows of a name count together as the root of their number."""
    needed = np.sqrt(np.maximum(held["log_error"] ** 2 - doubts.half_widths(held) ** 2, 0))
    weights = 1 / np.sqrt(names.groupby(names).transform("size"))
    return float(log_sd_of(weighted_quantile(needed.to_numpy(), weights.to_numpy(), LEVEL)))


def log_sds_by_case(held: pd.DataFrame, skip: int = -1) -> dict[str, float]:
    """Key of each case -> standard deviation of the log error on held-out families, from its 90 % quantile.

    A case of few errors takes those of its network's case at all precisions, or all.

    Parameters
    ----------
    skip : fold whose errors don't count.
    """
    rows = held[(held["family_fold"] != skip) & ~held["gpu_steps"].between(0, OFTEN - 1)]
    log_sds = {}
    for case, mode, batch in product(Case, Mode, (1, 64)):
        key = case_key(case, mode, batch)
        parts = rows[rows["case_key"] == key], rows[rows["case"] == str(case)], rows
        wider = next((part for part in parts if len(part) >= _MIN_ERRORS), rows)
        log_sds[key] = float(log_sd_of(conformal(wider["log_error"].abs().to_numpy())))
    return log_sds


def conformal(errors: np.ndarray, level: float = LEVEL) -> float:
    """Quantile of absolute log errors on held-out rows, with the finite-sample correction of split conformal."""
    ordered = np.sort(errors)
    place = min(math.ceil((len(ordered) + 1) * level), len(ordered)) - 1
    return float(ordered[place])


def known_steps(rows: pd.DataFrame, log_ratios: np.ndarray) -> dict[str, Any]:
    """Measured steps of networks by name, sorted by network, as `estimate.json` holds them."""
    is_step = (rows["starts"] == 1).to_numpy()
    rows, log_ratios = rows[is_step], log_ratios[is_step]
    network, networks = pd.factorize(known_as(rows), sort=True)
    steps = rows[["mode", "batch_size", "pixels"]].assign(ratio=[_rounded(value) for value in log_ratios.tolist()])
    steps.insert(0, "network", network)
    steps.insert(1, "generation", capabilities(rows))
    rows_by_step = sorted(map(list, steps.itertuples(index=False, name=None)))
    networks_and_steps = {"networks": [*networks], "steps": rows_by_step}
    known = known_steps_in({**networks_and_steps, "variances": dict.fromkeys(("measured", "others"), _VARIANCES)})
    variances = {name: likely_variances(known, is_profet=name == "measured") for name in ("measured", "others")}
    return {**networks_and_steps, "variances": variances}


def capabilities(rows: pd.DataFrame) -> np.ndarray:
    """Compute capability of each row's GPU; 0: it has none."""
    return np.array([load_gpus()[gpu].compute_capability or 0.0 for gpu in rows["gpu"]])


def known_as(rows: pd.DataFrame) -> pd.Series:
    """Return the name of each row's network in the file."""
    names = zip(rows["network"], rows["source"] == PROFET, strict=True)
    known = [PROFET_PREFIX + name if is_cell else shared_name(name) for name, is_cell in names]
    return pd.Series(known, index=rows.index)


def likely_variances(known: MeasuredRatios, *, is_profet: bool) -> list[float]:
    """Return the variances of PROFET's networks, or of others, under which what was measured of them is likeliest."""
    by_length: dict[int, list[tuple[np.ndarray, ...]]] = {}
    for name, (start, end) in known.names.items():
        rows = slice(start, end)
        if name.startswith(PROFET_PREFIX) == is_profet and end - start > 1:
            ratios = np.clip(known.log_ratios[rows], -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
            alike = known.alike(rows, known.log_sizes[rows], known.modes[rows], known.generations[rows])
            by_length.setdefault(end - start, []).append((*alike, ratios))
    # Networks with as many steps are decomposed at once.
    stacks = [[np.stack(each) for each in zip(*stack, strict=True)] for stack in by_length.values()]

    def surprise(logs: np.ndarray) -> float:
        everywhere, near, there, row = np.exp(logs)
        total = 0.0
        for near_here, beside, ratios in stacks:
            noise = row * np.eye(ratios.shape[1])
            roots = np.linalg.cholesky(everywhere + near * near_here + there * beside + noise)
            whitened = np.linalg.solve(roots, ratios[..., None])
            total += float(np.log(np.diagonal(roots, axis1=1, axis2=2)).sum() + 0.5 * (whitened**2).sum())
        return total

    if not stacks:
        return list(_VARIANCES)
    options = {"maxiter": _MAX_SEARCH, "xatol": 0.05, "fatol": 1.0}
    best = minimize(surprise, np.log(_VARIANCES), method="Nelder-Mead", options=options)
    return [round(float(value), 2 * _DIGITS) for value in np.exp(best.x)]


_FEATURES = 8
_TREES = {"num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 10, "verbosity": -1, "num_threads": 1, "seed": 0}
_XGBOOST = {"max_depth": 5, "eta": 0.05, "tree_method": "hist", "nthread": 1, "seed": 0}
_ROUNDS = 200
_DEEPER = ("VGG16", "VGG19", "ResNet50")


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Validate on held-out data.

    Returns
    -------
    steps, networks, gpus : how much was fitted.
    judged : `error_figures` by what is `held_out`.
    measured_pairs : kind of pair -> errors of a step from another one's measured time.
    measured_shares : the `layers.measured.Shares` that suit all pairs best.
    inside : case, source or small batch -> those of families held out.
    by_source, by_gpu, by_network : those of published sources and GPUs and of PROFET's networks held out.
    regressions : PROFET's cells by the paper's splits, the regression's and the boosted trees' errors.
    memory : does it fit, by counts, one architecture held out.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    fitted = fit(fit_problem)
    held = held_out_rows(fit_problem, fitted, tuple(folds_of(rows)), progress)
    doubts = doubts_of(held)
    held = {name: table.assign(log_half_width=doubts.half_widths(table)) for name, table in held.items()}
    families, answered = held["families"], held[AS_ANSWERED]
    timm, case = families["source"] == TIMM, families["case"]
    is_cnn, is_transformer = ~case.isin([str(Case.HYBRID), str(Case.TRANSFORMER)]), case == str(Case.TRANSFORMER)
    cases = {
        f"families, RTX 3090 AMP, {name}{ending}": families[timm & (families["mode"] == mode) & among]
        for name, mode in (("NCHW", Mode.HALF), ("channels-last", Mode.HALF_CHANNELS_LAST))
        for ending, among in (
            ("", is_cnn),
            (": depthwise", case == str(Case.DEPTHWISE)),
            (": transformers", is_transformer),
        )
    }
    cases |= {
        "families, RTX 3090 AMP: hybrids": families[timm & (case == str(Case.HYBRID))],
        "families, all other published rows": families[~timm],
        "families, as answered to users of another source": answered,
        "one source of published rows": held["sources"],
        "one published GPU, its ResNet-50 known": held["gpus"],
        "PROFET's cells: workloads": held["workloads"],
        "PROFET's cells: networks": held["networks"],
        "PROFET's cells: GPUs": held["cell GPUs"],
    }
    pairs, parts_ms = held_out_steps(fit_problem, fitted, progress)
    measured_pairs, shares = pairs_report(pairs, parts_ms, *doubts.of_pairs(pairs), doubts.source)
    inside = {str(case): answered[answered["case"] == str(case)] for case in Case}
    inside |= {f"batch below {SMALL_BATCH}": answered[answered["batch_size"] < SMALL_BATCH]}
    inside |= {str(source): part for source, part in answered.groupby("source")}
    return {
        "steps": len(rows),
        "networks": rows["network"].nunique(),
        "gpus": rows["gpu"].nunique(),
        "judged": [{"held_out": name, **_figures(part)} for name, part in cases.items()],
        "measured_pairs": measured_pairs,
        "measured_shares": shares._asdict(),
        "inside": {name: _figures(part) for name, part in inside.items()},
        "by_source": {name: _figures(part) for name, part in held["sources"].groupby("source")},
        "by_gpu": {name: _figures(part) for name, part in held["gpus"].groupby("gpu")},
        "by_network": {name: _figures(part) for name, part in held["networks"].groupby("network")},
        "regressions": regressions(rows[rows["source"] == PROFET]),
        "memory": layers_known(measurements, folder),
    }


def _figures(held: pd.DataFrame) -> dict[str, float]:
    return error_figures(held["log_error"], held["log_half_width"])


def regressions(cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return a regression after Lattuada et al. (2022), and boosted trees, on PROFET's cells.

    Only the paper's abstract was read: linear regression on features of the network and the GPU that sequential forward
    selection chose; here on logarithms.

    Returns
    -------
    by_split : split of the paper's four tests -> number of judged cells, and mean error of each method, percent.
    """
    work, sizes = cells[list(KINDS)].to_numpy(), cells[["batch_size", "pixels", "operations"]].to_numpy(float)
    # One figure of the GPU: three GPUs can't tell more of them apart.
    tflops = cells["gpu"].map(lambda name: load_gpus()[name].fp32_tflops)
    features = np.column_stack([np.log1p(work), np.log(work.sum(axis=1)), np.log(sizes), np.log(tflops)])
    log_ms = np.log(cells["latency_ms"].to_numpy())
    random = np.random.default_rng(0).integers(0, 5, len(cells))
    larger, deeper = (cells["batch_size"] > 64).to_numpy(), cells["network"].isin(_DEEPER).to_numpy()
    gpus = [(cells["gpu"] == gpu).to_numpy() for gpu in sorted(set(cells["gpu"]))]
    splits: dict[str, list[Fold]] = {
        "interpolation": [(random != fold, random == fold) for fold in range(5)],
        "larger batch": [(~larger, larger)],
        "deeper network": [(~deeper, deeper)],
        "unseen GPU": [(~held, held & (cells["network"] != BENCHMARK).to_numpy()) for held in gpus],
    }
    by_split: dict[str, dict[str, Any]] = {}
    for name, folds in splits.items():
        errors: dict[str, list[np.ndarray]] = {"regression": [], "lightgbm": [], "xgboost": []}
        for learned, judged in folds:
            chosen = SequentialFeatureSelector(LinearRegression(), n_features_to_select=_FEATURES, cv=5)
            line = make_pipeline(chosen, LinearRegression()).fit(features[learned], log_ms[learned])
            trees = lightgbm.train(_TREES, lightgbm.Dataset(features[learned], log_ms[learned]), _ROUNDS)
            more = xgboost.train(_XGBOOST, xgboost.DMatrix(features[learned], log_ms[learned]), _ROUNDS)
            errors["regression"].append(line.predict(features[judged]) - log_ms[judged])
            errors["lightgbm"].append(np.asarray(trees.predict(features[judged])) - log_ms[judged])
            errors["xgboost"].append(more.predict(xgboost.DMatrix(features[judged])) - log_ms[judged])
        means = {method: float(100 * np.abs(np.expm1(np.concatenate(each))).mean()) for method, each in errors.items()}
        by_split[name] = {"n": sum(int(judged.sum()) for _, judged in folds), **means}
    return by_split


RATES_TABLE = "rates.csv"
#: Uncertainty of the speed of a GPU that is known at small batches alone, by judgment.
_SMALL_LOG_SD = 0.15


def fit_and_write(measurements: Measurements, folder: Path, out: Path, progress: Progress | None = None) -> RateModel:
    """Fit on all measurements, take the intervals from held-out errors, and write the files.

    Parameters
    ----------
    folder : of the data.
    out : a models folder.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    fitted = fit(fit_problem)
    held = held_out_rows(fit_problem, fitted, ("families", "gpus", "cell GPUs", "sources"), progress)
    doubts = doubts_of(held)
    files = (LATENCIES_FILE, *FILES)
    content = {
        **coefficients(fit_problem, fitted, doubts.few_steps),
        "unknown_gpu_log_sd": _rounded(doubts.unknown_gpu),
        "source_log_sd": _rounded(doubts.source),
        "launch_log_sd": _rounded(launch_log_sd(fit_problem.rows, fit_problem.keys, fitted)),
        "log_sds": {key: _rounded(value) for key, value in doubts.by_case[-1].items()},
        "fitted_on": {
            "steps": str(len(rows)),
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in files},
        },
    }
    write_coefficients(signed(content), out / RATES_NAME)
    model = load_rates(out)
    write_whole(out / RATES_TABLE, rates_table(model).encode())
    return model


def coefficients(fit_problem: Problem, fitted: np.ndarray, few_steps_log_sds: Mapping[bool, float]) -> dict[str, Any]:
    """Return the fitted effects as `estimate.json` holds them, but for the intervals.

    Parameters
    ----------
    few_steps_log_sds : uncertainty of the speed of a GPU that is known by few steps, as `Doubts` has it.
    """
    values = dict(zip(fit_problem.keys, fitted.tolist(), strict=True))

    def effect(*key: str) -> float:
        return values.get(key, 0.0)

    rows, offers, answered = fit_problem.rows, load_shipped(), as_new_source(fit_problem.keys, fitted)
    chips, known = set(rows["chip"]), known_generations(rows)

    def log_cost(kind: str, mode: Mode) -> float:
        base, group = base_mode(mode), group_of(kind)
        in_mode = effect("mode", kind, base.name) + effect("group in mode", group, base.name)
        in_mode += effect("group in mode", group, mode.name) if mode is not base else 0.0
        return effect("kind", kind) + effect("year", kind) + in_mode

    def of_generation(gpu: Gpu, part: str) -> float:
        return effect("gpu", part, generation_of(gpu)) + effect("gpu", part, line_of(gpu)) if part else 0.0

    def part_of(kind: str) -> str:
        return "compute" if kind in FLOPS else "bandwidth" if kind in (*ELEMENTS, *ONCE) else ""

    def effects_on(gpu: str, specific: str, name: str) -> dict[str, Any]:
        logs, chip = [], chip_of(gpu)
        for kind in KINDS:
            if kind in PRODUCTS:
                logs.append(0.0)
                continue
            part = part_of(kind)
            own = effect(f"kind on {specific}", kind, name) + effect(f"group on {specific}", group_of(kind), name)
            own += effect("speed", chip) + effect("speed", gpu) + (effect("speed", name) if name != gpu else 0.0)
            own += effect("source on", PROFET, name)
            faster = effect("gpu", part, chip) + effect("gpu", part, gpu) if part else 0.0
            faster += of_generation(load_gpus()[gpu], part)
            logs.append(_rounded(own - faster))
        sizes = rows.loc[rows["gpu"] == gpu, "batch_size"]
        if chip not in chips:
            return {"log_costs": logs, "rows": 0}
        few_log_sd = few_steps_log_sds[generation_of(load_gpus()[gpu]) not in known]
        log_sd = 0.0 if len(sizes) >= OFTEN else _rounded(few_log_sd)
        if sizes.max() < SMALL_BATCH:
            log_sd = max(log_sd, _SMALL_LOG_SD)
        return {"log_costs": logs, "log_sd": log_sd, "rows": len(sizes)}

    instances = sorted(set(rows["instance"]) - {""})
    gpu_of = {name: load_gpus().find(offers[name].gpu, offers[name].gpu_memory_gib).name for name in instances}
    source, launch, start = effect("source", PROFET), effect("launch"), effect("start")
    powers = Powers(*(_rounded(effect("power", part)) for part in Powers._fields))
    on_gpus = {gpu: effects_on(gpu, "GPU", gpu) for gpu in sorted(load_gpus())}
    return {
        "schema_version": RATES_VERSION,
        "kinds": list(KINDS),
        "log_costs": {mode.name: [_rounded(log_cost(kind, mode)) for kind in KINDS] for mode in Mode},
        "powers": powers._asdict(),
        "gpus": in_order(on_gpus, powers, {gpu: -of_generation(load_gpus()[gpu], "tensor") for gpu in on_gpus}),
        # Costs are of GPUs none of whose chip's steps are known, those on tensor cores of all.
        "generations": [
            {
                "compute_capability": gpu.compute_capability,
                "log_costs": [_rounded(-of_generation(gpu, part_of(kind))) for kind in KINDS],
                "log_tensor_cost": _rounded(-of_generation(gpu, "tensor")),
            }
            for gpu in {one.compute_capability: one for one in load_gpus().values()}.values()
        ],
        "average": {
            "log_costs": [0.0] * len(KINDS),
            "log_launch": _rounded(launch + effect("launch", "eager") + effect("year", "launch")),
            "log_start_ms": _rounded(start),
        },
        "measured": {
            "log_costs": [
                _rounded(
                    source
                    + effect("kind of source", kind, PROFET)
                    + effect("group of source", group_of(kind), PROFET)
                    # Costs are those of today's software.
                    - effect("year", kind) * (1 - fit_problem.rows.loc[rows["source"] == PROFET, "modern"].max())
                )
                for kind in KINDS
            ],
            "log_launch": _rounded(source + launch + effect("launch of source", PROFET)),
            "log_start_ms": _rounded(start + effect("start of source", PROFET)),
        },
        "instances": {
            name: {
                "gpu": gpu_of[name],
                "log_launch": _rounded(effect("launch on", PROFET, name)),
                **effects_on(gpu_of[name], "instance", name),
            }
            for name in instances
        },
        "transformer_log_costs": [_rounded(effect("transformer", kind)) for kind in KINDS],
        "transformer_gpus": sorted(set(rows.loc[rows["case"] == Case.TRANSFORMER, "gpu"])),
        "known": known_steps(rows, np.log(rows["latency_ms"].to_numpy() / predicted_ms(fit_problem, answered))),
    }


def is_no_slower(gpu: Gpu, other: Gpu) -> bool:
    """Whether a GPU has to be as fast as another one: of its maker and line, no earlier, with no less of anything."""
    generations = gpu.compute_capability, other.compute_capability
    is_earlier = generations[0] is None or generations[1] is None or generations[0] < generations[1]
    if line_of(gpu) != line_of(other) or (is_earlier and generations != (None, None)):
        return False
    mine, its = compared_specs(gpu), compared_specs(other)
    return mine > its and all(own >= others for own, others in zip(mine, its, strict=True))


#: Times that all pairs are brought into order, each of which may undo another's.
_ORDERINGS = 200


def in_order(
    effects: Mapping[str, dict[str, Any]], powers: Powers, log_tensor_costs: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Effects under which no kind of work costs more on a GPU than on one with no more of anything and no later.

    Two GPUs whose steps say otherwise meet between, near the one with more of them: their tables had other hosts and
    coolers. So no answer has to be put into order.

    Parameters
    ----------
    log_tensor_costs : of the GPU's generation, on tensor cores besides.
    """
    gpus, names = load_gpus(), list(effects)
    log_costs = np.array([effects[name]["log_costs"] for name in names])
    trust = np.array([effects[name]["rows"] + 1.0 for name in names])
    specs = {
        mode: np.stack([spec_log_costs(powers, gpus[name], mode, log_tensor_costs[name]) for name in names])
        for mode in Mode
    }
    pairs = []
    for (row, better), (other, less) in permutations(enumerate(names), 2):
        if is_no_slower(gpus[better], gpus[less]):
            modes = {mode_of(gpus[better], precision, code) for precision, code in product(PRECISIONS, CODES)}
            slack = np.min([specs[mode][other] - specs[mode][row] for mode in modes], axis=0)
            pairs.append((row, other, slack))
    for _ in range(_ORDERINGS):
        most = 0.0
        for row, other, slack in pairs:
            over = np.maximum(log_costs[row] - log_costs[other] - slack, 0.0)
            share = trust[other] / (trust[row] + trust[other])
            log_costs[row] -= share * over
            log_costs[other] += (1 - share) * over
            most = max(most, float(over.max()))
        if most < 10**-_DIGITS:
            break
    return {name: {**effects[name], "log_costs": logs} for name, logs in zip(names, log_costs.tolist(), strict=True)}


def _rounded(value: float) -> float:
    return round(value, _DIGITS)


def rates_table(model: RateModel) -> str:
    """Rates by GPU and mode, one column a kind, with how sure they are.

    Rates are forward work of a training step per second: TFLOP, billions of values written, billions of parameters,
    thousands of images' values or of kernels.
    """
    rows = []
    for gpu in load_gpus().values():
        modes = [mode_of(gpu, FP32, "plain"), mode_of(gpu, TF32, "plain")]
        modes += [mode_of(gpu, AMP, code) for code in ("plain", "channels-last")]
        for mode in dict.fromkeys(modes):
            costs = model.costs_ms(gpu, Mode(mode), model.average)
            known = model.gpus.get(gpu.name)
            rates = [f"{1 / cost:.3g}" for cost in costs.tolist()]
            name = mode.name.lower().replace("_", " ")
            rows.append([gpu.name, name, *rates, f"{model.gpu_log_sd(gpu.name):.2f}", known.rows if known else 0])
    units = [f"{kind} TFLOP/s" for kind in FLOPS] + [f"{kind} G/s" for kind in (*ELEMENTS, *ONCE)]
    columns = ["gpu", "mode", *units, "images G/s", "kernels M/s", "log_sd", "steps"]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n")
