"""Predictions on held-out families, GPUs, workloads and networks, and the intervals that their errors ask for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from profet_core.latency import LEVEL, log_sd_of
from profet_core.layers.networks import PROFET as PROFET_PREFIX
from profet_core.layers.networks import shared_name
from profet_core.layers.rates import Case, KnownSteps, Mode, case_key, known_steps_in
from profet_lab.estimate.fit import (
    OFTEN,
    Fitted,
    Fold,
    Problem,
    as_new_source,
    chip_of,
    fit,
    hosts,
    launched_shares,
    predicted_ms,
)
from profet_lab.estimate.rows import BENCHMARK, PROFET, EstimateRows
from profet_lab.tasks import Progress, run_tasks

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
    latency_ms : (rows,); NaN for rows that no fold holds out. folds : number of the fold, -1 for none.
    gpu_steps : steps on the row's GPU in that fold, -1 if there are none on its chip either, (rows,).
    shares : of the variance that is left after what is known of the network, (rows,).
    host_log_sds : uncertainty by its host, (rows,). is_new_source : whether the answer leaves the source's effect away.
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
    fitted: Fitted
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
    def _family_fits(self) -> list[tuple[Fold, Fitted]]:
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

    def _fits(self, folds: Iterable[Fold]) -> list[tuple[Fold, Fitted]]:
        pairs = list(folds)
        tasks = [(self.fit_problem.of(learned), self.fitted) for learned, _ in pairs]
        return list(zip(pairs, run_tasks(fit, tasks, progress=self.progress, threads=True), strict=True))

    def _held_out(self, fits: Iterable[tuple[Fold, Fitted]], *, is_known: bool, is_new_source: bool = False) -> HeldOut:
        data, fit_problem = self.data, self.fit_problem
        latency_ms, shares = np.full(len(data), np.nan), np.ones(len(data))
        numbers, steps, host_log_sds = np.full(len(data), -1), np.zeros(len(data), int), np.zeros(len(data))
        for number, ((learned, judged), fitted) in enumerate(fits):
            numbers[judged] = number
            answered = as_new_source(fit_problem.keys, fitted) if is_new_source else fitted
            latency_ms[judged] = predicted_ms(fit_problem.of(judged), answered)
            launched = launched_shares(fit_problem.of(judged), answered)
            host_log_sds[judged] = launched * [host.log_sd for host in hosts(data.of(judged))]
            counts = Counter(data.gpus[learned].tolist())
            chips = set(map(chip_of, counts))
            steps[judged] = [counts[gpu] if chip_of(gpu) in chips else -1 for gpu in data.gpus[judged].tolist()]
            if is_known:
                ratios = np.log(data.latency_ms[learned] / predicted_ms(fit_problem.of(learned), answered))
                known = known_steps_in(known_steps(data.of(learned), ratios))
                corrections, shares[judged] = _corrections(known, data.of(judged))
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
        values = dict(zip(self.fit_problem.keys, self.fitted.values.tolist(), strict=True))
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
