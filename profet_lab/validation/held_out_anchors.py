"""Accuracy from an unprofiled anchor: each profiled GPU held out.

Known of it are its specs, its kernels and ResNet-50's step. Neither the analytical model nor the trained models saw its
profiles or the architecture asked for. Serving differs: members have the manifest's weights and know batch and pixel
size where the profile has them, and a published point replaces the GPU's own ResNet-50 step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.ensemble.members import MEMBERS, StepInputs
from profet_core.latency import combined_sd, quantile
from profet_core.prediction.foreign import carried_inputs, law_and_models
from profet_core.transfer.carry import AsRecorded, CarriedBack, ForeignSteps, carry_back
from profet_core.transfer.law import StepLaw
from profet_core.transfer.targets import Target
from profet_lab.cases import CASES
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees
from profet_lab.classes.fit_member import fit_member
from profet_lab.classes.folds import ClassFold, one_held_out
from profet_lab.classes.member_weights import ensemble_ms
from profet_lab.classes.stacked import StackedNetworks
from profet_lab.measurements.tables import pairs
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks
from profet_lab.transfer.leave_one_gpu_out import (
    Kernels,
    anchor_spread,
    profiled_target,
    reference_of,
    target_of,
)
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import BENCHMARK, Steps

#: Equal member weights: nothing may be chosen on the held-out GPU.
_WEIGHTS = (1 / 3, 1 / 3, 1 / 3)


@dataclass(frozen=True)
class FoldModels:
    """Members of the default method, fitted once an architecture and pair."""

    bank: ClassBank
    folds: list[ClassFold]
    members: Mapping[str, StackedNetworks | BoostedTrees]

    def predict(self, anchor: str, target: str, architecture: str, inputs: StepInputs, there: AsRecorded) -> np.ndarray:
        """Latencies on the target, (rows,), of steps mapped to the anchor; no model saw the architecture."""
        number = next(
            number
            for number, fold in enumerate(self.folds)
            if fold.pair == (anchor, target) and architecture in fold.held_out
        )
        found = [
            models.predict(
                number,
                carried_inputs(self.bank.classes, inputs, there, models.unseen[number]),
                self.bank.device_classes,
            )
            for models in self.members.values()
        ]
        return ensemble_ms(np.column_stack(found), _WEIGHTS)


def fold_models(bank: ClassBank, *, seed: int, steps: int, progress: Progress | None = None) -> FoldModels:
    """Fit every member with the anchor's latency given."""
    folds = one_held_out(bank.architectures, pairs(bank.instances))
    training_rows = [fold.training for fold in folds]
    tasks = [(bank, member, training_rows, True, False, seed, steps) for member in MEMBERS]
    fitted = run_tasks(fit_member, tasks, progress=progress, units=steps)
    return FoldModels(bank, folds, dict(zip(MEMBERS, fitted, strict=True)))


@dataclass(frozen=True)
class _HeldOutLaw:
    """The model of three GPUs without an architecture, and the fourth GPU as held-out anchor.

    Attributes
    ----------
    log_half_width : 90 % interval of what is inferred from the fourth. own_log_half_width : added where the
        latency there is inferred from the profile.
    """

    law: StepLaw
    target: Target
    log_half_width: float
    own_log_half_width: float

    @classmethod
    def fit(
        cls, medians: Steps, kernels: Kernels, others: Sequence[str], held_out: str, architecture: str
    ) -> _HeldOutLaw:
        seen = medians.architectures != architecture
        law = fit_step_law(medians, others, seen)
        return cls(
            law=law,
            target=target_of(law, medians, kernels, profiled_target(medians, held_out, sheet_only=False), 0.0),
            log_half_width=quantile() * anchor_spread(medians, kernels, others, seen).log_sd(),
            own_log_half_width=float(np.median([row.own_log_half_width for row in law.instances.values()])),
        )


def held_out_anchors(models: FoldModels, steps: Steps, medians: Steps, kernels: Kernels) -> dict:
    """Errors and interval misses of the 12 directions from a held-out anchor."""
    tasks = [(models, steps, medians, kernels, held_out) for held_out in steps.instances]
    directions = [row for rows in run_tasks(_directions, tasks) for row in rows]
    figures = [key for key in directions[0] if key not in ("anchor", "target", "n")]
    by_anchor = {
        name: {key: float(np.mean([row[key] for row in directions if row["anchor"] == name])) for key in figures}
        for name in steps.instances
    }
    return {
        "directions": directions,
        "mean": {key: float(np.mean([row[key] for row in directions])) for key in figures},
        "worst": {key: max(row[key] for row in directions) for key in figures if key.startswith("mape")},
        "by_anchor": by_anchor,
    }


def _directions(models: FoldModels, steps: Steps, medians: Steps, kernels: Kernels, held_out: str) -> list[dict]:
    others = [name for name in steps.instances if name != held_out]
    rows: dict[str, dict] = {name: {"anchor": held_out, "target": name, "n": len(steps.workloads)} for name in others}
    judged = steps.architectures != BENCHMARK[0]
    laws = {
        str(name): _HeldOutLaw.fit(medians, kernels, others, held_out, str(name))
        for name in np.unique(steps.architectures)
    }
    for known, case in CASES.items():
        predicted = {name: np.empty(len(steps.workloads)) for name in others}
        by_law = {name: np.empty(len(steps.workloads)) for name in others}
        half = np.empty(len(steps.workloads))
        for architecture in np.unique(steps.architectures):
            own = np.flatnonzero(steps.architectures == architecture)
            fitted = laws[str(architecture)]
            latency_ms = steps.latency_ms[held_out][own] if known else None
            recorded = ForeignSteps(fitted.target, steps.parts(held_out, known).of(own), latency_ms)
            back = carry_back(fitted.law, reference_of(fitted.law), recorded)
            half[own] = combined_sd(fitted.log_half_width, quantile() * back.doubt_log_sd)
            if not known:
                half[own] = np.hypot(half[own], fitted.own_log_half_width)
            served = served_by_law_and_models(
                models, back, models.bank.inputs[held_out, known].of_rows(own, None), str(architecture)
            )
            for name in others:
                predicted[name][own], by_law[name][own] = served[name], back.by_instance[name].latency_ms
        for name in others:
            away = np.log(predicted[name] / steps.latency_ms[name])
            rows[name] |= {
                f"bias_{case}": float(100 * (np.exp(away.mean()) - 1)),
                f"mape_{case}": _mape(predicted[name], steps.latency_ms[name]),
                f"mape_without_resnet50_{case}": _mape(predicted[name][judged], steps.latency_ms[name][judged]),
                f"mape_law_alone_{case}": _mape(by_law[name], steps.latency_ms[name]),
                f"missed_90_{case}": float(100 * np.mean(np.abs(away) > half)),
                f"median_interval_pct_{case}": float(100 * np.median(np.exp(half) - 1)),
            }
    return list(rows.values())


def served_by_law_and_models(
    models: FoldModels, back: CarriedBack, inputs: StepInputs, architecture: str
) -> dict[str, np.ndarray]:
    """Instance -> served latencies: analytical and trained models weighted equally."""
    return {
        name: law_and_models(
            there.latency_ms,
            np.array(
                [
                    models.predict(anchor, name, architecture, inputs, carried)
                    for anchor, carried in back.by_instance.items()
                    if anchor != name
                ]
            ),
        )
        for name, there in back.by_instance.items()
    }


def _mape(predicted_ms: np.ndarray, true_ms: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(predicted_ms / true_ms - 1)))
