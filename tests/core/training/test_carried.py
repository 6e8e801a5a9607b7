"""Every instance's latencies between both ends, and one line for each that has none."""

from __future__ import annotations

from profet_core import Profile, ProfileMeta, ScaleContext, scale, scale_curve
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import AxisEnds, EndProfiles


def test_each_instance_follows_its_own_curve_and_the_unprofiled_the_shared_one(models):
    low, high = {"p2.xlarge": 10.0, "g5.xlarge": 4.0}, {"p2.xlarge": 100.0, "g5.xlarge": 40.0}
    found = carried_latencies(models, AxisEnds("batch", low, high), [16, 64])
    assert found.problems == {}
    assert found.latencies_ms == {
        "p2.xlarge": [10.0, scale(models, "p2.xlarge", "batch", 10, 100, 64).latency_ms],
        "g5.xlarge": [4.0, scale(models, None, "batch", 4, 40, 64).latency_ms],
    }


def test_every_size_is_carried_to_if_none_is_named(models):
    found = carried_latencies(models, AxisEnds("pixels", {"p2.xlarge": 10.0}, {"p2.xlarge": 100.0}))
    assert len(found.latencies_ms["p2.xlarge"]) == 256 - 32 + 1


def test_what_the_profiles_tell_is_used(models):
    smallest, largest = (Profile({"Device_Conv2D": 1.0}, ProfileMeta(batch_size=b, pixels=64)) for b in (16, 256))
    ends = AxisEnds("batch", {"p2.xlarge": 10}, {"p2.xlarge": 100}, EndProfiles(smallest, largest, "p2.xlarge"))
    expected = scale_curve(models, "p2.xlarge", "batch", 10, 100, [64], context=ScaleContext(64, 0.0))
    assert carried_latencies(models, ends, [64]).latencies_ms == {"p2.xlarge": expected.tolist()}


def test_an_instance_without_a_curve_has_a_line_and_spares_the_others(models):
    ends = AxisEnds("batch", {"p2.xlarge": 10.0, "g4dn.xlarge": 9.0}, {"p2.xlarge": 5.0, "g4dn.xlarge": 90.0})
    found = carried_latencies(models, ends, [64])
    assert list(found.latencies_ms) == ["g4dn.xlarge"]
    line = "The latency at batch 256 (5 ms) must be above the latency at batch 16 (10 ms)."
    assert found.problems == {"p2.xlarge": line}


def test_a_profile_at_another_size_carries_nothing(models):
    wrong = Profile({"Device_Conv2D": 1.0}, ProfileMeta(batch_size=64))
    ends = AxisEnds("batch", {"p2.xlarge": 10.0}, {"p2.xlarge": 50.0}, EndProfiles(wrong, wrong, "p2.xlarge"))
    found = carried_latencies(models, ends, [64])
    assert not found.latencies_ms
    assert found.problems == {"p2.xlarge": "The profile at the largest size must be recorded at batch 256, not 64."}
