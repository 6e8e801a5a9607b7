"""Both ends of an axis: which instances have both, what the profiles tell of the curve, and what contradicts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import InputError, Profile, ProfileMeta
from profet_core.training.ends import AxisEnds, EndProfiles, contradictions, different_networks


def recorded(**meta: object) -> Profile:
    return Profile({"Device_MatMul": 20.0, "Device_Conv2D": 80.0}, ProfileMeta(**meta))


def ends(axis: str, smallest: Profile, largest: Profile) -> AxisEnds:
    return AxisEnds(axis, {"a": 1.0, "b": 2.0}, {"b": 9.0, "c": 9.0}, EndProfiles(smallest, largest, "a"))


BATCH = ends("batch", recorded(batch_size=16, pixels=128), recorded(batch_size=256, pixels=128))


def test_a_curve_needs_both_ends():
    assert BATCH.both == ("b",)


def test_typed_latencies_tell_nothing_more_and_contradict_nothing():
    typed = replace(BATCH, profiles=None)
    assert typed.context is None
    assert contradictions(typed) == ()


@pytest.mark.parametrize(
    ("axis", "smallest", "largest", "other_size"),
    [
        ("batch", {"pixels": 64}, {"pixels": 128}, 128),
        ("batch", {"pixels": 64}, {}, 64),
        ("batch", {}, {"pixels": 128}, 128),
        ("batch", {}, {}, None),
        ("pixels", {"batch_size": 32}, {}, 32),
    ],
)
def test_the_other_size_is_the_largest_profile_s_or_the_smallest_s(axis, smallest, largest, other_size):
    context = ends(axis, recorded(**smallest), recorded(**largest)).context
    assert context.other_size == other_size
    assert context.head_share == pytest.approx(0.2)


def test_a_largest_profile_of_another_size_has_no_context():
    with pytest.raises(InputError, match="must be recorded at batch 256, not 64"):
        _ = ends("batch", recorded(batch_size=16), recorded(batch_size=64)).context


def test_profiles_of_one_network_at_both_ends_contradict_nothing():
    assert contradictions(BATCH) == ()
    assert contradictions(ends("batch", recorded(), recorded())) == (), "what a profile doesn't say is no contradiction"


def test_a_profile_at_another_size_and_another_network_are_each_said():
    found = contradictions(
        ends("batch", recorded(batch_size=64, pixels=128, gpu="Tesla T4"), recorded(batch_size=256, pixels=64))
    )
    assert found == (
        "This end needs a profile at batch size 16, but the one given says 64: the curve would be wrong.",
        "The two profiles differ in pixel size (128 and 64): are they the same network?",
    )


def test_parameters_may_differ_along_the_pixels_alone():
    small, large = recorded(parameters=10, gpu="T4"), recorded(parameters=20, gpu="T4")
    assert different_networks(small, large, apart_from="pixels") == ()
    assert contradictions(ends("pixels", small, large)) == ()
    assert different_networks(small, large, apart_from="batch_size") == (
        "The two profiles differ in number of parameters (10 and 20): are they the same network?",
    )
