"""Accuracy from an unprofiled anchor: each profiled GPU held out.

Known of it are its specs and ResNet-50's step. Neither the analytical model nor the trained models saw its
profiles or the architecture asked for. Serving differs: members have the manifest's weights and know batch and pixel
size where the profile has them, and a published point replaces the GPU's own ResNet-50 step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.ensemble.members import MEMBERS, StepInputs
from profet_core.latency import combined_sd, quantile
from profet_core.prediction.foreign import carried_inputs, law_and_models
from profet_core.transfer.carry import AsRecorded, CarriedBack, ForeignSteps, carry_back
from profet_lab.cases import CASES
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees
from profet_lab.classes.folds import ClassFold, ensemble_ms, fit_member, one_held_out
from profet_lab.classes.stacked import StackedNetworks
from profet_lab.measurements.tables import pairs
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks
from profet_lab.transfer.leave_one_gpu_out import anchor_spread, foreign_steps, reference_of
from profet_lab.transfer.steps import BENCHMARK, Steps
from profet_lab.validation.judged import figures, judged, mape, over

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

    def served(self, back: CarriedBack, held_out: str, known: bool, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Instance -> latencies of one architecture's rows: analytical and trained models weighted equally."""
        inputs = self.bank.inputs[held_out, known].of_rows(rows, None)
        architecture = str(self.bank.architectures[rows][0])
        return {
            name: law_and_models(
                there.latency_ms,
                np.array(
                    [
                        self.predict(anchor, name, architecture, inputs, carried)
                        for anchor, carried in back.by_instance.items()
                        if anchor != name
                    ]
                ),
            )
            for name, there in back.by_instance.items()
        }


def fold_models(bank: ClassBank, *, seed: int, steps: int, progress: Progress | None = None) -> FoldModels:
    """Fit every member with the anchor's latency given."""
    folds = one_held_out(bank.architectures, pairs(bank.instances))
    training_rows = [fold.training for fold in folds]
    tasks = [(bank, member, training_rows, True, False, seed, steps) for member in MEMBERS]
    fitted = run_tasks(fit_member, tasks, progress=progress, units=steps)
    return FoldModels(bank, folds, dict(zip(MEMBERS, fitted, strict=True)))


def held_out_anchors(models: FoldModels, steps: Steps, medians: Steps) -> dict:
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


def _directions(models: FoldModels, steps: Steps, medians: Steps, held_out: str) -> list[dict]:
    others = [name for name in steps.instances if name != held_out]
    count = len(steps.workloads)
    rows: dict[str, dict] = {name: {"anchor": held_out, "target": name, "n": count} for name in others}
    predicted = {(name, case): np.empty(count) for name in others for case in CASES.values()}
    by_law = {pair: np.empty(count) for pair in predicted}
    half = {case: np.empty(count) for case in CASES.values()}
    for architecture in np.unique(steps.architectures):
        own, seen = np.flatnonzero(steps.architectures == architecture), medians.architectures != architecture
        law, published = foreign_steps(medians, steps.instances, held_out, seen)
        width = quantile() * anchor_spread(medians, others, seen).log_sd()
        for known, case in CASES.items():
            latency_ms = steps.latency_ms[held_out][own] if known else None
            recorded = ForeignSteps(published.target, steps.parts(held_out, known).of(own), latency_ms)
            back = carry_back(law, reference_of(law), recorded)
            half[case][own] = combined_sd(width, quantile() * back.doubt_log_sd)
            if not known:
                # The latency there is inferred from the profile.
                inferred = float(np.median([row.own_log_half_width for row in law.instances.values()]))
                half[case][own] = np.hypot(half[case][own], inferred)
            for name, served_ms in models.served(back, held_out, known, own).items():
                predicted[name, case][own], by_law[name, case][own] = served_ms, back.by_instance[name].latency_ms
    for (name, case), predicted_ms in predicted.items():
        found = judged(predicted_ms, steps.latency_ms[name], half[case])
        rows[name] |= {
            **figures(found, f"{{}}_{case}"),
            f"mape_without_resnet50_{case}": mape(found[steps.architectures != BENCHMARK[0]]),
            f"mape_law_alone_{case}": mape(judged(by_law[name, case], steps.latency_ms[name])),
        }
    return list(rows.values())
