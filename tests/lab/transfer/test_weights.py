"""Settings of the analytical model are chosen by leaving one GPU out among three: the fourth is not looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.transfer.carry import WEIGHTS, KernelWeights
from profet_lab.transfer.leave_one_gpu_out import (
    known_of,
    measured_latencies,
    predict_target,
    profiled_target,
    target_of,
)
from profet_lab.transfer.step_law import BENCHMARK, SETTING, LawSetting, Steps, fit_step_law
from profet_lab.transfer.weights import (
    SHIPPED,
    Setting,
    Trial,
    chosen,
    nested_error,
    settings,
    try_settings,
    with_setting,
)
from tests.made.transfer_steps import TAIL_SHARE, made_transfer_steps

pytestmark = pytest.mark.training

LAWS = (SETTING, LawSetting(tail_share=0.6, bandwidth_tilt=0.0, scattered_power=1.0))
WANTED = settings(LAWS, (WEIGHTS, KernelWeights(0.0, 0.0)))


@pytest.fixture(scope="module")
def made() -> Steps:
    return made_transfer_steps()


@pytest.fixture(scope="module")
def trials(made) -> dict[Setting, Trial]:
    return try_settings(made, WANTED)


def test_the_setting_that_made_the_steps_errs_less(trials):
    """Tails are a tenth of the launches in these steps, not six tenths."""
    right, wrong = (Setting(law, WEIGHTS) for law in LAWS)
    assert right.law.tail_share == TAIL_SHARE
    assert np.mean(list(trials[right].outside.values())) < np.mean(list(trials[wrong].outside.values()))


def test_another_setting_equals_a_fit_with_it(made):
    """All that a fit with it would find, the laws' own doubt apart, which no error of the trials reads."""
    rows = np.ones(len(made.workloads), bool)
    one, other = (fit_step_law(made, made.instances, rows, setting) for setting in LAWS)
    changed = with_setting(one, made, LAWS[1])
    for name, row in other.instances.items():
        found = changed.instances[name]
        assert replace(found, own_log_half_width=0.0) == replace(row, own_log_half_width=0.0)
        assert found.benchmark_work_ms != one.instances[name].benchmark_work_ms
    assert replace(changed, instances={}) == replace(other, instances={})


def test_an_error_is_of_the_model_fitted_on_the_others(trials, made):
    target, others = "p3.2xlarge", ["g3s.xlarge", "g4dn.xlarge", "p2.xlarge"]
    law = fit_step_law(made, others, np.ones(len(made.workloads), bool))
    there = target_of(law, made, profiled_target(made, target, sheet_only=False), 0.0)
    found_ms = [
        predict_target(law, known_of(law, made, anchor, measured_latencies(made), True), there).latency_ms
        for anchor in others
    ]
    away = np.abs(np.array(found_ms) / made.latency_ms[target] - 1)[:, made.architectures != BENCHMARK[0]]
    assert trials[SHIPPED].outside[target] == pytest.approx(100 * away.mean())


def test_the_choice_does_not_look_at_the_gpu_held_out(trials, made):
    held_out = "p3.2xlarge"
    spoilt_ms = np.where(made.benchmark, made.latency_ms[held_out], 777.0)
    after = try_settings(replace(made, latency_ms={**made.latency_ms, held_out: spoilt_ms}), WANTED)
    assert [trial.inside[held_out] for trial in trials.values()] == [trial.inside[held_out] for trial in after.values()]
    assert chosen(trials, held_out) == chosen(after, held_out)
    assert all(after[setting].outside[held_out] > trials[setting].outside[held_out] for setting in WANTED)


def test_the_nested_error_is_that_of_each_gpus_own_choice():
    good, bad = WANTED[:2]
    made_up = {
        good: Trial(inside={"a": 1.0, "b": 9.0}, outside={"a": 5.0, "b": 6.0}),
        bad: Trial(inside={"a": 2.0, "b": 8.0}, outside={"a": 1.0, "b": 12.0}),
    }
    assert (chosen(made_up, "a"), chosen(made_up, "b")) == (good, bad)
    assert nested_error(made_up) == (5.0 + 12.0) / 2
