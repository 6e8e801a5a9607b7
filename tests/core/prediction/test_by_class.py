"""The default method as it is served: with the shipped models, and on steps that differ from those of training."""

from __future__ import annotations

import math
import operator
from dataclasses import replace

import pytest

from profet_core import InputError, Profile, ProfileMeta
from profet_core.ensemble.members import BAND_WORDS, Similarity
from profet_core.errors import Code
from profet_core.prediction.predict import predict, predict_many
from tests.codes import codes

METHOD = "classes"
#: Mostly a matrix product, as in no convolutional network.
FAR = {"Device_MatMul": 40_000.0, "Device_Conv2D": 10_000.0, "Device_ArgMax": 5.0, "Host_IDLE": 60_000.0}

given_or_not = pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])


def ask(models, catalog, profile, anchor, latency_ms=None, method=METHOD):
    return predict(models, catalog, profile, anchor, latency_ms=latency_ms, method=method)


def targets_of(prediction) -> list:
    """Rows of the members themselves; other offers of these GPUs take their latencies."""
    return [row for row in prediction.predictions if row.members]


def with_sizes(profile: Profile, batch_size: int | None, pixels: int | None) -> Profile:
    return profile.with_meta(batch_size=batch_size, pixels=pixels)


def same(one, other) -> bool:
    return one.latencies_ms == pytest.approx(other.latencies_ms, rel=1e-5) and all(
        (a.interval.low_ms, a.interval.high_ms) == pytest.approx((b.interval.low_ms, b.interval.high_ms), rel=1e-4)
        for a, b in zip(targets_of(one), targets_of(other), strict=True)
    )


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
    assert models.method("default") == models.method(METHOD) and models.method(METHOD).kind == METHOD
    rule = models.method(METHOD).rules[given]
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
        # That of the paper has none.
        paper = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms, method="profet")
        assert (paper.interval_level, paper.similarity) == (None, None)
        assert {row.interval for row in paper.predictions} == {None}


def test_batch_and_pixel_size_are_used_if_both_are_known(models, catalog, samples):
    differ = []
    for sample in samples.values():
        none, both, batch = (
            ask(models, catalog, with_sizes(sample.profile, *sizes), sample.anchor)
            for sizes in ((None, None), (64, 128), (64, None))
        )
        assert same(batch, none)
        differ.append(not same(none, both))
    assert all(differ)
    # Outside the training data they are as good as none.
    none = ask(models, catalog, with_sizes(sample.profile, None, None), sample.anchor)
    for sizes in ((512, 128), (8, 128), (64, 512), (64, 16), (0, 0)):
        there = ask(models, catalog, with_sizes(sample.profile, *sizes), sample.anchor)
        assert [row.latency_ms for row in targets_of(there)] == [row.latency_ms for row in targets_of(none)]


def ratio_of(row) -> float:
    return row.interval.high_ms / row.interval.low_ms


@given_or_not
def test_a_profile_far_from_the_data_is_called_so_and_has_wider_bounds(models, catalog, samples, given):
    for sample in samples.values():
        latency_ms = {"latency_ms": 27.0} if given else {}
        far = predict(models, catalog, Profile(FAR), sample.anchor, method=METHOD, **latency_ms)
        near = ask(models, catalog, sample.profile, sample.anchor, sample.latency_ms if given else None)
        assert near.similarity.words == "like" and 0 <= near.similarity.distance < 0.1
        assert 0 < near.similarity.error_percent < 20 and "unlike" in far.similarity.words
        assert Code.DISSIMILAR in codes(far)
        assert far.similarity.distance > near.similarity.distance
        if Code.TRUNCATED in codes(near):
            continue  # a cut profile's bounds are wide for a reason of its own
        for one, other in zip(targets_of(far), targets_of(near), strict=True):
            assert ratio_of(one) > ratio_of(other), (sample.name, one.instance)
    # The farthest band has no end.
    assert [Similarity(3.0, words, 12.3).error_words for words in ("unlike", BAND_WORDS[-1])] == ["12%", "at least 12%"]


@pytest.mark.parametrize("method", ["classes", "profet"])
def test_extreme_profiles_have_finite_positive_bounds(models, catalog, method):
    # A GPU that only idled, or mostly did what nothing is known of, would be refused.
    profiles = [
        Profile({"Device_Conv2D": us, operation: us, "Host_IDLE": 3e5}, ProfileMeta(batch_size=64, pixels=128))
        for operation in ("Device_Conv2D", "Device_Nothing_like_it", "Device_IDLE")
        for us in (1e-5, 1.0, 1e6, 1e12)
    ]
    for anchor in models.instances:
        for prediction in predict_many(models, catalog, profiles, anchor, method=method):
            for row in targets_of(prediction):
                assert 0 < row.latency_ms < math.inf
                assert (
                    row.interval is None or 0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf
                )
    assert not predict_many(models, catalog, [], "g4dn.xlarge", method=method)


@pytest.mark.parametrize("method", ["classes", "profet"])
def test_the_anchor_alone_is_no_target(models, catalog, samples, method):
    sample = next(iter(samples.values()))
    with pytest.raises(InputError, match="Name at least one target other than the anchor"):
        predict(models, catalog, sample.profile, sample.anchor, targets=[sample.anchor], method=method)


#: Batch norm as Keras 3 runs it where the fused operation does not fit: about what each part takes of its time.
UNFUSED = {"Mul": 0.3, "Mean": 0.25, "Sub": 0.15, "AddV2": 0.15, "SquaredDifference": 0.13, "Rsqrt": 0.02}
FUSED = ("Device_FusedBatchNormV3", "Device_FusedBatchNormGradV3")
SGD = "Device_ResourceApplyGradientDescent"
#: SGD reads two arrays and writes one of the weights' size; Adam reads four and writes three.
ADAM_OVER_SGD = 7 / 3
COPIES = ("Device__Recv", "Device__Send", "Device__HostRecv")


def unfused(profile: Profile) -> Profile:
    """The fused batch norm's time spread over what it consists of."""
    operations = {name: us for name, us in profile.operations.items() if name not in FUSED}
    time_us = sum(profile.operations.get(name, 0.0) for name in FUSED)
    parts = {f"Device_{name}": time_us * share for name, share in UNFUSED.items()}
    return replace(profile, operations={**operations, **{n: operations.get(n, 0.0) + us for n, us in parts.items()}})


def adam(profile: Profile) -> Profile:
    """Adam in place of plain gradient descent."""
    operations = {name: us for name, us in profile.operations.items() if name != SGD}
    update_us = ADAM_OVER_SGD * profile.operations.get(SGD, 0.0)
    return replace(profile, operations={**operations, "Device_ResourceApplyAdam": update_us})


def pageable(profile: Profile) -> Profile:
    """Copies from memory that the driver has to copy once more."""
    copies = {name: 2 * us for name, us in profile.operations.items() if name in COPIES}
    return replace(profile, operations={**profile.operations, **copies})


def changes(models, catalog, sample, change, given: bool) -> dict[str, float]:
    """Prediction for the changed profile over that for the profile itself, by measured instance."""
    changed = change(sample.profile)
    longer_ms = (changed.device_total_us - sample.profile.device_total_us) / 1000
    one, other = (
        predict(models, catalog, profile, sample.anchor, latency_ms=latency_ms if given else None)
        for profile, latency_ms in ((sample.profile, sample.latency_ms), (changed, sample.latency_ms + longer_ms))
    )
    assert other.unknown_operations.names == ()
    measured = [row.instance for row in one.predictions if row.members]
    assert len(measured) == len(models.instances) - 1
    return {name: other.latencies_ms[name] / one.latencies_ms[name] for name in measured}


@given_or_not
def test_another_batch_norm_optimizer_or_copy_hardly_moves_the_prediction(models, catalog, samples, given):
    for sample in samples.values():
        # Farthest are those whose networks hold little of these operations in training: AlexNet, the cut ResNet-50.
        ratios = changes(models, catalog, sample, unfused, given)
        cut = sample.name.startswith("resnet50-128px-b256")
        low, high = (0.87, 1.15) if sample.name.startswith("resnet") and not cut else (0.75, 1.3)
        assert all(low < ratio < high for ratio in ratios.values()), (sample.name, ratios)
        # Up to 5 % of the device time is added; weights count for more where the GPU's memory is slower.
        longer = adam(sample.profile).device_total_us / sample.profile.device_total_us - 1
        ratios = changes(models, catalog, sample, adam, given)
        most = min(1.02 + 3 * longer, 1.15)
        assert all(0.98 < ratio < most for ratio in ratios.values()), (sample.name, ratios)
        ratios = changes(models, catalog, sample, pageable, given)
        assert all(0.98 < ratio < 1.15 for ratio in ratios.values()), (sample.name, ratios)
