"""How known latencies are weighed when a GPU is reached: chosen by leaving one GPU out among any three of the four.

`python -m profet_lab.transfer.weights` prints every setting tried: its error inside each three, which the choice
looks at, and on the fourth, which it does not. Latencies on known GPUs are the measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from profet_core.transfer.carry import KernelWeights
from profet_lab.classes.bank import class_bank
from profet_lab.measurements.kernels import load_kernel_speeds
from profet_lab.measurements.tables import data_folder, load_measurements
from profet_lab.transfer.leave_one_gpu_out import (
    Kernels,
    known_of,
    measured_latencies,
    predict_target,
    profiled_target,
    target_of,
)
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import BENCHMARK, Steps, all_steps, median_steps

FREE_SHARE_POWERS = (0.0, 1.0, 2.0, 3.0)
NEARNESSES = (0.0, 1.0, 2.0, 3.0, 4.0)
Setting = tuple[float, float]


@dataclass(frozen=True)
class Trial:
    """Errors of one setting by GPU left out of everything, percent: inside the other three, and on the GPU itself."""

    inside: dict[str, float]
    outside: dict[str, float]


def try_settings(medians: Steps, kernels: Kernels) -> dict[Setting, Trial]:
    """Every setting's errors."""
    names = medians.instances
    three = {left_out: [name for name in names if name != left_out] for left_out in names}
    inside = {
        left_out: [_errors(medians, kernels, [name for name in known if name != inner], inner) for inner in known]
        for left_out, known in three.items()
    }
    outside = {left_out: _errors(medians, kernels, known, left_out) for left_out, known in three.items()}
    return {
        setting: Trial(
            inside={name: float(np.mean([errors[setting] for errors in found])) for name, found in inside.items()},
            outside={name: errors[setting] for name, errors in outside.items()},
        )
        for setting in product(FREE_SHARE_POWERS, NEARNESSES)
    }


def chosen(trials: dict[Setting, Trial], left_out: str) -> Setting:
    """The setting that errs least inside the three GPUs that are left."""
    return min(trials, key=lambda setting: trials[setting].inside[left_out])


def _errors(medians: Steps, kernels: Kernels, known: Sequence[str], target: str) -> dict[Setting, float]:
    """Mean error on one GPU from each known one, by setting."""
    law = fit_step_law(medians, known, np.ones(len(medians.workloads), bool))
    there = target_of(law, medians, kernels, profiled_target(medians, target, sheet_only=False), 0.0)
    judged = medians.architectures != BENCHMARK[0]
    steps = [known_of(law, medians, anchor, measured_latencies(medians), True) for anchor in known]
    found = {}
    for power, nearness in product(FREE_SHARE_POWERS, NEARNESSES):
        weights = KernelWeights(power, nearness)
        estimates_ms = [predict_target(law, one, there, weights).latency_ms for one in steps]
        away = np.abs(np.array(estimates_ms) / medians.latency_ms[target] - 1)
        found[power, nearness] = float(100 * away[:, judged].mean())
    return found


def main() -> None:
    """Print the table and each choice."""
    measurements = load_measurements(data_folder())
    medians = median_steps(all_steps(class_bank(measurements), measurements.workloads))
    trials = try_settings(medians, load_kernel_speeds(data_folder()))
    print("power  nearness  outside %  " + "  ".join(f"inside without {name}" for name in measurements.instances))
    for (power, nearness), trial in trials.items():
        cells = "  ".join(f"{value:.2f}" for value in trial.inside.values())
        print(f"{power:5.1f}  {nearness:8.1f}  {np.mean(list(trial.outside.values())):9.2f}  {cells}")
    for name in measurements.instances:
        setting = chosen(trials, name)
        print(f"{name} left out: power {setting[0]}, nearness {setting[1]}: {trials[setting].outside[name]:.2f} %")


if __name__ == "__main__":
    main()
