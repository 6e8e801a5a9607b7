"""Correcting a prediction by a latency measured on the target."""

import math

import pytest

from profet_core import InputError, ProfileMeta, load_catalog, load_models, predict
from profet_core.artifacts.samples import load_samples
from profet_core.prediction.correction import correct_by_measurement, share_carried_over

SMALL = ProfileMeta(batch_size=16, pixels=128)


@pytest.mark.parametrize(
    ("other", "weight"),
    [
        (SMALL, 0.9),
        (ProfileMeta(batch_size=64, pixels=128), 0.9 * math.exp(-2 / 4)),
        (ProfileMeta(batch_size=16, pixels=256), 0.9 * math.exp(-1.5 / 4)),
        (ProfileMeta(batch_size=8, pixels=64), 0.9 * math.exp(-2.5 / 4)),
        (ProfileMeta(batch_size=16), 0.6),
        (ProfileMeta(), 0.6),
    ],
)
def test_the_weight_fades_with_doublings_and_is_smaller_without_sizes(other, weight):
    assert share_carried_over(SMALL, other) == pytest.approx(weight)
    assert share_carried_over(other, SMALL) == pytest.approx(weight)


@pytest.fixture(scope="module")
def case():
    models, catalog, sample = load_models(), load_catalog(), load_samples()[0]
    profile = sample.profile
    return profile, predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms)


def correct(case, measured_ms):
    profile, prediction = case
    return correct_by_measurement(prediction, prediction, measured_ms, meta=profile.meta, reference_meta=profile.meta)


def test_a_measured_target_moves_by_the_weighted_error_and_no_other_does(case):
    _, prediction = case
    before = {row.instance: row for row in prediction.predictions}
    after = {row.instance: row for row in correct(case, {"p2.xlarge": 2 * before["p2.xlarge"].latency_ms}).predictions}
    factor = 2**0.9
    moved, was = after["p2.xlarge"], before["p2.xlarge"]
    assert moved.latency_ms == pytest.approx(factor * was.latency_ms)
    assert moved.interval.low_ms == pytest.approx(factor * was.interval.low_ms)
    assert moved.interval.high_ms == pytest.approx(factor * was.interval.high_ms)
    assert moved.cost_per_1000_steps_usd == pytest.approx(factor * was.cost_per_1000_steps_usd)
    assert {name: row for name, row in after.items() if name != "p2.xlarge"} == {
        name: row for name, row in before.items() if name != "p2.xlarge"
    }


def test_a_corrected_latency_ends_what_was_known_of_its_ratio_to_another():
    models, catalog = load_models(), load_catalog()
    sample = next(sample for sample in load_samples() if sample.anchor == "p2.xlarge")
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    case = sample.profile, prediction
    said = prediction.latencies_ms
    for corrected, kept in (("g3s.xlarge", True), ("g4dn.xlarge", False), ("g5.xlarge", False)):
        rows = {row.instance: row for row in correct(case, {corrected: 1.1 * said[corrected]}).predictions}
        relative = rows["g5.xlarge"].relative
        assert (relative.instance if relative else None) == ("g4dn.xlarge" if kept else None)


def test_a_measurement_that_agrees_changes_nothing_but_says_so(case):
    _, prediction = case
    said = prediction.latencies_ms["p3.2xlarge"]
    corrected = correct(case, {"p3.2xlarge": said})
    assert corrected.latencies_ms["p3.2xlarge"] == pytest.approx(said)
    assert corrected.warnings[-1] == "p3.2xlarge was corrected by +0.0 %, from the latency you measured there."


@pytest.mark.parametrize(
    "measured_ms", [{"p9": 1.0}, {"g4dn.xlarge": 70.0}, {"p2.xlarge": 0.0}, {"p2.xlarge": math.nan}]
)
def test_an_unpredicted_target_the_anchor_or_no_latency_is_refused(case, measured_ms):
    with pytest.raises(InputError):
        correct(case, measured_ms)


def test_the_same_workload_has_the_full_weight_even_if_the_profile_tells_no_sizes(case):
    _, prediction = case
    corrected = correct_by_measurement(
        prediction,
        prediction,
        {"p2.xlarge": 1.5 * prediction.latencies_ms["p2.xlarge"]},
        meta=ProfileMeta(),
        reference_meta=ProfileMeta(),
    )
    assert corrected.latencies_ms["p2.xlarge"] == pytest.approx(1.5**0.9 * prediction.latencies_ms["p2.xlarge"])


@pytest.mark.parametrize(("times", "doubted"), [(2.9, False), (3.1, True), (0.3, True), (0.4, False)])
def test_a_measurement_far_off_the_prediction_is_questioned(case, times, doubted):
    _, prediction = case
    corrected = correct(case, {"p2.xlarge": times * prediction.latencies_ms["p2.xlarge"]})
    assert any("is it milliseconds per step" in line for line in corrected.warnings) == doubted
