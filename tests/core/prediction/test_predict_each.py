"""Profiles side by side are each predicted as alone, whatever is wrong with the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import InputError, Profile, predict
from profet_core.prediction.predict_each import RecordedProfile, predict_each
from profet_core.profiles.record import NO_DEVICE


@pytest.fixture(scope="module")
def recorded(samples):
    return [RecordedProfile(one.profile, one.anchor, one.latency_ms) for one in samples.values()]


@pytest.mark.parametrize("method", ["default", "profet"])
def test_each_is_predicted_as_alone(models, catalog, recorded, method):
    mixed = [one if place % 3 else replace(one, latency_ms=None) for place, one in enumerate(recorded)]
    found = predict_each(models, catalog, mixed, method=method)
    assert len({one.anchor for one in mixed}) > 1
    for one, each in zip(mixed, found, strict=True):
        alone = predict(models, catalog, one.profile, one.anchor, latency_ms=one.latency_ms, method=method)
        assert (each.refusal, each.doubt) == ("", "")
        assert each.prediction.anchor == one.anchor
        assert each.prediction.anchor_latency_ms == one.latency_ms
        assert each.prediction.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-6)
        assert each.prediction.warnings == alone.warnings


def test_one_whose_anchor_is_not_known_waits(models, catalog, recorded):
    found = predict_each(models, catalog, [replace(recorded[0], anchor=None), recorded[1]])
    assert [each.prediction is None for each in found] == [True, False]
    assert [each.refusal for each in found] == ["", ""]


def test_one_that_nothing_can_be_predicted_from_is_refused_and_spares_the_others(models, catalog, recorded):
    nothing = replace(recorded[0], profile=Profile({"Host_Conv2D": 5000.0}))
    refused, other = predict_each(models, catalog, [nothing, recorded[0]])
    assert (refused.prediction, refused.refusal) == (None, NO_DEVICE)
    assert other.prediction is not None


def test_a_latency_that_makes_no_sense_is_left_out_and_said(models, catalog, recorded):
    one = recorded[0]
    (each,) = predict_each(models, catalog, [replace(one, latency_ms=1e6 * one.latency_ms)])
    assert each.doubt.endswith(" Predicted without it.") and "makes no sense beside this profile" in each.doubt
    assert each.prediction.anchor_latency_ms is None
    assert each.prediction.latencies_ms == predict(models, catalog, one.profile, one.anchor).latencies_ms


def test_the_steps_follow_the_latency_that_was_given(models, catalog, recorded):
    one = recorded[0]
    three = Profile({name: 3 * us for name, us in one.profile.operations.items()}, steps_basis="assumed")
    (each,) = predict_each(models, catalog, [RecordedProfile(three, one.anchor, one.latency_ms)])
    assert (each.profile.steps, each.profile.steps_basis) == (3, "inferred")
    assert each.prediction.steps == 3


def test_nothing_to_predict_is_no_error_and_an_unknown_anchor_is(models, catalog, recorded):
    assert predict_each(models, catalog, []) == []
    for latency_ms in (None, 10.0):
        with pytest.raises(InputError, match="Unknown anchor 'p9'"):
            predict_each(models, catalog, [replace(recorded[0], anchor="p9", latency_ms=latency_ms)])
