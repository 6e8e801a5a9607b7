"""The analytical model by hand: amounts of a step, what they cost, and the same at another speed in another host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.from_layers.costs import WORK, GpuCosts, KnownSteps, reached_ms, step_amounts
from profet_core.from_layers.model import BY_LAW, LogLinear, feature_matrix, features_of
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of
from profet_core.transfer.targets import Host, host_named

NETWORK = Counts(
    pixels=10,
    classes=4,
    parameters=150,
    trainable_parameters=150,
    convolution_flops=1_000,
    depthwise_flops=200,
    dense_flops=100,
    activation_elements=70,
    other_elements=20,
    convolutions=3,
    dense_layers=1,
    normalizations=2,
    pools=1,
    layers=8,
    dense_parameters=52,
)
COSTS = GpuCosts(
    gpu="G",
    host="broadwell",
    work_ms=(0.01, 0.05, 0.02, 0.1, 0.2, 0.3, 2.0),
    layer_ms=1.0,
    convolution_ms=0.5,
    start_ms=4.0,
    value_ms=0.001,
)
HALF = Host("half", launch=0.5, copy=0.25, log_sd=0.1)


def test_amounts_are_those_of_the_batch_and_parameters_count_once():
    amounts = step_amounts([NETWORK], [2])
    # A dense layer's weights are half of its FLOPs, two more are biases; the others are 150 - 52.
    assert amounts.work.tolist() == [[2_000, 400, 200, 140, 50, 98, 3]]
    assert amounts.image_values.tolist() == [3 * 2 * 10 * 10]
    assert len(amounts) == 1 and len(WORK) == amounts.work.shape[1]
    # Dense layers that run at every place have their parameters once.
    assert step_amounts([replace(NETWORK, dense_flops=100_000)], [2]).work[0, 4:6].tolist() == [52, 98]


def test_a_step_is_work_joined_with_launches_and_what_nothing_hides():
    amounts = step_amounts([NETWORK], [2])
    # 20 + 20 + 4 + 14 + 10 + 29.4 + 6 ms of work; 8 layers and 3 convolutions to launch; 600 values to copy.
    work_ms, launch_ms, fixed_ms = 103.4, 9.5, 0.6 + 4.0
    assert COSTS.parts_ms(amounts)[0].tolist() == pytest.approx([20, 20, 4, 14, 10, 29.4, 6])
    assert COSTS.latency_ms(amounts) == pytest.approx([(work_ms**4 + launch_ms**4) ** 0.25 + fixed_ms])
    # Another speed shrinks the work and another host the rest; work hidden behind launches costs hardly anything.
    expected = (51.7**4 + 4.75**4) ** 0.25 + 0.6 * 0.25 + 4.0 * 0.5
    assert COSTS.latency_ms(amounts, np.log(2), HALF) == pytest.approx([expected])
    assert COSTS.latency_ms(amounts, np.log(1e6)) == pytest.approx([9.5 + fixed_ms])


def test_the_regression_is_a_weighted_sum_of_logarithms():
    names = [feature.name for feature in features_of(["i"])]
    amounts = step_amounts([NETWORK], [2])
    law_ms = COSTS.latency_ms(amounts)
    features = feature_matrix(amounts, "i", COSTS, law_ms, ["i"])
    line = LogLinear((names.index("batch"), names.index("layers")), (0.5, 2.0), 1.0, names.index(BY_LAW))
    latency_ms = law_ms * np.exp(line.log_ratio(features))
    # e x sqrt(2) x (8 + 1)^2: the analytical model itself has no part in it. Features are of single precision.
    assert latency_ms == pytest.approx([np.e * np.sqrt(2) * 81], rel=1e-5)
    marked = feature_matrix(amounts, "b", COSTS, law_ms, ["a", "b"])
    assert marked[0, -2:].tolist() == [0, 1] and marked.shape == (1, len(features_of(["a", "b"])))
    assert np.array_equal(marked, marked.astype(np.float32).astype(float))


def test_measured_gpus_count_by_their_nearness_in_speed():
    amounts = step_amounts([NETWORK], [2])
    slower = tuple(cost * np.exp(2) for cost in COSTS.work_ms)
    slow, fast = replace(COSTS, work_ms=slower, log_speed=-1.0), replace(COSTS, log_speed=1.0)
    known = {"slow": KnownSteps(slow, np.array([0.0])), "fast": KnownSteps(fast, np.array([0.3]))}
    # As a GPU at 0.5: gains of 1.5 and -0.5, weights e^-4.5 and e^-1.5, of which e^-3 / (1 + e^-3) is the first's.
    host = host_named("broadwell")
    share = np.exp(-3) / (1 + np.exp(-3))
    logs = np.log(slow.latency_ms(amounts, 1.5, host)), np.log(fast.latency_ms(amounts, -0.5, host)) + 0.3
    assert reached_ms(known, amounts, 0.5, host) == pytest.approx(np.exp(share * logs[0] + (1 - share) * logs[1]))
    # One as fast as a measured one takes as long.
    alone = {"i": KnownSteps(COSTS, np.array([0.1]))}
    assert reached_ms(alone, amounts, 0.0, host) == pytest.approx(COSTS.latency_ms(amounts) * np.exp(0.1))


def test_parameters_of_dense_layers_are_counted_apart():
    vgg, weights = counts_of("VGG16", 224), 25_088 * 4_096 + 4_096 * 4_096 + 4_096 * 1_000
    assert (vgg.dense_flops, vgg.dense_parameters) == (2 * weights, weights + 4_096 + 4_096 + 1_000)
    # ConvNeXt's dense layers run at every place of the image.
    next_ = counts_of("ConvNeXt-Tiny", 224)
    assert next_.dense_parameters < next_.parameters < next_.dense_flops / 2
