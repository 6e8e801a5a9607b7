"""Both ends of an axis: which instances have both; and what tells two profiles' networks apart."""

from __future__ import annotations

from profet_core import Profile, ProfileMeta
from profet_core.training.ends import AxisEnds, different_networks, other_networks


def recorded(**meta: object) -> Profile:
    return Profile({"Device_MatMul": 20.0, "Device_Conv2D": 80.0}, ProfileMeta(**meta))


def test_a_curve_needs_both_ends():
    assert AxisEnds("batch", {"a": 1.0, "b": 2.0}, {"b": 9.0, "c": 9.0}).both == ("b",)


def test_what_a_profile_does_not_say_is_no_difference():
    assert different_networks(recorded(), recorded(pixels=64, gpu="Tesla T4"), apart_from="batch_size") == ()


def test_each_difference_is_said():
    found = different_networks(
        recorded(batch_size=16, pixels=128, gpu="Tesla T4"),
        recorded(batch_size=256, pixels=64, gpu="Tesla K80"),
        apart_from="batch_size",
    )
    assert found == (
        "The two profiles differ in pixel size (128 and 64): are they the same network?",
        "The two profiles differ in GPU (Tesla T4 and Tesla K80): are they the same network?",
    )


def test_parameters_may_differ_along_the_pixels_alone():
    small, large = recorded(parameters=10, gpu="T4"), recorded(parameters=20, gpu="T4")
    assert different_networks(small, large, apart_from="pixels") == ()
    line = "The two profiles differ in number of parameters (10 and 20): are they the same network?"
    assert different_networks(small, large, apart_from="batch_size") == (line,)
    assert other_networks(small, large) == (line,), "of the same pixels, as far as they tell"
    wide = recorded(parameters=20, gpu="T4", pixels=64, batch_size=256)
    assert other_networks(recorded(parameters=10, gpu="T4", pixels=32, batch_size=16), wide) == ()
