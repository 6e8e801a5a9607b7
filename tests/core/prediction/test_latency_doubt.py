"""A latency that makes no sense beside the profile.

160 ms of device time at ratios 0.3 to 0.6, three times beyond either way: 16 to 288 ms are plausible. Where somebody
stated the number of steps, it is questioned from 160 / 3.02 ms on downwards.
"""

from __future__ import annotations

import pytest

from profet_core import LatencyDoubtError, Models, Profile, check_latency, load_models, predict

ANCHOR = "g4dn.xlarge"
OPERATIONS = {"Device_Conv2D": 120_000.0, "Device_IDLE": 40_000.0, "Host_IDLE": 40_000.0}
PROFILE = Profile(OPERATIONS)


@pytest.fixture
def tiny(tiny_folder) -> Models:
    return load_models(tiny_folder)


@pytest.mark.parametrize("latency_ms", [53.0, 80, 287.9])
def test_a_plausible_latency_is_used(tiny, latency_ms):
    check_latency(tiny, PROFILE, ANCHOR, latency_ms)


@pytest.mark.parametrize("latency_ms", [16.01, 80, 287.9])
@pytest.mark.parametrize("basis", ["marked", "counted", "assumed", "inferred"])
def test_steps_that_nobody_typed_are_not_questioned(tiny, latency_ms, basis):
    check_latency(tiny, Profile(OPERATIONS, steps_basis=basis), ANCHOR, latency_ms)


@pytest.mark.parametrize(
    ("latency_ms", "suggested_ms", "unit", "steps"),
    [
        (122_400, 122.4, "us", None),
        (0.1224, 122.4, "s", None),
        (52.9, None, None, 3),  # 160 / 52.9 / 1.054 = 2.87
        (16.01, None, None, 9),  # 160 / 16.01 / 1.054 = 9.48
        (289, None, None, None),
        (5_000_000, None, None, None),
        (1e-9, None, None, None),
    ],
)
def test_a_latency_far_off_is_questioned_with_what_would_fit(tiny, catalog, latency_ms, suggested_ms, unit, steps):
    with pytest.raises(LatencyDoubtError) as doubt:
        predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=latency_ms)
    assert doubt.value.latency_ms == latency_ms
    assert doubt.value.expected_ms == pytest.approx(80)
    assert doubt.value.suggested_ms == (pytest.approx(suggested_ms) if suggested_ms else None)
    assert doubt.value.suggested_unit == unit
    assert doubt.value.suggested_steps == steps
    assert str(doubt.value).isprintable()


def test_a_latency_too_short_for_any_number_of_steps_in_the_file_is_questioned_too(tiny):
    with pytest.raises(LatencyDoubtError, match=r"suggests about 80\.0 ms: check it") as doubt:
        check_latency(tiny, Profile(OPERATIONS, steps_basis="marked"), ANCHOR, 15.9)
    assert (doubt.value.suggested_unit, doubt.value.suggested_steps) == (None, None)


def test_the_doubt_says_what_was_probably_meant(tiny):
    with pytest.raises(LatencyDoubtError) as doubt:
        check_latency(tiny, PROFILE, ANCHOR, 122_400)
    assert str(doubt.value) == (
        "A latency of 122,400 ms makes no sense beside this profile, which suggests about 80.0 ms: "
        "did you mean 122,400 us (122 ms)?"
    )


def test_a_doubted_latency_is_used_once_it_is_trusted(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=122_400, trust_latency=True)
    assert prediction.anchor_latency_ms == 122_400
    (fast,) = (row for row in prediction.predictions if row.instance == "p3.2xlarge")
    assert fast.members["line"] == pytest.approx(61_200)


def test_without_device_rows_there_is_nothing_to_hold_the_latency_against(tiny):
    check_latency(tiny, Profile({"Host_IDLE": 40_000.0}), ANCHOR, 122_400)
