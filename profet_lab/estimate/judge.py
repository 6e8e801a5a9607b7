"""Predictions on held-out families, GPUs, workloads and networks, and the intervals that their errors ask for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from profet_core.latency import LEVEL, log_sd_of
from profet_core.layers.networks import shared_name
from profet_core.layers.rates import Case, KnownSteps, Mode, case_key, known_steps_in
from profet_lab.estimate.fit import OFTEN, Fitted, Fold, Problem, fit, predicted_ms
from profet_lab.estimate.rows import BENCHMARK, PROFET, EstimateRows
from profet_lab.tasks import Progress, run_tasks

#: Folds of families, of networks and of published GPUs; each holds out several at once.
FOLDS = 12
WORKLOAD_FOLDS = 5
#: The benchmark on a held-out GPU of PROFET's: pixels and batch size.
_BENCHMARK_SIZE = (224, 32)
#: Fewer errors than this take the interval of a wider case.
_MIN_ERRORS = 25
#: Variances of the log error of a network that is known: everywhere, at near sizes in one mode, there on one GPU, and
#: of a row; of PROFET's networks, and of others as their errors on held-out families have them.
_VARIANCES = {"measured": [0.004, 0.004, 0.004, 0.0015], "others": [0.015, 0.012, 0.004, 0.005]}
_DIGITS = 4


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows that were held out.

    Attributes
    ----------
    latency_ms : (rows,); NaN for rows that no fold holds out. folds : number of the fold, -1 for none.
    is_point : whether the row's GPU is known by few steps in that fold, (rows,).
    shares : of the variance that is left after what is known of the network, (rows,).
    """

    latency_ms: np.ndarray
    folds: np.ndarray
    is_point: np.ndarray
    shares: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Mask of the rows that were held out."""
        found: np.ndarray = self.folds >= 0
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
        data = self.data
        pairs = np.unique(np.stack([data.gpus, data.families]), axis=1)
        names, numbers = np.unique(pairs[0], return_counts=True)
        has_others = np.isin(data.gpus, names[numbers > 1])

        def folds() -> Iterator[Fold]:
            for learned, judged in self._grouped(data.families, ~self.is_cell):
                yield learned | ~has_others, judged & has_others

        return self._held_out(folds(), is_known=False)

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

        return self._held_out(folds(), is_known=True)

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

        return self._held_out(folds(), is_known=True)

    @cached_property
    def networks(self) -> HeldOut:
        """Cells, each network held out on all GPUs."""
        return self._held_out(self._grouped(self.data.networks, self.is_cell, folds=15), is_known=False)

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

        return self._held_out(folds(), is_known=True)

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

    def _held_out(self, folds: Iterable[Fold], *, is_known: bool) -> HeldOut:
        data, fit_problem = self.data, self.fit_problem
        pairs = list(folds)
        tasks = [(fit_problem.of(learned), self.fitted) for learned, _ in pairs]
        latency_ms, shares = np.full(len(data), np.nan), np.ones(len(data))
        numbers, is_point = np.full(len(data), -1), np.zeros(len(data), bool)
        for number, ((learned, judged), fitted) in enumerate(
            zip(pairs, run_tasks(fit, tasks, progress=self.progress), strict=True)
        ):
            numbers[judged] = number
            latency_ms[judged] = predicted_ms(fit_problem.of(judged), fitted)
            names, steps = np.unique(data.gpus[learned], return_counts=True)
            is_point[judged] = ~np.isin(data.gpus[judged], names[steps >= OFTEN])
            if is_known:
                ratios = np.log(data.latency_ms[learned] / predicted_ms(fit_problem.of(learned), fitted))
                known = known_steps_in(known_steps(data.of(learned), ratios))
                corrections, shares[judged] = _corrections(known, data.of(judged))
                latency_ms[judged] *= np.exp(corrections)
        return HeldOut(latency_ms, numbers, is_point, shares)

    def log_errors(self, held: HeldOut) -> np.ndarray:
        """log(predicted / measured), (rows,); NaN where nothing is predicted."""
        found: np.ndarray = np.log(held.latency_ms / self.data.latency_ms)
        return found

    def half_widths(self, held: HeldOut) -> np.ndarray:
        """Half of the intervals, in the logarithm, (rows,), from families in other folds than the row's family."""
        doubt: np.ndarray = np.where(held.is_point, self.point_log_sd, 0.0) / log_sd_of(1.0)
        return np.hypot(self._case_half_widths(held), doubt)

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


def unknown_gpu_log_sd(judge: Judge) -> float:
    """Uncertainty of the speed of a GPU by its specs: the spread of the fitted ones around theirs."""
    values = dict(zip(judge.fit_problem.keys, judge.fitted.values.tolist(), strict=True))
    speeds = [values["speed", key[2]] - value for key, value in values.items() if key[0] == "gpu"]
    return float(np.sqrt(np.mean(np.square(speeds))))


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
    return {
        "networks": networks,
        "places": places,
        "steps": sorted(steps),
        "variances": {name: list(each) for name, each in _VARIANCES.items()},
    }


def known_as(network: str, source: str) -> str:
    """The name of a row's network in the file."""
    return f"PROFET {network}" if source == PROFET else shared_name(network)
