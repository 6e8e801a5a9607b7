"""The default method as it is served: with the shipped models, whatever they were trained to."""

from __future__ import annotations

import math
import operator
import random
from dataclasses import replace

import pytest

from profet_core import InputError, Profile, ProfileMeta, predict, predict_many
from profet_core.networks.intervals import BAND_WORDS
from profet_core.prediction.estimates import Likeness

METHOD = "classes"
#: Nothing but a matrix product: no convolutional network's step.
FAR = {"Device_MatMul": 50_000.0, "Device_ArgMax": 5.0, "Host_IDLE": 60_000.0}

given_or_not = pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])


def ask(models, catalog, profile, anchor, latency_ms=None, method=METHOD):
    return predict(models, catalog, profile, anchor, latency_ms=latency_ms, method=method)


def targets_of(prediction) -> list:
    """Rows of the members themselves; other offers of these GPUs take their latencies."""
    return [row for row in prediction.predictions if row.members]


def with_sizes(profile: Profile, batch_size: int | None, pixels: int | None) -> Profile:
    return replace(profile, meta=replace(profile.meta, batch_size=batch_size, pixels=pixels))


def same(one, other) -> bool:
    return one.latencies_ms == pytest.approx(other.latencies_ms, rel=1e-5) and all(
        (a.interval.low_ms, a.interval.high_ms) == pytest.approx((b.interval.low_ms, b.interval.high_ms), rel=1e-4)
        for a, b in zip(targets_of(one), targets_of(other), strict=True)
    )


def test_it_is_the_default(models):
    assert models.method("default") == models.method(METHOD)
    assert models.method(METHOD).kind == "classes"


@given_or_not
def test_together_is_as_one_by_one_with_and_without_sizes_mixed(models, catalog, samples, given):
    for anchor in models.instances:
        group = [sample for sample in samples.values() if sample.anchor == anchor]
        profiles = [p for s in group for p in (s.profile, with_sizes(s.profile, None, None))]
        latencies_ms = [sample.latency_ms for sample in group for _ in range(2)] if given else None
        together = predict_many(models, catalog, profiles, anchor, latencies_ms=latencies_ms, method=METHOD)
        for row, (profile, prediction) in enumerate(zip(profiles, together, strict=True)):
            alone = ask(models, catalog, profile, anchor, latencies_ms[row] if given else None)
            assert same(prediction, alone)
            assert prediction.warnings == alone.warnings


@given_or_not
def test_bounds_lie_around_the_latency(models, catalog, samples, given):
    rule = models.method(METHOD).rule(given)
    assert rule.combine == "geometric mean" and len(rule.weights) == len(rule.members) > 1
    for sample in samples.values():
        prediction = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms if given else None)
        assert prediction.interval_level == 0.9
        assert prediction.predictions[0].interval is None
        for row in targets_of(prediction):
            assert 0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf
            assert row.interval.low_ms * row.interval.high_ms == pytest.approx(row.latency_ms**2)
            assert list(row.members) == list(rule.members)
            logs = [math.log(row.members[name]) for name in rule.members]
            expected = sum(map(operator.mul, rule.weights, logs)) / sum(rule.weights)
            assert math.log(row.latency_ms) == pytest.approx(expected)


def test_the_order_of_keys_changes_nothing(models, catalog, samples):
    for sample in samples.values():
        items = list(sample.profile.operations.items())
        random.Random(1).shuffle(items)
        shuffled = replace(sample.profile, operations=dict(items))
        one, other = (ask(models, catalog, each, sample.anchor) for each in (sample.profile, shuffled))
        assert one == other


def test_batch_and_pixel_size_are_used_where_both_are_told(models, catalog, samples):
    differ = []
    for sample in samples.values():
        none, both, batch, pixels = (
            ask(models, catalog, with_sizes(sample.profile, *sizes), sample.anchor)
            for sizes in ((None, None), (64, 128), (64, None), (None, 128))
        )
        assert batch == none and pixels == none
        differ.append(not same(none, both))
    assert all(differ)


@pytest.mark.parametrize("sizes", [(512, 128), (8, 128), (64, 512), (64, 16), (0, 0)])
def test_sizes_outside_the_training_data_are_as_good_as_none(models, catalog, samples, sizes):
    sample = next(iter(samples.values()))
    none = ask(models, catalog, with_sizes(sample.profile, None, None), sample.anchor)
    assert ask(models, catalog, with_sizes(sample.profile, *sizes), sample.anchor) == none


def test_the_method_of_the_paper_has_neither_interval_nor_likeness(models, catalog, samples):
    for sample in samples.values():
        prediction = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms, method="profet")
        assert (prediction.interval_level, prediction.likeness) == (None, None)
        assert {row.interval for row in prediction.predictions} == {None}


# --- unlike the training data ---------------------------------------------------------------------------------------


def ratio_of(row) -> float:
    return row.interval.high_ms / row.interval.low_ms


def test_samples_are_near_the_training_data(models, catalog, samples):
    for sample in samples.values():
        likeness = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms).likeness
        assert 0 <= likeness.distance < 0.1
        assert likeness.words == "like"
        assert 0 < likeness.error_percent < 20


@given_or_not
def test_a_profile_far_from_the_data_is_called_so_and_has_wider_bounds(models, catalog, samples, given):
    for sample in samples.values():
        latency_ms = {"latency_ms": 27.0} if given else {}
        far = predict(models, catalog, Profile(FAR), sample.anchor, method=METHOD, **latency_ms)
        near = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms if given else None)
        assert "unlike" in far.likeness.words
        assert any("unlike those of the training data" in text for text in far.warnings)
        assert far.likeness.distance > near.likeness.distance
        if any(text.startswith("Operations that every") for text in near.warnings):
            continue  # a cut profile's bounds are wide for a reason of its own
        for one, other in zip(targets_of(far), targets_of(near), strict=True):
            assert ratio_of(one) > ratio_of(other), (sample.name, one.instance)


@pytest.mark.parametrize("device_us", [1e-5, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("operation", ["Device_Conv2D", "Device_Nothing_like_it", "Device_IDLE"])
def test_extreme_profiles_have_finite_positive_bounds(models, catalog, operation, device_us):
    # A GPU that only idled, or mostly did what nothing is known of, would be refused.
    operations = {"Device_Conv2D": device_us, operation: device_us, "Host_IDLE": 3e5}
    profile = Profile(operations, ProfileMeta(batch_size=64, pixels=128))
    for anchor in models.instances:
        for row in targets_of(ask(models, catalog, profile, anchor)):
            assert 0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf


def test_no_profiles_have_no_predictions(models, catalog):
    assert predict_many(models, catalog, [], "g4dn.xlarge", method=METHOD) == []


@pytest.mark.parametrize("method", ["classes", "profet"])
def test_the_anchor_alone_is_no_target(models, catalog, samples, method):
    sample = next(iter(samples.values()))
    with pytest.raises(InputError, match="Name at least one target beside the anchor"):
        predict(models, catalog, sample.profile, sample.anchor, targets=[sample.anchor], method=method)


@pytest.mark.parametrize(("words", "phrase"), [("unlike", "12 %"), (BAND_WORDS[-1], "at least 12 %")])
def test_the_farthest_band_has_no_end(words, phrase):
    assert Likeness(3.0, words, 12.3).error_words == phrase
