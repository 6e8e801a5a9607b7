"""Transfer to unprofiled GPUs: held-out GPUs, published speeds, reference steps, settings."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.latency import quantile
from profet_core.layers.networks import measured_counts
from profet_core.shipped import shipped_text
from profet_core.transfer.custom_gpu import OTHER_NETWORK_LOG_SD, REFERENCE_STEPS_NAME, THROUGHPUT_LOG_SD
from profet_core.transfer.model import Spread
from profet_core.transfer.rates import log_speed, no_less
from profet_core.transfer.step_model import StepModel, StepParts
from profet_core.transfer.steps import WEIGHTS, KernelWeights
from profet_core.transfer.targets import host_named
from profet_lab.measurements.tables import DataError, data_folder, load_architectures
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
from profet_lab.transfer.rates import RateRows, evidence_widths, fit_rates, held_out_rows, held_out_tables
from profet_lab.transfer.reference_steps import reference_steps, steps_csv, throughput_log_sds
from profet_lab.transfer.step_model import (
    BENCHMARK,
    HOST_OF,
    SETTING,
    InstanceSteps,
    StepModelSetting,
    fit_step_model,
    gpu_of,
    measured_medians,
)
from profet_lab.transfer.weights import (
    SHIPPED,
    Setting,
    Trial,
    chosen,
    nested_error,
    try_settings,
    with_setting,
)
from profet_lab.transfer.work import fit_readers, with_launches
from tests.made.step_model import no_groups
from tests.made.transfer_steps import TAIL_SHARE, made_transfer_steps

pytestmark = pytest.mark.training

#: GPU time of one network on each instance, over that on the T4: what one benchmark point tells exactly.
SLOWNESS = {"g3s.xlarge": 1.7, "g4dn.xlarge": 1.0, "p2.xlarge": 3.0, "p3.2xlarge": 0.35}
START_MS, COPY_FACTOR = 2.0, 1.25


def made_steps() -> InstanceSteps:
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
        parts[name] = StepParts(kinds_ms, copy_ms, idle_ms, np.full(len(busy_ms), np.inf), no_groups(len(busy_ms)))
    return InstanceSteps(workloads, latency_ms, parts, parts)


@pytest.fixture(scope="module")
def made() -> InstanceSteps:
    return made_steps()


@pytest.fixture(scope="module")
def step_models(made) -> dict[str, StepModel]:
    """Held-out instance -> the analytical model of the others; "" -> of all."""
    return {
        name: fit_step_model(made, [one for one in SLOWNESS if one != name], everything(made)) for name in ("", LEFT)
    }


LEFT, OTHERS = "p3.2xlarge", ["g3s.xlarge", "g4dn.xlarge", "p2.xlarge"]


def everything(steps: InstanceSteps) -> np.ndarray:
    return np.ones(len(steps.workloads), bool)


def test_the_model_of_made_up_steps_is_recovered(step_models):
    step_model = step_models[""]
    assert step_model.start_ms == pytest.approx(START_MS, rel=0.02)
    assert step_model.copy_factor == pytest.approx(COPY_FACTOR, rel=0.02)
    for name, row in step_model.instances.items():
        assert row.gpu_per_busy == pytest.approx(1.0, rel=0.01), name
        # Tails are inferred separately: a part of launches that hardly count here.
        assert row.benchmark_work_ms == pytest.approx(32 * 224**2 / 1e5 * 8 * SLOWNESS[name], rel=0.01)
        assert row.gpu == gpu_of(name).name and row.host == HOST_OF[name]
    speeds = np.array([row.kind_log_speeds for row in step_model.instances.values()])
    assert speeds.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert speeds[0, 0] - speeds[1, 0] == pytest.approx(-math.log(1.7))


def test_one_point_predicts_steps_of_the_benchmarks_mix_measured_or_published(made, step_models):
    step_model = step_models[LEFT]
    target = target_of(step_model, made, profiled_target(made, LEFT, sheet_only=False), 0.0)
    assert target.nearness == pytest.approx(math.log(SLOWNESS["g4dn.xlarge"] / SLOWNESS[LEFT]), abs=0.04)
    known = known_of(step_model, made, "g4dn.xlarge", measured_latencies(made), True)
    found_ms = predict_target(step_model, known, target).latency_ms
    large = made.architectures != "D"
    assert found_ms[large] == pytest.approx(made.latency_ms[LEFT][large], rel=0.1)
    gpu, host = gpu_of(LEFT), host_named("broadwell")
    slow, fast = (target_of(step_models[LEFT], made, TargetGpu(gpu, host, ms), 0.0) for ms in (200.0, 100.0))
    assert fast.compute > slow.compute + 0.6 and fast.bandwidth > slow.bandwidth + 0.3
    gpu = TargetGpu(gpu_of(LEFT), host_named("rome"), None, ("p3.2xlarge", math.log(2)))
    assert target_of(step_models[""], made, gpu, 0.0).nearness == pytest.approx(math.log(2))
    beside_t4 = replace(gpu, published=("g4dn.xlarge", math.log(2)))
    assert target_of(step_models[""], made, beside_t4, 0.0).nearness == pytest.approx(math.log(2 * 0.35), abs=0.01)


def test_of_a_gpu_held_out_only_the_benchmarks_point_counts(made, step_models):
    """Every other row of the GPU is replaced by nonsense: neither analytical model nor prediction moves."""
    nonsense = {**made.latency_ms, LEFT: np.where(made.benchmark, made.latency_ms[LEFT], 777.0)}
    count = len(made.workloads)
    garbage = StepParts(np.full((count, 4), 3.0), *(np.full(count, 3.0) for _ in range(3)), no_groups(count))
    parts = {**made.with_latency, LEFT: garbage}
    spoilt = replace(made, latency_ms=nonsense, with_latency=parts, without_latency=parts)
    step_model = fit_step_model(spoilt, OTHERS, everything(spoilt))
    assert step_model == step_models[LEFT]
    for sheet_only in (False, True):
        found = [
            predict_target(
                step_model,
                known_of(step_model, steps, "g4dn.xlarge", measured_latencies(steps), True),
                target_of(step_model, steps, profiled_target(steps, LEFT, sheet_only=sheet_only), 0.1),
            )
            for steps in (made, spoilt)
        ]
        assert np.array_equal(found[0].latency_ms, found[1].latency_ms)
        assert np.array_equal(found[0].log_half_width, found[1].log_half_width)


def test_of_what_is_held_out_no_row_counts_and_shared_errors_are_the_gpus(made, step_models):
    rows = made.architectures != "B"
    spoilt = replace(made, latency_ms={name: np.where(rows, value, 5.0) for name, value in made.latency_ms.items()})
    assert fit_step_model(spoilt, OTHERS, rows) == fit_step_model(made, OTHERS, rows)
    # One GPU whose benchmark alone is half as fast as it is: an error between GPUs, not within.
    three = ["g4dn.xlarge", "p2.xlarge", "p3.2xlarge"]
    fair = spread(made, three, everything(made))
    skewed = np.where(made.benchmark, made.latency_ms["p2.xlarge"] * 2, made.latency_ms["p2.xlarge"])
    found = spread(replace(made, latency_ms={**made.latency_ms, "p2.xlarge": skewed}), three, everything(made))
    assert found.between > fair.between + 0.1
    assert found.gpus == 3
    step_model, steps = foreign_steps(made, tuple(SLOWNESS), LEFT, everything(made))
    assert step_model == step_models[LEFT] and np.array_equal(steps.latency_ms, made.latency_ms[LEFT])
    assert anchor_spread(made, ["g4dn.xlarge", "p2.xlarge", "p3.2xlarge"], everything(made)).within < 0.5


V100 = load_gpus()["Tesla V100-SXM2-16GB"]
#: Half of the benchmark's work is convolutions.
MIX, ALL_COMPUTE = (0.5, 0.0, 0.2, 0.0, 0.3), (1.0, 0.0, 0.0, 0.0, 0.0)


def cards(count: int, seed: int = 0) -> dict[str, Gpu]:
    """V100 and cards of two generations with random specs."""
    rng = np.random.default_rng(seed)
    made = {
        f"card {number}": replace(
            V100,
            name=f"card {number}",
            compute_capability=(8.0, 9.0)[number % 2],
            fp32_tflops=float(np.exp(rng.uniform(2, 4))),
            bandwidth_gb_per_s=float(np.exp(rng.uniform(6, 8))),
            tdp_w=float(rng.uniform(100, 400)),
        )
        for number in range(count)
    }
    return {V100.name: V100, **made}


def truth(gpu: Gpu, amp: bool = False) -> np.ndarray:
    """Log rates to find: power 0.9 of the peak, and 0.3 for the second generation; AMP twice and 1.5 times."""
    compute = 0.9 * math.log(gpu.fp32_tflops / V100.fp32_tflops) + (0.3 if gpu.compute_capability == 9.0 else 0.0)
    rest = math.log(gpu.bandwidth_gb_per_s / V100.bandwidth_gb_per_s) - (0.1 if gpu is not V100 else 0.0)
    found = np.array([compute] * 2 + [rest] * 3)
    return found + np.array([math.log(2)] * 2 + [math.log(1.5)] * 3) if amp else found


def table(gpus: dict[str, Gpu], name: str = "one", faster: float = 1.0) -> pd.DataFrame:
    rows = [
        (
            name,
            network,
            224,
            gpu.name,
            precision,
            mix,
            300 * faster * math.exp(log_speed(mix, truth(gpu, amp).tolist())),
        )
        for gpu in gpus.values()
        for network, mix in (("ResNet50", MIX), ("VGG16", ALL_COMPUTE))
        for precision, amp in (("fp32", False), ("amp", True))
    ]
    columns = ["table", "network", "pixels", "gpu", "precision", "shares", "images_per_s"]
    return pd.DataFrame(rows, columns=columns)


def evidence_of(gpus: dict[str, Gpu], *tables: pd.DataFrame) -> RateRows:
    found = RateRows(gpus, V100.name, MIX)
    found.add_tables(pd.concat(tables, ignore_index=True), 0.0)
    return found


def test_rates_of_made_up_tables_are_found_whatever_each_table_s_factor():
    gpus = cards(12)
    fit = fit_rates(evidence_of(gpus, table(gpus), table(gpus, "another", faster=0.6)))
    for name, gpu in gpus.items():
        for precision, amp in (("fp32", False), ("amp", True)):
            found, _ = fit.speed(name, precision, MIX)
            assert found == pytest.approx(log_speed(MIX, truth(gpu, amp).tolist()), abs=0.06), (name, precision)


def test_of_a_gpu_held_out_no_row_counts():
    gpus = cards(12)
    rows = table(gpus)
    nonsense = rows.assign(images_per_s=rows.images_per_s.where(rows.gpu != "card 3", 7.0))
    honest, spoilt = (fit_rates(evidence_of(gpus, one), without="card 3") for one in (rows, nonsense))
    assert np.array_equal(honest.values, spoilt.values)
    judged = held_out_rows(evidence_of(gpus, rows), honest.values, "card 3", ())
    assert len(judged) == 4 and judged["error"].abs().max() < 0.15


def test_a_gpu_s_own_table_counts_where_another_is_judged():
    gpus = cards(8)
    fast = table(gpus, "another").assign(images_per_s=lambda rows: rows.images_per_s * (1 + (rows.gpu == "card 3")))
    evidence = evidence_of(gpus, table(gpus), fast)
    start = fit_rates(evidence).values
    by_specs, by_table = (held_out_rows(evidence, start, "card 3", keep) for keep in ((), ("another",)))
    assert set(by_specs["table"]) == {"one", "another"} and set(by_table["table"]) == {"one"}
    # It is twice as fast in the other table.
    assert by_table["error"].mean() < by_specs[by_specs["table"] == "one"]["error"].mean() - 0.2


def test_widths_hold_the_level_of_each_kind_of_evidence():
    gpus = cards(6)
    rows = held_out_tables(evidence_of(gpus, table(gpus), table(gpus, "another")), Spread(0.04, 0.11, 4))
    assert set(rows["kept"]) == {0, 1} and V100.name not in set(rows["gpu"])
    away = rows.assign(away=np.where(rows["kept"] > 0, 3.0, 0.5))
    widths = evidence_widths(away)
    assert widths == pytest.approx({"published_width": 3.0 / quantile(), "specs_width": 0.5 / quantile()})


def test_the_better_of_two_gpus_keeps_no_lower_rate_where_tables_disagree():
    gpus = cards(4)
    small = replace(gpus["card 0"], name="small", fp32_tflops=20.0, bandwidth_gb_per_s=800.0, tdp_w=200.0)
    large = replace(small, name="large", tdp_w=300.0, bandwidth_gb_per_s=1000.0)
    gpus |= {"small": small, "large": large}
    assert no_less(large, small) and not no_less(small, large)
    rows = table(gpus)
    # The tables say that the large one is a third slower.
    slow = rows.assign(images_per_s=rows.images_per_s.where(rows.gpu != "large", rows.images_per_s / 1.5))
    fit = fit_rates(evidence_of(gpus, slow))
    for precision in ("fp32", "default", "amp"):
        assert (fit.log_rates("large", precision) >= fit.log_rates("small", precision) - 1e-3).all()


def test_the_shipped_table_and_spreads_are_what_the_command_writes(measurements, models, tmp_path):
    steps = reference_steps(measured_medians(measurements), load_architectures(data_folder()))
    shipped = shipped_text(REFERENCE_STEPS_NAME)
    assert steps_csv(steps) == shipped
    found = throughput_log_sds(steps, models.transfer.step, data_folder())
    assert found == pytest.approx((THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD), abs=0.01)
    with pytest.raises(DataError, match=r"No external/training_throughput\.csv in"):
        throughput_log_sds(steps, models.transfer.step, tmp_path)


STEP_SETTINGS = (SETTING, StepModelSetting(tail_share=0.6, scattered_power=1.0))
WANTED = [Setting(*each) for each in product(STEP_SETTINGS, (WEIGHTS, KernelWeights(0.0, 0.0)))]


@pytest.fixture(scope="module")
def steps() -> InstanceSteps:
    return made_transfer_steps()


@pytest.fixture(scope="module")
def trials(steps) -> dict[Setting, Trial]:
    return try_settings(steps, WANTED)


def test_the_setting_that_made_the_steps_errs_less(trials):
    """Tails are a tenth of the launches in these steps, not six tenths."""
    right, wrong = (Setting(step_model, WEIGHTS) for step_model in STEP_SETTINGS)
    assert right.step_model.tail_share == TAIL_SHARE
    assert np.mean(list(trials[right].outside.values())) < np.mean(list(trials[wrong].outside.values()))


def test_another_setting_equals_a_fit_with_it(steps):
    """All that a fit with it would find, apart from the models' own uncertainty, which no error of the trials reads."""
    rows = np.ones(len(steps.workloads), bool)
    one, other = (fit_step_model(steps, steps.instances, rows, setting) for setting in STEP_SETTINGS)
    changed = with_setting(one, steps, STEP_SETTINGS[1])
    for name, row in other.instances.items():
        found = changed.instances[name]
        assert replace(found, inferred_log_half_width=0.0) == replace(row, inferred_log_half_width=0.0)
        assert found.benchmark_work_ms != one.instances[name].benchmark_work_ms
    assert replace(changed, instances={}) == replace(other, instances={})


def test_an_error_is_of_the_model_fitted_on_the_others(trials, steps):
    target, others = "p3.2xlarge", ["g3s.xlarge", "g4dn.xlarge", "p2.xlarge"]
    step_model = fit_step_model(steps, others, np.ones(len(steps.workloads), bool))
    there = target_of(step_model, steps, profiled_target(steps, target, sheet_only=False), 0.0)
    found_ms = [
        predict_target(
            step_model, known_of(step_model, steps, anchor, measured_latencies(steps), True), there
        ).latency_ms
        for anchor in others
    ]
    away = np.abs(np.array(found_ms) / steps.latency_ms[target] - 1)[:, steps.architectures != BENCHMARK[0]]
    assert trials[SHIPPED].outside[target] == pytest.approx(100 * away.mean())


def test_the_choice_does_not_look_at_the_gpu_held_out(trials, steps):
    held_out = "p3.2xlarge"
    spoilt_ms = np.where(steps.benchmark, steps.latency_ms[held_out], 777.0)
    after = try_settings(replace(steps, latency_ms={**steps.latency_ms, held_out: spoilt_ms}), WANTED)
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


def test_of_a_held_out_network_the_kernels_are_about_as_many_as_its_layers_say(measurements, models):
    medians = measured_medians(measurements)
    for network, anchor in (("VGG16", "g4dn.xlarge"), ("ResNet34", "p3.2xlarge")):
        own = medians.architectures == network
        found = with_launches(fit_readers(medians, ~own, network), medians, models.transfer.step, ~own)[anchor]
        kernels = found.kernels(medians.with_latency[anchor].groups_ms[own])
        counted = measured_counts(network, 224).layers.operations
        # Of all networks they are off by 0.45 in the logarithm.
        assert np.median(kernels) == pytest.approx(counted, rel=0.5), network
        shipped = models.transfer.readers[anchor]
        assert found.launch_ms == pytest.approx(shipped.launch_ms, rel=0.1)
