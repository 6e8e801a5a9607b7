"""Leaving a GPU out leaves it out: of its rows only the benchmark's one number counts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.transfer.law import StepLaw, StepParts
from profet_core.transfer.targets import host_named
from profet_lab.transfer.leave_one_gpu_out import (
    TargetGpu,
    anchor_spread,
    foreign_steps,
    known_of,
    measured_latencies,
    predict_target,
    profiled_target,
    spread,
    target_of,
)
from profet_lab.transfer.step_law import HOST_OF, Steps, fit_step_law, gpu_of

#: GPU time of one network on each instance, over that on the T4: what one benchmark point tells exactly.
SLOWNESS = {"g3s.xlarge": 1.7, "g4dn.xlarge": 1.0, "p2.xlarge": 3.0, "p3.2xlarge": 0.35}
START_MS, COPY_FACTOR = 2.0, 1.25


def made_steps() -> Steps:
    """Three networks of the benchmark's mix at six sizes, and D, bound by launches: 12 ms on the reference host."""
    sizes = [(pixels, batch) for pixels in (64, 224) for batch in (16, 32, 64)]
    workloads = pd.DataFrame(
        [(model, pixels, batch) for model in ("ResNet50", "B", "C", "D") for pixels, batch in sizes],
        columns=["model", "pixels", "batch_size"],
    )
    pixels = workloads.batch_size.to_numpy() * workloads.pixels.to_numpy() ** 2
    work = pixels / 1e5 * workloads.model.map({"ResNet50": 4.0, "B": 8.0, "C": 2.0, "D": 0.005}).to_numpy()
    copy_ms = pixels / 4e6
    launches = workloads.model.map({"ResNet50": 0.0, "B": 1.0, "C": 0.5, "D": 10.0}).to_numpy()
    parts, latency_ms = {}, {}
    for name, slowness in SLOWNESS.items():
        launch = host_named(HOST_OF[name]).launch
        busy_ms, floor_ms = work * slowness, (START_MS + launches) * launch
        latency_ms[name] = np.maximum(busy_ms + COPY_FACTOR * copy_ms + START_MS * launch, floor_ms)
        # While profiled, a step bound by launches takes twice as long; elsewhere gaps are a fifth of the launches.
        bound = latency_ms[name] == floor_ms
        idle_ms = np.where(bound, 2 * latency_ms[name] - busy_ms, 1 + launches * launch / 5)
        kinds_ms = busy_ms[:, None] * np.array([0.6, 0.0, 0.0, 0.4])
        parts[name] = StepParts(kinds_ms, copy_ms, idle_ms, np.full(len(busy_ms), np.inf))
    return Steps(workloads, latency_ms, parts, parts)


@pytest.fixture(scope="module")
def made() -> Steps:
    return made_steps()


@pytest.fixture(scope="module")
def laws(made) -> dict[str, StepLaw]:
    """Held-out instance -> the analytical model of the others; "" -> of all."""
    return {name: fit_step_law(made, [one for one in SLOWNESS if one != name], everything(made)) for name in ("", LEFT)}


LEFT, OTHERS = "p3.2xlarge", ["g3s.xlarge", "g4dn.xlarge", "p2.xlarge"]


def everything(steps: Steps) -> np.ndarray:
    return np.ones(len(steps.workloads), bool)


def test_the_model_of_made_up_steps_is_recovered(laws):
    law = laws[""]
    assert law.start_ms == pytest.approx(START_MS, rel=0.02)
    assert law.copy_factor == pytest.approx(COPY_FACTOR, rel=0.02)
    for name, row in law.instances.items():
        assert row.gpu_per_busy == pytest.approx(1.0, rel=0.01), name
        # Tails are inferred separately: a part of launches that hardly count here.
        assert row.benchmark_work_ms == pytest.approx(32 * 224**2 / 1e5 * 8 * SLOWNESS[name], rel=0.01)
        assert row.gpu == gpu_of(name).name and row.host == HOST_OF[name]
    speeds = np.array([row.kind_log_speeds for row in law.instances.values()])
    assert speeds.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert speeds[0, 0] - speeds[1, 0] == pytest.approx(-math.log(1.7))


def test_one_point_reaches_made_up_steps_of_the_benchmarks_mix(made, laws):
    law = laws[LEFT]
    target = target_of(law, made, profiled_target(made, LEFT, sheet_only=False), 0.0)
    assert target.log_speed == pytest.approx(math.log(SLOWNESS["g4dn.xlarge"] / SLOWNESS[LEFT]), abs=0.02)
    known = known_of(law, made, "g4dn.xlarge", measured_latencies(made), True)
    found_ms = predict_target(law, known, target).latency_ms
    large = made.architectures != "D"
    assert found_ms[large] == pytest.approx(made.latency_ms[LEFT][large], rel=0.1)


def test_of_a_gpu_held_out_only_the_benchmarks_point_counts(made, laws):
    """Every other row of the GPU is replaced by nonsense: neither analytical model nor prediction moves."""
    nonsense = {**made.latency_ms, LEFT: np.where(made.benchmark, made.latency_ms[LEFT], 777.0)}
    count = len(made.workloads)
    garbage = StepParts(np.full((count, 4), 3.0), *(np.full(count, 3.0) for _ in range(3)))
    parts = {**made.with_latency, LEFT: garbage}
    spoilt = replace(made, latency_ms=nonsense, with_latency=parts, without_latency=parts)
    law = fit_step_law(spoilt, OTHERS, everything(spoilt))
    assert law == laws[LEFT]
    for sheet_only in (False, True):
        found = [
            predict_target(
                law,
                known_of(law, steps, "g4dn.xlarge", measured_latencies(steps), True),
                target_of(law, steps, profiled_target(steps, LEFT, sheet_only=sheet_only), 0.1),
            )
            for steps in (made, spoilt)
        ]
        assert np.array_equal(found[0].latency_ms, found[1].latency_ms)
        assert np.array_equal(found[0].log_half_width, found[1].log_half_width)


def test_the_benchmarks_point_does_count(made, laws):
    gpu, host = gpu_of(LEFT), host_named("broadwell")
    slow, fast = (target_of(laws[LEFT], made, TargetGpu(gpu, host, ms), 0.0) for ms in (200.0, 100.0))
    assert fast.log_speed > slow.log_speed + 0.6


def test_of_an_architecture_held_out_no_row_counts(made):
    rows = made.architectures != "B"
    spoilt = replace(made, latency_ms={name: np.where(rows, value, 5.0) for name, value in made.latency_ms.items()})
    assert fit_step_law(spoilt, OTHERS, rows) == fit_step_law(made, OTHERS, rows)


def test_a_published_point_says_how_fast_a_gpu_is_beside_the_reference(made, laws):
    gpu = TargetGpu(gpu_of(LEFT), host_named("rome"), None, ("p3.2xlarge", math.log(2)))
    assert target_of(laws[""], made, gpu, 0.0).log_speed == pytest.approx(math.log(2))
    beside_t4 = replace(gpu, published=("g4dn.xlarge", math.log(2)))
    assert target_of(laws[""], made, beside_t4, 0.0).log_speed == pytest.approx(math.log(2 * 0.35), abs=0.01)


def test_shared_errors_are_the_gpus_and_the_rest_the_networks(made):
    """One GPU whose benchmark alone is half as fast as it is: an error between GPUs, not within."""
    three = ["g4dn.xlarge", "p2.xlarge", "p3.2xlarge"]
    fair = spread(made, three, everything(made))
    skewed = np.where(made.benchmark, made.latency_ms["p2.xlarge"] * 2, made.latency_ms["p2.xlarge"])
    found = spread(replace(made, latency_ms={**made.latency_ms, "p2.xlarge": skewed}), three, everything(made))
    assert found.between > fair.between + 0.1
    assert found.gpus == 3


def test_held_out_as_anchor_its_own_steps_are_mapped_back(made, laws):
    law, steps = foreign_steps(made, tuple(SLOWNESS), LEFT, everything(made))
    assert law == laws[LEFT] and np.array_equal(steps.latency_ms, made.latency_ms[LEFT])
    assert anchor_spread(made, ["g4dn.xlarge", "p2.xlarge", "p3.2xlarge"], everything(made)).within < 0.5
