"""Transfer accuracy on held-out GPUs: each profiled one as target and as anchor.

Known of a held-out anchor are its specs and ResNet-50's step. Neither the analytical model nor the trained models saw
its profiles or the requested architecture. Serving differs: members have the manifest's weights and know batch and
pixel size where the profile has them, and a published point replaces the GPU's own ResNet-50 step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from msgspec import Struct

from profet_core.catalog.gpus import Gpus
from profet_core.ensemble.members import MEMBERS, StepInputs
from profet_core.latency import Estimate, combined_sd, log_sd_of, quantile
from profet_core.prediction.other_gpus import combined_ms, mapped_inputs
from profet_core.transfer.rates import Rates, log_speed
from profet_core.transfer.step_model import StepModel, WorkReader
from profet_core.transfer.steps import AsRecorded, MappedSteps, UnprofiledSteps, map_to_profiled
from profet_lab.class_folds import (
    LEVEL,
    Fold,
    ensemble_ms,
    one_held_out,
    predict_cases,
)
from profet_lab.class_members import MemberModels, fit_member
from profet_lab.measurements.tables import CASES, WITH_LATENCY, WORKLOAD, ClassBank, pairs
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer.leave_one_gpu_out import (
    KnownLatencies,
    TargetGpu,
    anchor_spread,
    foreign_steps,
    known_of,
    plain_specs_log_speed,
    predict_target,
    profiled_target,
    reference_of,
    spread,
    target_of,
)
from profet_lab.transfer.step_model import BENCHMARK, InstanceSteps, fit_step_model, root_mean_square
from profet_lab.transfer.work import fit_readers, with_launches


def judged(
    predicted_ms: np.ndarray, true_ms: np.ndarray, log_half_width: object = 0.0, **names: object
) -> pd.DataFrame:
    """One row a prediction, milliseconds, with its 90 % interval; `names` : more columns."""
    columns = {"predicted_ms": predicted_ms, "true_ms": true_ms, "log_half_width": log_half_width, **names}
    return pd.DataFrame(columns)


def judged_estimate(found: Estimate, true_ms: np.ndarray, **names: object) -> pd.DataFrame:
    """The same of an estimate; rows without a measurement are dropped."""
    rows = judged(found.latency_ms, true_ms, found.log_half_width, **names)
    return rows[np.isfinite(true_ms)]


def mape(rows: pd.DataFrame) -> float:
    """Mean absolute percentage error."""
    return float(100 * (rows["predicted_ms"] / rows["true_ms"] - 1).abs().mean())


def log_errors(rows: pd.DataFrame) -> np.ndarray:
    """Predicted over measured, in the logarithm, (rows,)."""
    return np.log((rows["predicted_ms"] / rows["true_ms"]).to_numpy(float))


def figures(rows: pd.DataFrame, key: str = "{}") -> dict[str, float]:
    """Bias, error, share outside the interval and its median half-width, percent; `key` : format of their names."""
    away, half = log_errors(rows), rows["log_half_width"].to_numpy(float)
    return {
        key.format("bias"): float(100 * np.expm1(away.mean())),
        key.format("mape"): mape(rows),
        key.format("missed_90"): float(100 * np.mean(np.abs(away) > half)),
        key.format("median_interval_pct"): float(100 * np.median(np.expm1(half))),
    }


def over(rows: list[dict], how: str, keys: str = "") -> dict[str, float]:
    """`how` ("mean" or "max") of every figure of several directions whose name holds `keys`."""
    table = pd.DataFrame(rows).drop(columns=["anchor", "target", "n"])
    table = table[[name for name in table if keys in str(name)]]
    return {str(name): float(value) for name, value in table.agg(how).items()}


class EnsembleLatencies(Struct, frozen=True):
    """Out-of-fold predictions of the default method.

    latency_ms : (anchor, target, anchor's latency known) -> (rows,).
    log_half_width : (anchor, target, anchor's latency known, architecture) -> 90 % of the log errors of all other
        architectures.
    """

    latency_ms: Mapping[tuple[str, str, bool], np.ndarray]
    log_half_width: Mapping[tuple[str, str, bool, str], float]

    def known(self, architecture: str) -> KnownLatencies:
        """Latencies with the half-widths for this architecture."""

        def known(anchor: str, instance: str, latency_known: bool) -> Estimate:
            values = self.latency_ms[anchor, instance, latency_known]
            half_width = self.log_half_width[anchor, instance, latency_known, architecture]
            return Estimate(latency_ms=values, log_sd=np.full(values.shape, log_sd_of(half_width)))

        return known

    def medians(self, steps: InstanceSteps) -> EnsembleLatencies:
        """One row a workload, as `step_model.median_steps` has them."""
        index = steps.workloads.groupby(WORKLOAD).ngroup().to_numpy()
        found = {key: pd.Series(values).groupby(index).median().to_numpy() for key, values in self.latency_ms.items()}
        return EnsembleLatencies(found, self.log_half_width)


def ensemble_latencies(
    bank: ClassBank, *, seed: int, steps: int, progress: Progress | None = None, cases: Iterable[bool] = tuple(CASES)
) -> EnsembleLatencies:
    """Fit the default method once an architecture and pair, with and without the anchor's latency (`cases`)."""
    wanted = pairs(bank.instances)
    latency_ms: dict[tuple[str, str, bool], np.ndarray] = {}
    half_widths: dict[tuple[str, str, bool, str], float] = {}
    known_latencies = list(cases)
    folds = [one_held_out(bank.architectures, wanted, known) for known in known_latencies]
    predicted = predict_cases(bank, folds, seed=seed, steps=steps, progress=progress)
    for latency_known, out_of_fold in zip(known_latencies, predicted, strict=True):
        for anchor, target in wanted:
            values = out_of_fold.all_ensemble_ms((anchor, target))
            latency_ms[anchor, target, latency_known] = values
            errors = np.abs(np.log(values / bank.latency_ms[target]))
            for name, rows in out_of_fold.rows.items():
                half_widths[anchor, target, latency_known, name] = float(np.quantile(errors[~rows], LEVEL))
    return EnsembleLatencies(latency_ms, half_widths)


#: Of the held-out GPU: what is known, and the standard deviations that come to its own error.
Way = tuple[TargetGpu, Sequence[float]]
#: Prefix of the figures where only the specs are known.
_SHEET_ONLY = "sheet_only_"


def held_out_step_models(medians: InstanceSteps, instances: Sequence[str]) -> dict[str, StepModel]:
    """One analytical model an architecture held out, fitted on `instances` alone."""
    return {
        str(name): fit_step_model(medians, instances, medians.architectures != name)
        for name in np.unique(medians.architectures)
    }


#: Architecture held out -> instance -> counter of its profiles' kernels.
ArchitectureReaders = Mapping[str, Mapping[str, WorkReader]]


class _Fitted:
    """Everything fitted on some instances alone, once an architecture held out."""

    def __init__(self, medians: InstanceSteps, instances: Sequence[str], readers: ArchitectureReaders) -> None:
        self.medians = medians
        self.step_models = held_out_step_models(medians, instances)
        self.readers = {
            name: with_launches(readers[name], medians, step_model, medians.architectures != name)
            for name, step_model in self.step_models.items()
        }
        self.spreads = {name: spread(medians, instances, medians.architectures != name) for name in self.step_models}

    def predict(
        self, steps: InstanceSteps, ensemble: EnsembleLatencies, anchor: str, way: Way, known: bool
    ) -> Estimate:
        """Out-of-fold predictions for every row: neither GPU nor architecture seen, but for the benchmark's point."""
        target, more = way
        latency_ms, log_sds = np.empty(len(steps.workloads)), np.empty(len(steps.workloads))
        for name, step_model in self.step_models.items():
            rows = steps.architectures == name
            there = target_of(step_model, self.medians, target, self.spreads[name].log_sd(*more))
            steps_known = known_of(step_model, steps, anchor, ensemble.known(name), known, self.readers[name])
            found = predict_target(step_model, steps_known, there)
            latency_ms[rows], log_sds[rows] = found.latency_ms[rows], found.log_sd[rows]
        return Estimate(latency_ms=latency_ms, log_sd=log_sds)

    def judged(
        self,
        steps: InstanceSteps,
        ensemble: EnsembleLatencies,
        anchor: str,
        ways: Mapping[str, Way],
        true_ms: np.ndarray,
        cases: Iterable[bool],
    ) -> dict[str, pd.DataFrame]:
        """Format of the figures' names -> predictions from one anchor; `ways` : by prefix of these names."""
        return {
            f"{prefix}{{}}_{CASES[known]}": judged_estimate(
                self.predict(steps, ensemble, anchor, way, known), true_ms, model=steps.architectures
            )
            for prefix, way in ways.items()
            for known in cases
        }


def _direction(anchor: str, target: str, found: Mapping[str, pd.DataFrame]) -> dict:
    row: dict = {"anchor": anchor, "target": target, "n": len(next(iter(found.values())))}
    for key, rows in found.items():
        others = rows[rows["model"] != BENCHMARK[0]]
        row |= {**figures(rows, key), key.format("mape_without_resnet50"): mape(others)}
    return row


def plain_specs_log_sd(rates: Rates, step_model: StepModel, reference: str, gpus: Gpus) -> float:
    """How far `plain_specs_log_speed` misses speeds of GPUs in FP32 that tables or profiles have: root mean square."""
    sheet, share = gpus[step_model.instances[reference].gpu], step_model.instances[reference].benchmark_compute_share
    known = {
        name: log_speed((share, 1 - share), (row.fp32_compute, row.bandwidth))
        for name, row in rates.gpus.items()
        if row.tables and name != sheet.name
    }
    return root_mean_square([speed - plain_specs_log_speed(gpus[name], sheet) for name, speed in known.items()])


def profiled_gpus(
    steps: InstanceSteps, medians: InstanceSteps, ensemble: EnsembleLatencies, sheet_log_sd: float
) -> dict:
    """The 12 directions: error, misses of the interval, and what one plain constant gives.

    sheet_log_sd : error of a speed that specs alone indicate.
    """
    names = [str(name) for name in np.unique(medians.architectures)]
    fits = run_tasks(fit_readers, [(medians, medians.architectures != name, name) for name in names])
    readers = dict(zip(names, fits, strict=True))
    tasks = [(steps, medians, ensemble, readers, sheet_log_sd, held_out) for held_out in steps.instances]
    found = [one for each in run_tasks(_to_held_out, tasks) for one in each]
    directions = [row for row, _ in found]
    by_model = pd.DataFrame([rows.groupby("model").apply(mape) for _, rows in found]).mean()
    return {
        "directions": directions,
        "mean": over(directions, "mean"),
        "worst": over(directions, "max", "mape"),
        "by_gpu": {
            name: over([row for row in directions if row["target"] == name], "mean") for name in steps.instances
        },
        "by_model": {str(name): float(value) for name, value in by_model.items()},
    }


def _to_held_out(
    steps: InstanceSteps,
    medians: InstanceSteps,
    ensemble: EnsembleLatencies,
    readers: ArchitectureReaders,
    sheet_log_sd: float,
    held_out: str,
) -> list[tuple[dict, pd.DataFrame]]:
    """Of each direction to one GPU its figures, and what was predicted there with everything known."""
    others = [name for name in steps.instances if name != held_out]
    fitted = _Fitted(medians, others, readers)
    ways: dict[str, Way] = {
        "": (profiled_target(medians, held_out, sheet_only=False), ()),
        _SHEET_ONLY: (profiled_target(medians, held_out, sheet_only=True), (sheet_log_sd,)),
    }
    directions = []
    for anchor in others:
        found = fitted.judged(steps, ensemble, anchor, ways, steps.latency_ms[held_out], CASES)
        row = _direction(anchor, held_out, found)
        # The anchor's latency times the benchmark's ratio, what any method has to beat.
        ratio = (medians.latency_ms[held_out] / medians.latency_ms[anchor])[medians.benchmark][0]
        row["one_constant"] = mape(judged(ratio * steps.latency_ms[anchor], steps.latency_ms[held_out]))
        directions.append((row, found[f"{{}}_{WITH_LATENCY}"]))
    return directions


class FoldModels(Struct, frozen=True):
    """Members of the default method, fitted once an architecture and pair."""

    bank: ClassBank
    folds: Sequence[Fold]
    members: Mapping[str, MemberModels]

    def predict(self, anchor: str, target: str, architecture: str, inputs: StepInputs, there: AsRecorded) -> np.ndarray:
        """Latencies on the target, (rows,), of steps mapped to the anchor; no model saw the architecture."""
        number = next(
            number
            for number, (training, names) in enumerate(self.folds)
            if training.pair == (anchor, target) and architecture in names
        )
        found = [
            models.predict(
                number,
                mapped_inputs(self.bank.classes, inputs, there, models.unseen[number]),
                self.bank.device_classes,
            )
            for models in self.members.values()
        ]
        return ensemble_ms(np.column_stack(found))

    def served(self, back: MappedSteps, held_out: str, known: bool, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Instance -> latencies of one architecture's rows: analytical and trained models weighted equally."""
        inputs = self.bank.inputs[held_out, known].of_rows(rows, None)
        architecture = str(self.bank.architectures[rows][0])
        return {
            name: combined_ms(
                there.latency_ms,
                np.array(
                    [
                        self.predict(anchor, name, architecture, inputs, mapped)
                        for anchor, mapped in back.by_instance.items()
                        if anchor != name
                    ]
                ),
            )
            for name, there in back.by_instance.items()
        }


def fold_models(bank: ClassBank, *, seed: int, steps: int, progress: Progress | None = None) -> FoldModels:
    """Fit every member with the anchor's latency given."""
    folds = one_held_out(bank.architectures, pairs(bank.instances), latency_known=True)
    tasks = [(bank, member, [training for training, _ in folds], seed, steps) for member in MEMBERS]
    fitted = run_tasks(fit_member, tasks, progress=progress, units=steps)
    return FoldModels(bank, folds, dict(zip(MEMBERS, fitted, strict=True)))


def held_out_anchors(models: FoldModels, steps: InstanceSteps, medians: InstanceSteps) -> dict:
    """Errors and interval misses of the 12 directions from a held-out anchor."""
    tasks = [(models, steps, medians, held_out) for held_out in steps.instances]
    directions = [row for rows in run_tasks(_directions, tasks) for row in rows]
    return {
        "directions": directions,
        "mean": over(directions, "mean"),
        "worst": over(directions, "max", "mape"),
        "by_anchor": {
            name: over([row for row in directions if row["anchor"] == name], "mean") for name in steps.instances
        },
    }


def _directions(models: FoldModels, steps: InstanceSteps, medians: InstanceSteps, held_out: str) -> list[dict]:
    others = [name for name in steps.instances if name != held_out]
    count = len(steps.workloads)
    rows: dict[str, dict] = {name: {"anchor": held_out, "target": name, "n": count} for name in others}
    predicted = {(name, case): np.empty(count) for name in others for case in CASES.values()}
    by_analytic_model = {pair: np.empty(count) for pair in predicted}
    half = {case: np.empty(count) for case in CASES.values()}
    for architecture in np.unique(steps.architectures):
        own, seen = np.flatnonzero(steps.architectures == architecture), medians.architectures != architecture
        step_model, published = foreign_steps(medians, steps.instances, held_out, seen)
        width = quantile() * anchor_spread(medians, others, seen).log_sd()
        for known, case in CASES.items():
            latency_ms = steps.latency_ms[held_out][own] if known else None
            recorded = UnprofiledSteps(published.target, steps.parts(held_out, known).of(own), latency_ms)
            back = map_to_profiled(step_model, reference_of(step_model), recorded)
            half[case][own] = combined_sd(width, quantile() * back.doubt_log_sd)
            if not known:
                # The latency there is inferred from the profile.
                inferred = float(np.median([row.inferred_log_half_width for row in step_model.instances.values()]))
                half[case][own] = np.hypot(half[case][own], inferred)
            for name, served_ms in models.served(back, held_out, known, own).items():
                predicted[name, case][own], by_analytic_model[name, case][own] = (
                    served_ms,
                    back.by_instance[name].latency_ms,
                )
    for (name, case), predicted_ms in predicted.items():
        found = judged(predicted_ms, steps.latency_ms[name], half[case])
        rows[name] |= {
            **figures(found, f"{{}}_{case}"),
            f"mape_without_resnet50_{case}": mape(found[steps.architectures != BENCHMARK[0]]),
            f"mape_law_alone_{case}": mape(judged(by_analytic_model[name, case], steps.latency_ms[name])),
        }
    return list(rows.values())
