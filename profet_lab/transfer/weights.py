"""Choose settings and weights of the analytical model by nested leave-one-GPU-out.

`python -m profet_lab.transfer.weights` prints every setting tried: its error inside each three, which the choice
looks at, and on the fourth, which it does not. Latencies on known GPUs are the measured ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from profet_core.transfer.carry import WEIGHTS, KernelWeights, KnownSteps
from profet_core.transfer.law import StepLaw
from profet_core.transfer.targets import Target
from profet_lab.classes.bank import class_bank
from profet_lab.measurements.tables import data_folder, load_measurements
from profet_lab.transfer.leave_one_gpu_out import (
    known_of,
    measured_latencies,
    predict_target,
    profiled_target,
    target_of,
)
from profet_lab.transfer.step_law import (
    BENCHMARK,
    SETTING,
    LawSetting,
    Steps,
    all_steps,
    benchmark_work_ms,
    fit_step_law,
    median_steps,
)

LAW_SETTINGS = tuple(
    LawSetting(*values) for values in product((0.0, 0.1, 0.2, 0.4), (0.0, 0.25, 0.5, 1.0), (0.0, 0.3, 1.0))
)
WEIGHT_SETTINGS = tuple(KernelWeights(*values) for values in product((0.0, 1.0, 2.0), (0.0, 1.5, 3.0, 5.0)))


@dataclass(frozen=True, slots=True)
class Setting:
    """What is chosen, not fitted."""

    law: LawSetting
    weights: KernelWeights

    @property
    def values(self) -> tuple[float, ...]:
        """Tails, tilt, power; free share's power, nearness."""
        law, weights = self.law, self.weights
        return (
            law.tail_share,
            law.bandwidth_tilt,
            law.scattered_power,
            weights.free_share_power,
            weights.nearness,
        )


SHIPPED = Setting(SETTING, WEIGHTS)


@dataclass(frozen=True)
class Trial:
    """Errors of one setting by GPU held out of everything, percent: inside the other three, and on the GPU itself."""

    inside: dict[str, float]
    outside: dict[str, float]


def settings(laws: Iterable[LawSetting], weights: Sequence[KernelWeights]) -> list[Setting]:
    """Every model setting with every weight setting."""
    return [Setting(law, one) for law in laws for one in weights]


def try_settings(medians: Steps, wanted: Sequence[Setting]) -> dict[Setting, Trial]:
    """Every setting's errors; what the settings don't change is fitted once."""
    names = medians.instances
    laws: dict[tuple[str, ...], StepLaw] = {}
    found = {}
    for held_out, inner in product(names, names):
        known = tuple(name for name in names if name not in (held_out, inner))
        if known not in laws:
            laws[known] = fit_step_law(medians, known, np.ones(len(medians.workloads), bool))
        found[held_out, inner] = _Case(medians, laws[known], inner).errors(wanted)
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


@dataclass(frozen=True)
class _Case:
    """One target GPU and the known GPUs that `law` is fitted on."""

    medians: Steps
    law: StepLaw
    target: str

    def errors(self, wanted: Sequence[Setting]) -> dict[Setting, float]:
        """Mean error on the target from each known GPU, the benchmark's network apart, percent."""
        judged = self.medians.architectures != BENCHMARK[0]
        true_ms = self.medians.latency_ms[self.target][judged]
        found = {}
        for setting, law, target, known in self._prepared(wanted):
            away = [
                np.abs(predict_target(law, one, target, setting.weights).latency_ms[judged] / true_ms - 1)
                for one in known
            ]
            found[setting] = float(100 * np.mean(away))
        return found

    def _prepared(self, wanted: Sequence[Setting]) -> Iterator[tuple[Setting, StepLaw, Target, list[KnownSteps]]]:
        """Computed once per model: the parts that the weights don't change."""
        made: dict[LawSetting, tuple[StepLaw, Target, list[KnownSteps]]] = {}
        for setting in wanted:
            if setting.law not in made:
                made[setting.law] = self._make(setting.law)
            yield setting, *made[setting.law]

    def _make(self, setting: LawSetting) -> tuple[StepLaw, Target, list[KnownSteps]]:
        medians = self.medians
        law = with_setting(self.law, medians, setting)
        target = target_of(law, medians, profiled_target(medians, self.target, sheet_only=False), 0.0)
        known = [known_of(law, medians, anchor, measured_latencies(medians), True) for anchor in law.instances]
        return law, target, known


def with_setting(law: StepLaw, medians: Steps, setting: LawSetting) -> StepLaw:
    """The model refitted with another setting, which changes only the benchmark's work."""
    changed = replace(
        law,
        tail_share=setting.tail_share,
        bandwidth_tilt=setting.bandwidth_tilt,
        scattered_power=setting.scattered_power,
    )
    benchmark = np.flatnonzero(medians.benchmark)
    instances = {
        name: replace(row, benchmark_work_ms=benchmark_work_ms(changed, medians, name, benchmark))
        for name, row in law.instances.items()
    }
    return replace(changed, instances=instances)


def main() -> None:
    """Print the table and each choice."""
    folder = data_folder()
    measurements = load_measurements(folder)
    medians = median_steps(all_steps(class_bank(measurements), measurements.workloads))
    trials = try_settings(medians, settings(LAW_SETTINGS, WEIGHT_SETTINGS))
    print("tails  tilt  scattered  free  near  outside %  " + "  ".join(f"inside {name}" for name in medians.instances))
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
    return "  ".join(f"{value:4.2f}" for value in setting.values)


if __name__ == "__main__":
    main()
