"""Every instance's latencies between both ends, and one line for each that has none."""

from __future__ import annotations

from profet_core import scale
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import AxisEnds


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


def test_an_instance_without_a_curve_has_a_line_and_spares_the_others(models):
    ends = AxisEnds("batch", {"p2.xlarge": 10.0, "g4dn.xlarge": 9.0}, {"p2.xlarge": 5.0, "g4dn.xlarge": 90.0})
    found = carried_latencies(models, ends, [64])
    assert list(found.latencies_ms) == ["g4dn.xlarge"]
    line = "The latency at batch 256 (5 ms) must be above the latency at batch 16 (10 ms)."
    assert found.problems == {"p2.xlarge": line}
