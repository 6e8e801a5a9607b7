"""Choose settings and weights of the analytical model by nested leave-one-GPU-out.

`python -m profet_lab.transfer.weights` prints every setting tried: its error inside each three, which the choice
looks at, and on the fourth, which it does not. Latencies on known GPUs are the measured ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from msgspec.structs import astuple, replace

from profet_core.transfer.step_model import StepModel
from profet_core.transfer.steps import WEIGHTS, KernelWeights
from profet_lab.measurements.tables import data_folder, load_measurements
from profet_lab.transfer.leave_one_gpu_out import (
    known_of,
    measured_latencies,
    predict_target,
    profiled_target,
    target_of,
)
from profet_lab.transfer.step_model import (
    BENCHMARK,
    SETTING,
    InstanceSteps,
    StepModelSetting,
    benchmark_work_ms,
    fit_step_model,
    measured_medians,
)


class Setting(NamedTuple):
    """What is chosen, not fitted."""

    step_model: StepModelSetting
    weights: KernelWeights


STEP_SETTINGS = tuple(StepModelSetting(*values) for values in product((0.0, 0.05, 0.1, 0.2), (0.0, 0.3, 1.0)))
WEIGHT_SETTINGS = tuple(KernelWeights(*values) for values in product((0.0, 1.0, 2.0), (0.0, 1.5, 3.0, 5.0)))
SHIPPED = Setting(SETTING, WEIGHTS)


class Trial(NamedTuple):
    """Errors of one setting by GPU held out of everything, percent: inside the other three, and on the GPU itself."""

    inside: dict[str, float]
    outside: dict[str, float]


def try_settings(medians: InstanceSteps, wanted: Sequence[Setting]) -> dict[Setting, Trial]:
    """Every setting's errors; the fit of the GPUs that are known is the same for all settings."""
    names = medians.instances
    found = {}
    for held_out, inner in product(names, names):
        known = [name for name in names if name not in (held_out, inner)]
        step_model = fit_step_model(medians, known, np.ones(len(medians.workloads), bool))
        found[held_out, inner] = _errors(medians, step_model, inner, wanted)
    return {
        setting: Trial(
            inside={
                held_out: float(np.mean([found[held_out, inner][setting] for inner in names if inner != held_out]))
                for held_out in names
            },
            outside={name: found[name, name][setting] for name in names},
        )
        for setting in wanted
    }


def chosen(trials: Mapping[Setting, Trial], held_out: str) -> Setting:
    """The setting that errs least inside the three GPUs that are left."""
    return min(trials, key=lambda setting: trials[setting].inside[held_out])


def nested_error(trials: Mapping[Setting, Trial]) -> float:
    """Mean error on each GPU by the setting that was chosen without it, percent."""
    names = next(iter(trials.values())).outside
    return float(np.mean([trials[chosen(trials, name)].outside[name] for name in names]))


def _errors(
    medians: InstanceSteps, step_model: StepModel, target: str, wanted: Sequence[Setting]
) -> dict[Setting, float]:
    """Mean error on the target from each GPU of the model, the benchmark's network apart, percent."""
    judged = medians.architectures != BENCHMARK[0]
    true_ms = medians.latency_ms[target][judged]
    found = {}
    for step_setting in dict.fromkeys(setting.step_model for setting in wanted):
        changed = with_setting(step_model, medians, step_setting)
        there = target_of(changed, medians, profiled_target(medians, target, sheet_only=False), 0.0)
        known = [
            known_of(changed, medians, anchor, measured_latencies(medians), True) for anchor in step_model.instances
        ]
        for setting in (one for one in wanted if one.step_model == step_setting):
            latencies = [predict_target(changed, one, there, setting.weights).latency_ms[judged] for one in known]
            found[setting] = float(100 * np.mean([np.abs(latency_ms / true_ms - 1) for latency_ms in latencies]))
    return found


def with_setting(step_model: StepModel, medians: InstanceSteps, setting: StepModelSetting) -> StepModel:
    """The model refitted with another setting, which changes only the benchmark's work."""
    changed = replace(
        step_model,
        tail_share=setting.tail_share,
        scattered_power=setting.scattered_power,
    )
    benchmark = np.flatnonzero(medians.benchmark)
    instances = {
        name: replace(row, benchmark_work_ms=benchmark_work_ms(changed, medians, name, benchmark))
        for name, row in step_model.instances.items()
    }
    return replace(changed, instances=instances)


def main() -> None:
    """Print the table and each choice."""
    medians = measured_medians(load_measurements(data_folder()))
    trials = try_settings(medians, [Setting(*each) for each in product(STEP_SETTINGS, WEIGHT_SETTINGS)])
    print("tails  scattered  free  near  outside %  " + "  ".join(f"inside {name}" for name in medians.instances))
    for setting, trial in sorted(trials.items(), key=lambda item: np.mean(list(item[1].inside.values()))):
        cells = "  ".join(f"{value:6.2f}" for value in trial.inside.values())
        ours = "  shipped" if setting == SHIPPED else ""
        print(f"{_words(setting)}  {np.mean(list(trial.outside.values())):9.2f}  {cells}{ours}")
    for name in medians.instances:
        setting = chosen(trials, name)
        print(f"{name} held out: {_words(setting)}: {trials[setting].outside[name]:.2f}%")
    shipped = np.mean(list(trials[SHIPPED].outside.values()))
    print(f"nested choice {nested_error(trials):.2f}%, shipped {shipped:.2f}%")


def _words(setting: Setting) -> str:
    return "  ".join(f"{value:4.2f}" for part in setting for value in astuple(part))


if __name__ == "__main__":
    main()
