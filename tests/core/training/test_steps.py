"""Which latencies a training has at its batch size, what stands behind each, and what keeps them from being carried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import Profile, ProfileMeta, predict
from profet_core.latency import Basis
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import AxisEnds, EndProfiles
from profet_core.training.steps import (
    CarryObstacle,
    carry_obstacle,
    steps_as_profiled,
    steps_carried,
)


@pytest.fixture(scope="module")
def prediction(models, catalog, samples):
    sample = samples["resnet50-128px-b16-g4dn"]
    return predict(models, catalog, sample.profile, sample.anchor)


def grown(prediction) -> AxisEnds:
    """Ten times as long at the largest batch."""
    low = prediction.latencies_ms
    return AxisEnds("batch", low, {name: 10 * ms for name, ms in low.items()})


def test_at_the_profiled_batch_the_latencies_are_the_prediction_s(models, prediction):
    steps = steps_as_profiled(prediction, 16)
    assert (steps.batch_size, steps.carried, steps.problems) == (16, False, {})
    assert steps.step_times == prediction.predictions
    assert steps.latencies_ms == prediction.latencies_ms
    assert prediction.anchor not in steps.latencies_ms, "nobody gave the anchor's latency"
    assert set(steps.intervals) == set(prediction.latencies_ms)


def test_at_another_batch_they_are_carried_without_intervals(models, prediction):
    steps = steps_carried(models, grown(prediction), 100, prediction.predictions)
    assert (steps.batch_size, steps.carried, steps.intervals) == (100, True, {})
    expected = carried_latencies(models, grown(prediction), [100]).latencies_ms
    assert steps.latencies_ms == {name: ms for name, (ms,) in expected.items()}
    basis = {row.instance: row.basis for row in steps.step_times}
    assert basis["p3.2xlarge"] is Basis.CARRIED
    assert basis["g5.xlarge"] is Basis.DERIVED, "what was no measurement of its GPU there is none here"


def test_an_instance_that_can_not_be_carried_has_a_line(models, prediction):
    ends = grown(prediction)
    steps = steps_carried(
        models, replace(ends, max_ms={**ends.max_ms, "p3.2xlarge": 0.001}), 100, prediction.predictions
    )
    assert list(steps.problems) == ["p3.2xlarge"]
    assert "p3.2xlarge" not in steps.latencies_ms


# --- what keeps from carrying ---------------------------------------------------------------------------------------


def recorded(batch_size: int, pixels: int = 128) -> Profile:
    return Profile({"Device_Conv2D": 80.0}, ProfileMeta(batch_size=batch_size, pixels=pixels))


PROFILES = EndProfiles(recorded(16), recorded(256), "g4dn.xlarge")
ENDS = AxisEnds("batch", {"p2.xlarge": 1.0}, {"p2.xlarge": 9.0}, PROFILES)


def test_nothing_keeps_a_profile_from_being_carried_along_its_own_network_s_ends():
    assert carry_obstacle(recorded(64), "g4dn.xlarge", ENDS) is None


def test_typed_latencies_are_taken_as_they_are():
    typed = replace(ENDS, profiles=None)
    assert carry_obstacle(recorded(64, pixels=32), "p3.2xlarge", typed) is None


@pytest.mark.parametrize(
    ("profile", "anchor", "ends", "obstacle"),
    [
        (recorded(64), "g4dn.xlarge", replace(ENDS, max_ms={}), CarryObstacle.END_MISSING),
        (
            recorded(64),
            "g4dn.xlarge",
            replace(ENDS, profiles=replace(PROFILES, largest=recorded(128))),
            CarryObstacle.ENDS_DIFFER,
        ),
        (
            recorded(64),
            "g4dn.xlarge",
            replace(ENDS, profiles=replace(PROFILES, largest=recorded(256, pixels=64))),
            CarryObstacle.ENDS_DIFFER,
        ),
        (recorded(64), "p3.2xlarge", ENDS, CarryObstacle.OTHER_ANCHOR),
        (recorded(64, pixels=64), "g4dn.xlarge", ENDS, CarryObstacle.OTHER_NETWORK),
        (recorded(64, pixels=64), "p3.2xlarge", ENDS, CarryObstacle.OTHER_ANCHOR),
    ],
)
def test_what_keeps_from_carrying_is_named(profile, anchor, ends, obstacle):
    assert carry_obstacle(profile, anchor, ends) is obstacle
