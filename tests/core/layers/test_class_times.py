"""Times of operation classes on another GPU or in another precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from profet_core.catalog.gpus import AMP, CHANNELS_LAST, FP32, PLAIN, TF32, load_gpus
from profet_core.ensemble.members import profile_batch
from profet_core.ensemble.operations import load_operation_classes
from profet_core.ensemble.work import GROUPS
from profet_core.layers.by_name import inputs_there
from profet_core.layers.class_times import UNKNOWN_AS, Place, class_work_ms, log_class_factors, mapped_inputs
from profet_core.layers.rates import KINDS, UserEffects, mode_of, rate_model_of
from profet_profiles import Profile


def place(gpu: str, precision: str = FP32, code: str = PLAIN) -> Place:
    return Place(load_gpus()[gpu], mode_of(load_gpus()[gpu], precision, code))


def test_a_way_and_back_is_none_and_a_faster_gpu_takes_less_in_every_class(models):
    model = rate_model_of(models)
    slow, fast = place("Tesla T4"), place("H100-SXM5-80GB", TF32)
    there, back = log_class_factors(model, slow, fast), log_class_factors(model, fast, slow)
    assert there.keys() == back.keys() and UNKNOWN_AS in there
    assert {*there} == {*load_operation_classes().device} - {"idle", "copy"}
    for name, factor in there.items():
        assert factor == pytest.approx(-back[name]) and factor < -math.log(3)
    assert set(log_class_factors(model, slow, slow).values()) == {0.0}


def test_work_by_class_times_is_slower_where_its_kinds_are():
    groups_ms, costs_ms = np.zeros(len(GROUPS)), np.ones(len(KINDS))
    groups_ms[0], convolutions = 10.0, np.where(np.isin(KINDS, next(iter(GROUPS.values()))), 4.0, 1.0)
    same, twice, slower = class_work_ms(groups_ms, costs_ms, np.stack([costs_ms, 2 * costs_ms, convolutions]))
    assert (same, twice) == pytest.approx((10.0, 20.0))
    # Half of what convolutions take more, over the mean of all groups, counts.
    assert 20.0 < slower < 40.0


def test_half_precision_gains_most_in_convolutions_that_channels_last_runs(models):
    model = rate_model_of(models)
    for gpu in ("Tesla T4", "A100-SXM4-40GB", "GeForce RTX 4090"):
        plain, last = (
            log_class_factors(model, place(gpu, AMP, code), place(gpu, TF32)) for code in (PLAIN, CHANNELS_LAST)
        )
        for name in ("convolution", "batch norm", "activation", "addition"):
            assert 0 < plain[name] < math.log(4) and last[name] > plain[name], (gpu, name)


def test_gaps_and_copies_stay_and_an_operation_of_no_class_goes_with_elementwise_ones(models):
    profile = Profile({"Device_Conv2D": 8e4, "Device_Odd": 1e3, "Device__Recv": 4e3, "Device_IDLE": 3e3})
    inputs = profile_batch([profile, profile], "p3.2xlarge", None).inputs
    here, there = place("GeForce RTX 3090", TF32), place("Tesla V100-SXM2-16GB")
    mapped = mapped_inputs(rate_model_of(models), inputs, [here, there], there)
    factors, classes = log_class_factors(rate_model_of(models), here, there), load_operation_classes()
    changed = dict(zip(classes.names, (mapped.classes_ms / np.maximum(inputs.classes_ms, 1e-12))[0], strict=True))
    assert changed["convolution"] == pytest.approx(math.exp(factors["convolution"]))
    assert changed["idle"] == changed["copy"] == 1.0
    assert (mapped.unknown_ms / inputs.unknown_ms)[0, 0] == pytest.approx(math.exp(factors[UNKNOWN_AS]))
    np.testing.assert_array_equal(mapped.classes_ms[1], inputs.classes_ms[1])


def test_what_a_users_steps_say_of_a_gpu_has_their_programs_costs(models):
    gpu, rates, own = load_gpus()["GeForce RTX 3090"], rate_model_of(models), models.with_transfer(models.transfer)
    before = rates.gpus[gpu.name]
    log_costs = before.log_costs + rates.measured.log_costs - rates.average.log_costs
    effects = UserEffects(log_costs, before.log_sd, 20, gpu.name, instance="mine")
    own.__dict__["rates"] = rates.with_gpus({gpu.name: effects})
    inputs = profile_batch([Profile({"Device_Conv2D": 8e4})], "p3.2xlarge", None).inputs
    times, times_there = (inputs_there(each, inputs, gpu, [FP32]).classes_ms for each in (models, own))
    np.testing.assert_allclose(times_there, times, rtol=1e-9)
