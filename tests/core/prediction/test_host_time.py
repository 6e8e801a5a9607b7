"""What the host spends on a step, where a profile tells all of it."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core import Profile, ProfileMeta, predict
from profet_core.networks.batch import ProfileBatch
from profet_core.prediction.host_time import host_times_ms
from profet_core.prediction.unprofiled import recorded_steps

PYTORCH = ProfileMeta(framework="PyTorch 2.13")
DEVICE = {"Device_Conv2D": 60_000.0, "Device_FusedBatchNormV3": 40_000.0, "Device_IDLE": 12_000.0}


def profile(meta: ProfileMeta | None = PYTORCH, **host: float) -> Profile:
    return Profile({**DEVICE, **{f"Host_{name}": us for name, us in host.items()}}, meta or ProfileMeta())


def test_pytorchs_host_times_add_up():
    assert host_times_ms([profile(aten_conv2d=8_000.0, aten_relu=2_000.0)])[0] == pytest.approx(10.0)


@pytest.mark.parametrize("wait", ["IDLE", "Dataset", "_Send", "_Recv", "_HostRecv"])
def test_waits_are_no_work_of_the_host(wait):
    found = host_times_ms([profile(aten_conv2d=8_000.0, **{wait: 90_000.0})])
    assert found[0] == pytest.approx(8.0)


@pytest.mark.parametrize(
    "given",
    [
        profile(ProfileMeta(framework="TensorFlow 2.21"), Conv2D=8_000.0),
        profile(None, Conv2D=8_000.0),
        profile(),
        profile(IDLE=90_000.0),
    ],
    ids=["TensorFlow runs on many threads", "no framework told", "no host row", "nothing but waits"],
)
def test_elsewhere_nothing_is_told(given):
    assert host_times_ms([given])[0] == np.inf


def test_the_host_bounds_the_floor(models):
    """A PyTorch step whose gaps say many launches, and whose host says few."""
    law = models.transfer.step
    floors = []
    for meta in (PYTORCH, ProfileMeta(framework="TensorFlow 2.21")):
        steps = recorded_steps(ProfileBatch([profile(meta, aten_conv2d=6_000.0)], "p3.2xlarge", np.array([105.0])))
        floors.append(law.floor_ms(steps.parts, "p3.2xlarge", steps.latency_ms)[0])
    # 6 ms while profiled, at a slowdown of 2.176.
    assert floors[0] < 6 / 2.17 < 20 < floors[1]


def test_a_light_host_lets_a_fast_gpu_be_faster(models, catalog):
    light, heavy = (
        predict(
            models, catalog, profile(aten_conv2d=us), "p3.2xlarge", latency_ms=105.0, targets=["p5.4xlarge"]
        ).predictions[1]
        for us in (4_000.0, 100_000.0)
    )
    assert light.latency_ms < heavy.latency_ms
    assert heavy.limited_by_host and not light.limited_by_host
