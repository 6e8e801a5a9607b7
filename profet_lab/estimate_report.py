"""Judge estimates without a profile on held-out data; write `estimate.json` and the table of rates."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from scipy.optimize import minimize
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import AMP, FP32, TF32
from profet_core.files import sha256_hex
from profet_core.latency import LEVEL, log_sd_of
from profet_core.layers.networks import PROFET as PROFET_PREFIX
from profet_core.layers.networks import shared_name
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    ONCE,
    RATES_NAME,
    RATES_VERSION,
    SMALL_BATCH,
    Case,
    KnownSteps,
    Mode,
    RateModel,
    case_key,
    known_steps_in,
    load_rates,
    mode_of,
)
from profet_lab.estimate_fit import (
    BENCHMARK,
    OFTEN,
    PROFET,
    TIMM,
    EstimateRows,
    Problem,
    as_new_source,
    chip_of,
    estimate_rows,
    fit,
    group_of,
    hosts,
    launched_shares,
    log_power_limit,
    predicted_ms,
    problem,
    today_log_launch,
)
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import LATENCIES_FILE, Measurements
from profet_lab.memory import layers_known
from profet_lab.models_folder import signed, write_coefficients
from profet_lab.tasks import Progress, run_tasks
from profet_recorder.whole_files import write_whole

#: Masks of the rows that are learned from and that are judged.
Fold = tuple[np.ndarray, np.ndarray]
#: Folds of families, of networks and of published GPUs; each holds out several at once.
FOLDS = 12
WORKLOAD_FOLDS = 5
#: The benchmark on a held-out GPU of PROFET's: pixels and batch size.
_BENCHMARK_SIZE = (224, 32)
#: Fewer errors than this take the interval of a wider case.
_MIN_ERRORS = 25
#: Where the search for the variances of known networks starts, and larger log ratios than count in it.
_VARIANCES, _MAX_LOG_RATIO, _MAX_SEARCH = (0.01, 0.005, 0.003, 0.005), 0.5, 200
_DIGITS = 4


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows that were held out.

    Attributes
    ----------
    latency_ms : (rows,); NaN for rows that no fold holds out.
    folds : number of the fold, -1 for none.
    gpu_steps : steps on the row's GPU in that fold, -1 if there are none on its chip either, (rows,).
    shares : of the variance that is left after what is known of the network, (rows,).
    host_log_sds : uncertainty by its host, (rows,).
    is_new_source : whether the answer leaves the source's effect away.
    """

    latency_ms: np.ndarray
    folds: np.ndarray
    gpu_steps: np.ndarray
    shares: np.ndarray
    host_log_sds: np.ndarray
    is_new_source: bool

    @property
    def rows(self) -> np.ndarray:
        """Mask of the rows that were held out."""
        found: np.ndarray = self.folds >= 0
        return found

    @property
    def is_point(self) -> np.ndarray:
        """Mask of the rows whose GPU is known by few steps."""
        found: np.ndarray = (self.gpu_steps >= 0) & (self.gpu_steps < OFTEN)
        return found


@dataclass
class Judge:
    """Fits on parts of the rows, starting from the fit on all of them."""

    fit_problem: Problem
    fitted: np.ndarray
    progress: Progress | None = None

    @property
    def data(self) -> EstimateRows:
        """All rows."""
        return self.fit_problem.rows

    @cached_property
    def is_cell(self) -> np.ndarray:
        """Mask of PROFET's cells."""
        found: np.ndarray = self.data.sources == PROFET
        return found

    @cached_property
    def families(self) -> HeldOut:
        """Published rows, each family held out of everything; a GPU known by one family alone stays known."""
        return self._held_out(self._family_fits, is_known=False)

    @cached_property
    def families_as_answered(self) -> HeldOut:
        """The same without the effect of their source, as users are answered."""
        return self._held_out(self._family_fits, is_known=False, is_new_source=True)

    @cached_property
    def sources(self) -> HeldOut:
        """Published rows, each source held out."""
        folds = self._grouped(self.data.sources, ~self.is_cell, folds=len(self.data))
        return self._held_out(self._fits(folds), is_known=True, is_new_source=True)

    @cached_property
    def _family_fits(self) -> list[tuple[Fold, np.ndarray]]:
        data = self.data
        pairs = np.unique(np.stack([data.gpus, data.families]), axis=1)
        names, numbers = np.unique(pairs[0], return_counts=True)
        has_others = np.isin(data.gpus, names[numbers > 1])
        return self._fits(
            (learned | ~has_others, judged & has_others)
            for learned, judged in self._grouped(data.families, ~self.is_cell)
        )

    @cached_property
    def gpus(self) -> HeldOut:
        """Published rows, each GPU held out but for its ResNet-50, if there is one."""
        data = self.data
        is_benchmark = ~self.is_cell & np.isin(data.networks, ["resnet50", "timm/resnet50"])
        has_benchmark = np.isin(data.gpus, np.unique(data.gpus[is_benchmark]))

        def folds() -> Iterator[Fold]:
            for _, judged in self._grouped(data.gpus, ~self.is_cell & has_benchmark):
                held = np.isin(data.gpus, np.unique(data.gpus[judged])) & ~is_benchmark
                yield ~held, held & ~self.is_cell

        return self._held_out(self._fits(folds()), is_known=True)

    @cached_property
    def workloads(self) -> HeldOut:
        """Cells, each workload held out on all GPUs at once."""
        keys = np.array([f"{a} {b} {c}" for a, b, c in zip(*self._sizes, strict=True)])
        order = np.random.default_rng(0).permutation(len(np.unique(keys)))
        numbers = order[np.unique(keys, return_inverse=True)[1]] % WORKLOAD_FOLDS

        def folds() -> Iterator[Fold]:
            for fold in range(WORKLOAD_FOLDS):
                judged = self.is_cell & (numbers == fold)
                yield ~judged, judged

        return self._held_out(self._fits(folds()), is_known=True)

    @cached_property
    def networks(self) -> HeldOut:
        """Cells, each network held out on all GPUs."""
        folds = self._grouped(self.data.networks, self.is_cell, folds=15)
        return self._held_out(self._fits(folds), is_known=False)

    @cached_property
    def cell_gpus(self) -> HeldOut:
        """Cells, each GPU held out with its published rows but for ResNet-50 at 224 pixels and batch 32."""
        data = self.data
        is_known = (data.networks == BENCHMARK) & (data.pixels == _BENCHMARK_SIZE[0])
        is_known &= data.batch_sizes == _BENCHMARK_SIZE[1]

        def folds() -> Iterator[Fold]:
            for gpu in np.unique(data.gpus[self.is_cell]):
                held = (data.gpus == gpu) & ~(self.is_cell & is_known)
                yield ~held, held & self.is_cell & (data.networks != BENCHMARK)

        return self._held_out(self._fits(folds()), is_known=True)

    @property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.data.networks, self.data.pixels, self.data.batch_sizes

    def _grouped(self, names: np.ndarray, among: np.ndarray, folds: int = FOLDS) -> Iterator[Fold]:
        """Folds that hold out whole names, the most frequent ones in different folds."""
        found, numbers = np.unique(names[among], return_counts=True)
        order = found[np.argsort(-numbers, kind="stable")]
        for fold in range(min(folds, len(order))):
            held = np.isin(names, order[fold::folds])
            yield ~held, held & among

    def _fits(self, folds: Iterable[Fold]) -> list[tuple[Fold, np.ndarray]]:
        pairs = list(folds)
        tasks = [(self.fit_problem.subset(learned), self.fitted) for learned, _ in pairs]
        return list(zip(pairs, run_tasks(fit, tasks, progress=self.progress, threads=True), strict=True))

    def _held_out(
        self, fits: Iterable[tuple[Fold, np.ndarray]], *, is_known: bool, is_new_source: bool = False
    ) -> HeldOut:
        data, fit_problem = self.data, self.fit_problem
        latency_ms, shares = np.full(len(data), np.nan), np.ones(len(data))
        numbers, steps, host_log_sds = np.full(len(data), -1), np.zeros(len(data), int), np.zeros(len(data))
        for number, ((learned, judged), fitted) in enumerate(fits):
            numbers[judged] = number
            answered = as_new_source(fit_problem.keys, fitted) if is_new_source else fitted
            latency_ms[judged] = predicted_ms(fit_problem.subset(judged), answered)
            launched = launched_shares(fit_problem.subset(judged), answered)
            host_log_sds[judged] = launched * [host.log_sd for host in hosts(data.subset(judged))]
            counts = Counter(data.gpus[learned].tolist())
            chips = set(map(chip_of, counts))
            steps[judged] = [counts[gpu] if chip_of(gpu) in chips else -1 for gpu in data.gpus[judged].tolist()]
            if is_known:
                ratios = np.log(data.latency_ms[learned] / predicted_ms(fit_problem.subset(learned), answered))
                known = known_steps_in(known_steps(data.subset(learned), ratios))
                corrections, shares[judged] = _corrections(known, data.subset(judged))
                latency_ms[judged] *= np.exp(corrections)
        return HeldOut(latency_ms, numbers, steps, shares, host_log_sds, is_new_source)

    def log_errors(self, held: HeldOut) -> np.ndarray:
        """log(predicted / measured), (rows,); NaN where nothing is predicted."""
        found: np.ndarray = np.log(held.latency_ms / self.data.latency_ms)
        return found

    def half_widths(self, held: HeldOut) -> np.ndarray:
        """Half of the intervals, in the logarithm, (rows,), from families in other folds than the row's family."""
        doubts = np.where(held.is_point, self.point_log_sd, np.where(held.gpu_steps < 0, self.unknown_gpu_log_sd, 0.0))
        if held.is_new_source:
            doubts = np.hypot(np.hypot(doubts, held.host_log_sds), self.source_log_sd)
        return np.hypot(self._case_half_widths(held), doubts / log_sd_of(1.0))

    def _case_half_widths(self, held: HeldOut) -> np.ndarray:
        """The part of the network and the mode, (rows,)."""
        found = np.full(len(self.data), np.nan)
        family_folds = self.families.folds
        for fold in range(-1, FOLDS):
            rows = held.rows & (family_folds == fold)
            case_sds = np.array([self.log_sds[fold][str(key)] for key in self.keys[rows]])
            found[rows] = case_sds * np.sqrt(held.shares[rows]) / log_sd_of(1.0)
        return found

    @cached_property
    def keys(self) -> np.ndarray:
        """Key of each row's case, (rows,)."""
        data = self.data
        columns = zip(data.cases.tolist(), data.modes.tolist(), data.batch_sizes.tolist(), strict=True)
        return np.array([case_key(Case(case), Mode(mode), batch_size) for case, mode, batch_size in columns])

    @cached_property
    def point_log_sd(self) -> float:
        """Uncertainty of the speed of a GPU that is known by few steps: what intervals need on held-out GPUs.

        Each GPU counts as much as another, however many steps it has.
        """
        rows = self.gpus.rows & self.gpus.is_point
        halves, errors = self._case_half_widths(self.gpus)[rows], self.log_errors(self.gpus)[rows]
        needed = np.sqrt(np.maximum(errors**2 - halves**2, 0.0))
        _, places, numbers = np.unique(self.data.gpus[rows], return_inverse=True, return_counts=True)
        order = np.argsort(needed)
        weights = np.cumsum(1 / numbers[places][order])
        return float(log_sd_of(needed[order][np.searchsorted(weights, LEVEL * weights[-1])]))

    @cached_property
    def source_log_sd(self) -> float:
        """Spread of the mean errors of held-out sources, on GPUs that are known without them."""
        rows = self.sources.rows & (self.sources.gpu_steps >= OFTEN)
        names, errors = self.data.sources[rows], self.log_errors(self.sources)[rows]
        means = [errors[names == name].mean() for name in np.unique(names)]
        return float(np.sqrt(np.mean(np.square(means))))

    @cached_property
    def unknown_gpu_log_sd(self) -> float:
        """Uncertainty of the speed of a GPU by its specs: the spread of the fitted ones around theirs."""
        values = dict(zip(self.fit_problem.keys, self.fitted.tolist(), strict=True))
        chips = set(map(chip_of, set(self.data.gpus.tolist())))
        found = [values["speed", key[2]] - each for key, each in values.items() if key[0] == "gpu" and key[2] in chips]
        return float(np.sqrt(np.mean(np.square(found))))

    @cached_property
    def log_sds(self) -> Mapping[int, Mapping[str, float]]:
        """Fold of families -> `log_sds_by_case` without it; -1 for those of all folds."""
        return {fold: log_sds_by_case(self, skip=fold) for fold in range(-1, FOLDS)}


def _corrections(known: KnownSteps, rows: EstimateRows) -> tuple[np.ndarray, np.ndarray]:
    where = np.where(rows.instances == "", rows.gpus, rows.instances)
    found = [
        known.correction(known_as(str(name), str(source)), str(place), Mode(int(mode)), int(batch_size), int(pixels))
        for name, source, place, mode, batch_size, pixels in zip(
            rows.networks, rows.sources, where, rows.modes, rows.batch_sizes, rows.pixels, strict=True
        )
    ]
    ratios, shares = np.array(found).T
    return ratios, shares


def log_sds_by_case(judge: Judge, skip: int = -1) -> Mapping[str, float]:
    """Key of each case -> standard deviation of the log error on held-out families, from its 90 % quantile.

    A case of few errors takes those of its network's case at all precisions, or all.

    skip : fold whose errors don't count.
    """
    held, data = judge.families, judge.data
    errors = np.abs(judge.log_errors(held))
    rows = held.rows & (held.folds != skip) & ~held.is_point
    found = {}
    for case in Case:
        for mode in Mode:
            for batch in (1, 64):
                key = case_key(case, mode, batch)
                same = rows & (judge.keys == key)
                is_case = rows & (data.cases == str(case))
                wider = next((one for one in (same, is_case, rows) if one.sum() >= _MIN_ERRORS), rows)
                found[key] = float(log_sd_of(conformal(errors[wider])))
    return found


def conformal(errors: np.ndarray, level: float = LEVEL) -> float:
    """Quantile of absolute log errors on held-out rows, with the finite-sample correction of split conformal."""
    ordered = np.sort(errors)
    place = min(math.ceil((len(ordered) + 1) * level), len(ordered)) - 1
    return float(ordered[place])


def known_steps(rows: EstimateRows, log_ratios: np.ndarray) -> dict[str, Any]:
    """Measured steps of networks by name, sorted by network, as `estimate.json` holds them."""
    names = [known_as(str(name), str(source)) for name, source in zip(rows.networks, rows.sources, strict=True)]
    networks = sorted(set(names))
    where = np.where(rows.instances == "", rows.gpus, rows.instances)
    places = sorted(set(where.tolist()))
    number, place_of = ({name: index for index, name in enumerate(names)} for names in (networks, places))
    steps = [
        [
            number[names[row]],
            place_of[str(where[row])],
            int(rows.modes[row]),
            int(rows.batch_sizes[row]),
            int(rows.pixels[row]),
            round(float(log_ratios[row]), _DIGITS),
        ]
        for row in range(len(rows))
    ]
    found = {"networks": networks, "places": places, "steps": sorted(steps)}
    is_cell = rows.sources == PROFET
    each = {"measured": is_cell, "others": ~is_cell}
    known = known_steps_in({**found, "variances": dict.fromkeys(each, _VARIANCES)})
    return {**found, "variances": {name: likely_variances(known, is_profet=name == "measured") for name in each}}


def likely_variances(known: KnownSteps, *, is_profet: bool) -> list[float]:
    """The variances of PROFET's networks, or of others, under which what was measured of them is likeliest."""
    by_length: dict[int, list[tuple[np.ndarray, ...]]] = {}
    for name, (start, end) in known.names.items():
        rows = slice(start, end)
        if name.startswith(PROFET_PREFIX) == is_profet and end - start > 1:
            ratios = np.clip(known.log_ratios[rows], -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
            alike = known.alike(rows, known.log_sizes[rows], known.modes[rows], known.places[rows])
            by_length.setdefault(end - start, []).append((*alike, ratios))
    # Networks with as many steps are decomposed at once.
    stacks = [[np.stack(each) for each in zip(*found, strict=True)] for found in by_length.values()]

    def surprise(logs: np.ndarray) -> float:
        everywhere, near, there, row = np.exp(logs)
        total = 0.0
        for near_here, on_place, ratios in stacks:
            noise = row * np.eye(ratios.shape[1])
            roots = np.linalg.cholesky(everywhere + near * near_here + there * on_place + noise)
            whitened = np.linalg.solve(roots, ratios[..., None])
            total += float(np.log(np.diagonal(roots, axis1=1, axis2=2)).sum() + 0.5 * (whitened**2).sum())
        return total

    if not stacks:
        return list(_VARIANCES)
    options = {"maxiter": _MAX_SEARCH, "xatol": 0.05, "fatol": 1.0}
    best = minimize(surprise, np.log(_VARIANCES), method="Nelder-Mead", options=options)
    return [round(float(value), 2 * _DIGITS) for value in np.exp(best.x)]


def known_as(network: str, source: str) -> str:
    """The name of a row's network in the file."""
    return f"PROFET {network}" if source == PROFET else shared_name(network)


_METHODS = ("regression", "lightgbm", "xgboost")
_FEATURES = 8
_TREES = {"num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 10, "verbosity": -1, "num_threads": 1, "seed": 0}
_XGBOOST = {"max_depth": 5, "eta": 0.05, "tree_method": "hist", "nthread": 1, "seed": 0}
_ROUNDS = 200
_DEEPER = ("VGG16", "VGG19", "ResNet50")


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Validate on held-out data.

    Returns:
    `steps`, `networks`, `gpus` : how much was fitted.
    `judged` : rows with `held_out`, `n`, `mape`, `median`, `bias`, `coverage_90`, `half_width_pct` (percent).
    `inside` : case, source or small batch -> `n`, `coverage_90`, `half_width_pct` of families held out.
    `by_gpu` : published GPUs held out, `by_network` : PROFET's networks held out, by `n`, `mape`, `bias`.
    `regressions` : PROFET's cells by the paper's splits, the regression's and the boosted trees' errors.
    `memory` : does it fit, by counts, one architecture held out.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    judge = Judge(fit_problem, fit(fit_problem), progress)
    return {
        "steps": len(rows),
        "networks": len(set(rows.networks.tolist())),
        "gpus": len(set(rows.gpus.tolist())),
        "judged": judged(judge),
        "inside": inside(judge),
        "by_source": _by(judge, judge.sources, rows.sources),
        "by_gpu": _by(judge, judge.gpus, rows.gpus),
        "by_network": _by(judge, judge.networks, rows.networks),
        "regressions": regressions(rows),
        "memory": layers_known(measurements, folder),
    }


def judged(judge: Judge) -> list[dict[str, Any]]:
    """One row for each thing that is held out."""
    data, families = judge.data, judge.families
    is_depthwise = data.cases == str(Case.DEPTHWISE)
    is_cnn = data.cases != str(Case.HYBRID)
    timm, every = data.sources == TIMM, np.ones(len(data), bool)
    plain, last = (timm & (data.modes == int(mode)) for mode in (Mode.HALF, Mode.HALF_CHANNELS_LAST))
    cases: list[tuple[str, HeldOut, np.ndarray]] = [
        ("families, RTX 3090 AMP, NCHW", families, plain & is_cnn),
        ("families, RTX 3090 AMP, NCHW: depthwise", families, plain & is_depthwise),
        ("families, RTX 3090 AMP, channels-last", families, last & is_cnn),
        ("families, RTX 3090 AMP, channels-last: depthwise", families, last & is_depthwise),
        ("families, RTX 3090 AMP: hybrids", families, timm & ~is_cnn),
        ("families, all other published rows", families, ~timm),
        ("families, as answered to users of another source", judge.families_as_answered, every),
        ("one source of published rows", judge.sources, every),
        ("one published GPU, its ResNet-50 known", judge.gpus, every),
        ("PROFET's cells: workloads", judge.workloads, every),
        ("PROFET's cells: networks", judge.networks, every),
        ("PROFET's cells: GPUs", judge.cell_gpus, every),
    ]
    return [{"held_out": name, **figures(judge, held, mask)} for name, held, mask in cases]


def inside(judge: Judge) -> dict[str, dict[str, Any]]:
    """Coverage by case, by source, and at small batches: families held out, their source's effect left away."""
    data, held = judge.data, judge.families_as_answered
    masks = {str(case): data.cases == str(case) for case in Case}
    masks |= {f"batch below {SMALL_BATCH}": data.batch_sizes < SMALL_BATCH}
    masks |= {source: data.sources == source for source in sorted(set(data.sources[held.rows].tolist()))}
    return {name: figures(judge, held, mask) for name, mask in masks.items()}


def figures(judge: Judge, held: HeldOut, mask: np.ndarray) -> dict[str, Any]:
    """Errors and intervals of the held-out rows in a mask."""
    rows = held.rows & mask
    errors, halves = judge.log_errors(held)[rows], judge.half_widths(held)[rows]
    if not len(errors):
        return {"n": 0, "mape": 0.0, "median": 0.0, "bias": 0.0, "coverage_90": 0.0, "half_width_pct": 0.0}
    percent = 100 * np.abs(np.expm1(errors))
    return {
        "n": len(errors),
        "mape": float(percent.mean()),
        "median": float(np.median(percent)),
        "bias": float(100 * np.expm1(errors.mean())),
        "coverage_90": float(100 * np.mean(np.abs(errors) <= halves)),
        "half_width_pct": float(100 * np.expm1(np.median(halves))),
    }


def _by(judge: Judge, held: HeldOut, names: np.ndarray) -> Mapping[str, dict[str, Any]]:
    return {name: figures(judge, held, names == name) for name in sorted(set(names[held.rows].tolist()))}


def regressions(rows: EstimateRows) -> dict[str, dict[str, Any]]:
    """A regression after Lattuada et al. (2022), and boosted trees, on PROFET's cells.

    Only the paper's abstract was read: linear regression on features of the network and the GPU that sequential forward
    selection chose; here on logarithms.

    Returns:
    Split of the paper's four tests -> number of judged cells, and mean error of each method, percent.
    """
    cells = rows.subset(rows.sources == PROFET)
    features, log_ms = _features(cells), np.log(cells.latency_ms)
    found: dict[str, dict[str, Any]] = {}
    for name, folds in _splits(cells).items():
        errors: dict[str, list[np.ndarray]] = {name: [] for name in _METHODS}
        for learned, judged in folds:
            chosen = SequentialFeatureSelector(LinearRegression(), n_features_to_select=_FEATURES, cv=5)
            chosen.fit(features[learned], log_ms[learned])
            columns = chosen.get_support()
            line = LinearRegression().fit(features[learned][:, columns], log_ms[learned])
            trees = lightgbm.train(_TREES, lightgbm.Dataset(features[learned], log_ms[learned]), _ROUNDS)
            more = xgboost.train(_XGBOOST, xgboost.DMatrix(features[learned], log_ms[learned]), _ROUNDS)
            errors["regression"].append(line.predict(features[judged][:, columns]) - log_ms[judged])
            errors["lightgbm"].append(np.asarray(trees.predict(features[judged])) - log_ms[judged])
            errors["xgboost"].append(more.predict(xgboost.DMatrix(features[judged])) - log_ms[judged])
        means = {method: float(100 * np.abs(np.expm1(np.concatenate(each))).mean()) for method, each in errors.items()}
        found[name] = {"n": sum(int(judged.sum()) for _, judged in folds), **means}
    return found


def _features(cells: EstimateRows) -> np.ndarray:
    """Logarithms of work by kind, sizes, and the GPU's peak, (rows, features)."""
    gpus = [load_gpus()[str(name)] for name in cells.gpus]
    # One figure of the GPU: three GPUs can't tell more of them apart.
    peaks = np.log([[gpu.fp32_tflops] for gpu in gpus])
    sizes = np.log([cells.batch_sizes, cells.pixels, cells.operations]).T
    return np.concatenate([np.log1p(cells.work), np.log(cells.work.sum(axis=1))[:, None], sizes, peaks], axis=1)


def _splits(cells: EstimateRows) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    random = np.random.default_rng(0).integers(0, 5, len(cells))
    larger, deeper = cells.batch_sizes > 64, np.isin(cells.networks, _DEEPER)
    held_gpus = [(cells.gpus == gpu) for gpu in np.unique(cells.gpus)]
    return {
        "interpolation": [(random != fold, random == fold) for fold in range(5)],
        "larger batch": [(~larger, larger)],
        "deeper network": [(~deeper, deeper)],
        "unseen GPU": [(~held, held & (cells.networks != BENCHMARK)) for held in held_gpus],
    }


RATES_TABLE = "rates.csv"
#: Uncertainty of the speed of a GPU that is known at small batches alone, by judgment.
_SMALL_LOG_SD = 0.15


def fit_and_write(measurements: Measurements, folder: Path, out: Path, progress: Progress | None = None) -> RateModel:
    """Fit on all measurements, take the intervals from held-out errors, and write the files.

    folder : of the data.
    out : a models folder.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    fitted = fit(fit_problem)
    judge = Judge(fit_problem, fitted, progress)
    files = (LATENCIES_FILE, THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE)
    content = {
        **coefficients(fit_problem, fitted, judge.point_log_sd),
        "unknown_gpu_log_sd": _rounded(judge.unknown_gpu_log_sd),
        "source_log_sd": _rounded(judge.source_log_sd),
        "log_sds": {key: _rounded(value) for key, value in log_sds_by_case(judge).items()},
        "fitted_on": {
            "steps": str(len(rows)),
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in files},
        },
    }
    write_coefficients(signed(content), out / RATES_NAME)
    model = load_rates(out)
    write_whole(out / RATES_TABLE, rates_table(model).encode())
    return model


def coefficients(fit_problem: Problem, fitted: np.ndarray, point_log_sd: float) -> dict[str, Any]:
    """The fitted effects as `estimate.json` holds them, but for the intervals.

    point_log_sd : uncertainty of the speed of a GPU that is known by few steps.
    """
    values = dict(zip(fit_problem.keys, fitted.tolist(), strict=True))

    def of(*key: str) -> float:
        return values.get(key, 0.0)

    rows, offers, answered = fit_problem.rows, load_shipped(), as_new_source(fit_problem.keys, fitted)
    chips = set(map(chip_of, set(rows.gpus.tolist())))

    def effects(gpu: str, specific: str, name: str) -> dict[str, Any]:
        logs, chip = [], chip_of(gpu)
        for kind in KINDS:
            part = "compute" if kind in FLOPS else "bandwidth" if kind in (*ELEMENTS, *ONCE) else ""
            own = of(f"kind on {specific}", kind, name) + of(f"group on {specific}", group_of(kind), name)
            own += of("speed", chip) + of("speed", gpu) + (of("speed", name) if name != gpu else 0.0)
            faster = of("gpu", part, chip) + of("gpu", part, gpu) if part else 0.0
            faster += of("power", "limit") * log_power_limit(gpu) if part == "compute" else 0.0
            logs.append(_rounded(own - faster))
        number = int(np.sum(rows.gpus == gpu))
        is_small = bool(number and rows.batch_sizes[rows.gpus == gpu].max() < SMALL_BATCH)
        log_sd = _SMALL_LOG_SD if is_small else 0.0 if number >= OFTEN else _rounded(point_log_sd)
        return {"log_costs": logs, "log_sd": log_sd, "rows": number, "is_small": is_small}

    instances = sorted({str(name) for name in rows.instances.tolist()} - {""})
    gpu_of = {name: load_gpus().find(offers[name].gpu, offers[name].gpu_memory_gib).name for name in instances}
    source, launch, start = of("source", PROFET), of("launch"), of("start")
    return {
        "schema_version": RATES_VERSION,
        "kinds": list(KINDS),
        "log_costs": {
            mode.name: [_rounded(of("kind", kind) + of("mode", kind, mode.name)) for kind in KINDS] for mode in Mode
        },
        "powers": {part: _rounded(of("power", part)) for part in ("compute", "bandwidth")},
        "gpus": {gpu: effects(gpu, "GPU", gpu) for gpu in sorted(load_gpus()) if chip_of(gpu) in chips},
        "average": {
            "log_costs": [0.0] * len(KINDS),
            "log_launch": _rounded(launch + today_log_launch(fit_problem.keys, fitted)),
            "log_start_ms": _rounded(start),
        },
        "measured": {
            "log_costs": [
                _rounded(source + of("kind of source", kind, PROFET) + of("group of source", group_of(kind), PROFET))
                for kind in KINDS
            ],
            "log_launch": _rounded(source + launch + of("launch of source", PROFET)),
            "log_start_ms": _rounded(start + of("start of source", PROFET)),
        },
        "instances": {
            name: {
                "gpu": gpu_of[name],
                "log_launch": _rounded(of("launch on", PROFET, name)),
                **effects(gpu_of[name], "instance", name),
            }
            for name in instances
        },
        "known": known_steps(rows, np.log(rows.latency_ms / predicted_ms(fit_problem, answered))),
    }


def _rounded(value: float) -> float:
    return round(value, _DIGITS)


def rates_table(model: RateModel) -> str:
    """Rates by GPU and mode, one column a kind, with how sure they are.

    Rates are forward work of a training step per second: TFLOP, billions of values written, billions of parameters,
    thousands of images' values or of kernels.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["gpu", "mode", *_units(), "log_sd", "steps"])
    for gpu in load_gpus().values():
        modes = [mode_of(gpu, FP32, "plain"), mode_of(gpu, TF32, "plain")]
        modes += [mode_of(gpu, AMP, code) for code in ("plain", "channels-last")]
        for mode in dict.fromkeys(modes):
            costs = model.costs_ms(gpu, Mode(mode), model.average)
            known = model.gpus.get(gpu.name)
            rates = [f"{1 / cost:.3g}" for cost in costs.tolist()]
            name = mode.name.lower().replace("_", " ")
            table.writerow([gpu.name, name, *rates, f"{model.gpu_log_sd(gpu.name):.2f}", known.rows if known else 0])
    return text.getvalue()


def _units() -> Sequence[str]:
    flops = [f"{kind} TFLOP/s" for kind in FLOPS]
    values = [f"{kind} G/s" for kind in (*ELEMENTS, *ONCE)]
    return [*flops, *values, "images G/s", "kernels M/s"]
