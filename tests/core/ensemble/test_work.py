"""What class times say of a step: its work and kernels, its launches and its latency."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.ensemble.members import profile_batch
from profet_core.ensemble.operations import load_operation_classes
from profet_core.ensemble.work import GROUPS, StepTimes, WorkReader, readers_of
from profet_profiles import Profile

INPUTS = len(GROUPS) + 1
#: A hundred kernels in every step, and 2.5 of one kind of work per millisecond.
HUNDRED = WorkReader(
    mean=np.zeros(INPUTS),
    scale=np.ones(INPUTS),
    centers=np.zeros((1, INPUTS)),
    width=1.0,
    typical={"convolution": 2.5},
    weights=np.array([[np.log(1.1), np.log(100.0)], *np.zeros((INPUTS + 1, 2))]),
)
CONTENT = {
    "mean": [0.0] * INPUTS,
    "scale": [1.0] * INPUTS,
    "centers": [[0.0] * INPUTS],
    "width": 1.0,
    "typical": {"convolution": 2.5},
    "weights": [[0.0, 0.0]] * (INPUTS + 2),
}


def times(busy: float = 100.0, idle: float = 0.0, copy: float = 0.0, host: float = np.inf) -> StepTimes:
    columns = (np.array([value]) for value in (busy, copy, idle, host))
    return StepTimes(np.full((1, len(GROUPS)), busy / len(GROUPS)), *columns)


def test_work_grows_with_the_times_and_kernels_do_not():
    for ms in (1.0, 4.0):
        groups_ms = np.full((1, len(GROUPS)), ms)
        amounts, kernels = HUNDRED.read(groups_ms)
        assert kernels == pytest.approx([100.0])
        assert amounts["convolution"] == pytest.approx([2.5 * ms * len(GROUPS)])


def test_classes_are_summed_to_groups_and_an_operation_of_none_is_busy():
    operations = {"Device_Conv2D": 8e4, "Device_DepthwiseConv2dNativeBackpropFilter": 5e3, "Device_Odd": 1e3}
    profile = Profile({**operations, "Device__Recv": 4e3, "Device_IDLE": 3e3, "Device_MatMul": 1e4, "Host_IDLE": 2e5})
    batch = profile_batch([profile], "g4dn.xlarge", np.array([100.0]))
    read = StepTimes.of(load_operation_classes(), batch.inputs, np.array([np.inf]))
    by_group = dict(zip((names[0] for names in GROUPS), read.groups_ms[0].tolist(), strict=True))
    assert {name: ms for name, ms in by_group.items() if ms} == {
        "convolution": 80.0,
        "matrix product": 10.0,
        "depthwise": 5.0,
    }
    assert (read.busy_ms[0], read.copy_ms[0], read.idle_ms[0]) == pytest.approx((96.0, 4.0, 3.0))


def test_a_step_is_its_work_or_its_launches():
    assert times().latency_ms == pytest.approx([101.9], rel=1e-3)
    assert times(copy=10.0).latency_ms == pytest.approx([113.4], rel=1e-3)
    # Launches bound a step whose GPU waits, which takes longer while it is profiled.
    assert times(busy=5.0, idle=195.0).latency_ms == pytest.approx([200 / 1.7], rel=0.15)
    # The host's own time says what launches take, at most the step.
    assert times(idle=5.0, host=51.0).launch_ms == pytest.approx([30.0])
    assert times(busy=5.0, idle=29.0, host=500.0).launch_ms == pytest.approx([20.0])


@pytest.mark.parametrize(
    "change", [{"weights": [[0.0]]}, {"typical": {}}, {"scale": [0.0] * INPUTS}, {"mean": [float("nan")] * INPUTS}]
)
def test_arrays_that_do_not_belong_together_are_refused(change):
    assert readers_of({"p3.2xlarge": CONTENT})["p3.2xlarge"].read(np.ones((1, len(GROUPS))))[1] == 1.0
    with pytest.raises(ValueError):
        readers_of({"p3.2xlarge": {**CONTENT, **change}})


def test_the_copy_of_the_batch_says_how_large_its_images_are(samples):
    for sample in samples.values():
        batch = profile_batch([sample.profile], sample.anchor, np.array([sample.latency_ms]))
        read = StepTimes.of(load_operation_classes(), batch.inputs, np.array([np.inf]))
        if read.copy_ms[0] > 0:
            pixels = read.pixels(np.array([float(sample.batch_size)]))[0]
            assert sample.pixels / 1.4 < pixels < sample.pixels * 1.4, sample.name
    assert times(copy=0.75 * 64 * 3 * 0.032**2).pixels(np.array([64.0])) == pytest.approx([32.0])
