"""A profile's times by what bounds them."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.profiles import Profile
from profet_core.transfer.parts import BANDWIDTH, KINDS, StepParts, kind_of_class, shares, step_parts
from tests.made.step_law import made_parts

#: 80 ms of convolution, 20 ms of batch norm, 7 ms of a depthwise filter gradient, 4 ms of copy, 3 ms of gaps.
PROFILE = Profile(
    {
        "Device_Conv2D": 50_000.0,
        "Device_Conv2DBackpropFilter": 30_000.0,
        "Device_FusedBatchNormV3": 20_000.0,
        "Device_DepthwiseConv2dNativeBackpropFilter": 7_000.0,
        "Device_MatMul": 5_000.0,
        "Device__Recv": 4_000.0,
        "Device_IDLE": 3_000.0,
        "Host_IDLE": 165_000.0,
    }
)


def parts_of(*profiles: Profile) -> StepParts:
    return step_parts(load_operation_classes(), ProfileBatch(profiles, "fast", None).inputs)


def test_a_profile_splits_into_kinds_copy_and_gaps():
    found = parts_of(PROFILE)
    assert found.kinds_ms[0] == pytest.approx([80.0, 5.0, 7.0, 20.0], abs=0.01)
    assert (found.copy_ms[0], found.idle_ms[0]) == pytest.approx((4.0, 3.0))
    assert found.host_ms[0] == np.inf, "nothing tells"
    assert found.busy_ms[0] == pytest.approx(112.0, abs=0.01)
    assert found.compute_share[0] == pytest.approx(85 / 112, abs=1e-4)


def test_time_without_a_class_counts_as_bound_by_bandwidth():
    odd = Profile({**PROFILE.operations, "Device_FlibbertigibbetOp": 9_000.0})
    found, before = parts_of(odd), parts_of(PROFILE)
    assert found.kinds_ms[0] - before.kinds_ms[0] == pytest.approx([0, 0, 0, 9.0], abs=0.01)


def test_every_class_but_the_five_of_computation_is_bound_by_bandwidth():
    others = [name for name in load_operation_classes().device if kind_of_class(name) != BANDWIDTH]
    assert len(others) == 5
    assert kind_of_class("no such class") == BANDWIDTH


def test_shares_add_up_along_the_last_axis_and_no_time_is_no_error():
    assert shares([1.0, 3.0]) == pytest.approx([0.25, 0.75])
    assert shares(np.array([[2.0, 2.0], [0.0, 0.0]])) == pytest.approx(np.array([[0.5, 0.5], [0.0, 0.0]]))


def test_some_of_many_profiles_are_those():
    both = parts_of(PROFILE, Profile({name: 2 * us for name, us in PROFILE.operations.items()}))
    assert both.of(np.array([1])).kinds_ms[0] == pytest.approx(2 * both.kinds_ms[0], rel=1e-3)
    assert both.of(np.array([True, False])).copy_ms == pytest.approx([4.0])
    assert len(KINDS) == made_parts().kinds_ms.shape[1]
