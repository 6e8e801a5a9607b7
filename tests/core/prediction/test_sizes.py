"""The steps of a training: as profiled, at other sizes, between both ends of an axis, and of several profiles."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pandas.testing
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from profet_core import ProfileMeta
from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import host_named
from profet_core.errors import InputError, NoPredictionError
from profet_core.latency import Basis
from profet_core.layers.by_name import step_by_counts
from profet_core.prediction.checks import check_profile
from profet_core.prediction.models import load_models, load_samples
from profet_core.prediction.predict import Prediction, predict
from profet_core.prediction.sizes import (
    curves_at,
    joint_predictions,
    other_networks,
    steps_at,
)
from profet_profiles.record import Profile

#: Latencies that differ by less are the same number, rounded.
ROUNDING = 1e-9


@cache
def shared():
    return load_models(), load_shipped(), {sample.name: sample.profile for sample in load_samples()}


def known(name: str, anchor: str, *, latency: bool = True, **sizes: int | None) -> Prediction:
    models, catalog, samples = shared()
    profile = samples[name]
    latency_ms = profile.meta.step_latency_ms if latency else None
    prediction = predict(models, catalog, profile, anchor, latency_ms=latency_ms)
    return sized(prediction, **sizes)


def sized(prediction: Prediction, **sizes: int | None) -> Prediction:
    """As if its profile was recorded at these sizes."""
    meta = dataclasses.replace(prediction.profile.meta, **sizes)
    return replace(prediction, profile=dataclasses.replace(prediction.profile, meta=meta))


@cache
def resnet(batch_size: int) -> Prediction:
    return known(f"resnet50-128px-b{batch_size}-g4dn", "g4dn.xlarge")


def times(prediction: Prediction, factor: float) -> Prediction:
    return replace(prediction, table=replace(prediction.table, latency_ms=prediction.table.latency_ms * factor))


def latencies(steps) -> dict[str, float]:
    return {row.instance: row.latency_ms for row in steps if row.latency_ms is not None}


def assert_same(steps, others) -> None:
    pandas.testing.assert_frame_equal(steps.to_frame(), others.to_frame())


def test_at_its_own_size_a_step_is_its_prediction(models):
    step = resnet(64)
    for pixels in (128, None):
        steps = steps_at(models, [step], batch_size=64, pixels=pixels)
        assert steps is step.predictions
    curves = curves_at(models, [step], "batch", [32, 64])
    assert_same(curves[1], step.predictions)
    both = steps_at(models, [resnet(16), step], batch_size=64)
    assert_same(both, joint_predictions([resnet(16), step])[1].predictions)
    # A curve is its points.
    curves = curves_at(models, [resnet(16), step], "pixels", [64, 224], 64)
    for place, pixels in enumerate((64, 224)):
        steps = steps_at(models, [resnet(16), step], batch_size=64, pixels=pixels)
        assert curves[place].latencies_ms == pytest.approx(steps.latencies_ms)


def test_one_profile_scales_to_measured_sizes_with_wider_intervals_and_a_second_narrows_them(models):
    """ResNet-50 at 128 pixels on g4dn: 68.6 ms at batch 16, 203.3 at 64, 731.5 at 256; on p3 32.1, 74.2, 229.3."""
    for batch_size, g4dn_ms, p3_ms in ((16, 68.6, 32.1), (256, 731.5, 229.3)):
        latencies_ms = latencies(steps_at(models, [resnet(64)], batch_size=batch_size))
        assert latencies_ms["g4dn.xlarge"] == pytest.approx(g4dn_ms, rel=0.15)
        assert latencies_ms["p3.2xlarge"] == pytest.approx(p3_ms, rel=0.15)
    halves = []
    for batch_size in (80, 128, 256, 512):
        rows = {row.instance: row for row in steps_at(models, [resnet(64)], batch_size=batch_size)}
        assert rows["g4dn.xlarge"].basis is Basis.RESIZED, "the anchor's own measurement holds at its size alone"
        assert rows["p5.4xlarge"].basis is Basis.TRANSFERRED
        assert rows["p3.2xlarge"].note.startswith("scaled from batch 64, 128 pixels")
        # Of other GPUs the range has the rates of all sizes.
        halves.append([rows[name].interval.log_half_width for name in models.instances])
    assert (np.diff(halves, axis=0) > 0).all()
    (alone,), (between,) = (
        curves_at(models, known, "batch", [64], instances=["p3.2xlarge"])[0]
        for known in ([resnet(16)], [resnet(16), resnet(256)])
    )
    assert between.interval.log_half_width < 0.6 * alone.interval.log_half_width
    assert between.latency_ms == pytest.approx(74.2, rel=0.06)


NAMES = [
    ("alexnet-64px-b128-p2", "p2.xlarge"),
    ("inceptionv3-224px-b32-p3", "p3.2xlarge"),
    ("lenet5-32px-b16-g3s", "g3s.xlarge"),
    ("mobilenetv2-224px-b32-p2", "p2.xlarge"),
    ("resnet18-32px-b64-g4dn", "g4dn.xlarge"),
    ("vgg16-224px-b16-g3s", "g3s.xlarge"),
]
BATCH_SIZES = st.integers(1, 1024)
PIXEL_SIZES = st.integers(16, 1280)


@st.composite
def any_step(draw: st.DrawFn, precision: str) -> Prediction:
    """A sample's step with its times stretched at random, said to be of any size, with or without a latency or name."""
    name, anchor = draw(st.sampled_from(NAMES))
    models, catalog, samples = shared()
    profile = samples[name]
    stretch = {operation: us * 10 ** draw(st.floats(-1, 1)) for operation, us in list(profile.operations.items())[::5]}
    changed = dataclasses.replace(profile, operations={**profile.operations, **stretch})
    try:
        check_profile(models, changed)
    except NoPredictionError:
        reject()
    latency_ms = draw(st.one_of(st.none(), st.floats(0.5, 3000)))
    prediction = predict(
        models,
        catalog,
        changed,
        anchor,
        latency_ms=latency_ms,
        trust_latency=True,
        precision=precision,
        by_counts=draw(st.sampled_from([None, step_by_counts])),
    )
    return sized(prediction, batch_size=draw(BATCH_SIZES), pixels=draw(PIXEL_SIZES))


def any_steps(at_least: int) -> st.SearchStrategy[list[Prediction]]:
    """Up to two of them, in one precision."""
    precisions = st.sampled_from(["as profiled", "fp32", "amp"])
    return precisions.flatmap(lambda precision: st.lists(any_step(precision), min_size=at_least, max_size=2))


ANY_CURVE = {
    "steps": any_steps(1),
    "axis": st.sampled_from(["batch", "pixels"]),
    "sizes": st.lists(BATCH_SIZES, min_size=2, max_size=8),
    "other_size": st.integers(16, 1024),
}


@settings(max_examples=50)
@given(**ANY_CURVE)
def test_no_step_gets_faster_as_it_grows(models, steps, axis, sizes, other_size):
    assert_rising(models, steps, axis, sizes, other_size)


def assert_rising(models, steps, axis, sizes, other_size, instances=None) -> None:
    steps = joint_predictions(steps)
    own = [step.batch_size if axis == "batch" else step.pixels for step in steps]
    # Larger images only where a profile's are larger.
    largest = 1280 if max(step.pixels for step in steps) > 256 else 256
    wanted = sorted({*(size if axis == "batch" else min(max(size, 16), largest) for size in sizes), *own})
    others = [
        min(other_size, largest) if axis == "batch" else other_size,
        *(step.pixels if axis == "batch" else step.batch_size for step in steps),
    ]
    for other in others:
        for rows in zip(*curves_at(models, steps, axis, wanted, other, instances=instances), strict=True):
            latencies_ms = [row.latency_ms for row in rows]
            if None in latencies_ms:
                assert set(latencies_ms) == {None}
                continue
            assert np.isfinite(latencies_ms).all()
            assert (np.diff(latencies_ms) >= -ROUNDING * np.array(latencies_ms[1:])).all()
            for row in rows:
                if row.interval is not None:
                    assert row.interval.low_ms <= row.latency_ms * (1 + ROUNDING)
                    assert row.interval.high_ms >= row.latency_ms * (1 - ROUNDING)


@settings(max_examples=25)
@given(steps=any_steps(2))
def test_joined_steps_agree_and_stay_as_they_are(models, steps):
    joined = joint_predictions(steps)
    again = joint_predictions(joined)
    assert [step.latencies_ms for step in again] == [step.latencies_ms for step in joined]
    first, second = (dict(zip(step.table.targets, step.table.launch_ms, strict=True)) for step in joined)
    for target in first.keys() & second.keys():
        # Launches belong to the network, not to one of its profiles; of a given latency they aren't known.
        if not np.isnan([first[target], second[target]]).any():
            assert first[target] == second[target]
    for step in joined:
        rows = steps_at(models, steps, batch_size=step.batch_size, pixels=step.pixels)
        assert {row.latency_ms for row in rows} >= set(step.latencies_ms.values())


def test_a_contradiction_is_pooled_with_a_note_and_measurements_count_more():
    """The same profile said to be of two batch sizes, the second of them faster."""
    step = resnet(64)
    faster = sized(times(step, 1 / 2), batch_size=128)
    for order in ((step, faster), (faster, step)):
        joined = {one.batch_size: one for one in joint_predictions(order)}
        small, large = ({row.instance: row for row in joined[size].predictions} for size in (64, 128))
        assert {name: row.latency_ms for name, row in small.items()} == {
            name: row.latency_ms for name, row in large.items()
        }
        before = next(row for row in step.predictions if row.instance == "p5.4xlarge")
        after = small["p5.4xlarge"]
        assert before.latency_ms / 2 < after.latency_ms < before.latency_ms
        assert after.interval.log_half_width > before.interval.log_half_width
        assert "combined with batch 128, 128 pixels, which was predicted faster" in after.note
        assert "combined with batch 64, 128 pixels, which was predicted slower" in large["p5.4xlarge"].note
    slow = known("resnet50-128px-b64-g4dn", "g4dn.xlarge", latency=False, batch_size=128)
    # On g4dn there is a prediction only if the profile was recorded elsewhere.
    table = times(slow, 1 / 9).table.with_rows([0], latency_ms=10.0, log_sd=0.1, basis=[Basis.MEASURED])
    faster = replace(slow, anchor="p2.xlarge", table=table)
    small, large = joint_predictions((resnet(64), faster))
    given_ms = resnet(64).latencies_ms["g4dn.xlarge"]
    assert small.latencies_ms["g4dn.xlarge"] == given_ms
    assert large.latencies_ms["g4dn.xlarge"] == given_ms


def test_what_must_be_known_is_required(models):
    with pytest.raises(InputError, match="batch size the profile was recorded at"):
        steps_at(models, [sized(resnet(64), batch_size=None)], batch_size=16)
    with pytest.raises(InputError, match="pixel size the profile was recorded at"):
        steps_at(models, [sized(resnet(64), pixels=None)], batch_size=16, pixels=32)
    with pytest.raises(InputError, match="not 3"):
        steps_at(models, [resnet(64)] * 3, batch_size=16)
    for sizes, words in {(0, None): "1 and 1024, not 0", (1025, None): "not 1025", (16, 15): "16 and 1280"}.items():
        with pytest.raises(InputError, match=words):
            steps_at(models, [resnet(64)], batch_size=sizes[0], pixels=sizes[1])
    with pytest.raises(InputError, match="whole number"):
        steps_at(models, [resnet(64)], batch_size=16.5)
    large = sized(resnet(256), pixels=257)
    for step in ([resnet(64)], [sized(resnet(64), pixels=256)], [resnet(64), resnet(256)]):
        assert steps_at(models, step, batch_size=16, pixels=256)
        for pixels in (257, 1280):
            with pytest.raises(InputError, match=f"can't be scaled to {pixels}") as caught:
                steps_at(models, step, batch_size=16, pixels=pixels)
            assert caught.value.fields == ("at_pixels",)
    for step in ([large], [resnet(64), large]):
        assert steps_at(models, step, batch_size=16, pixels=1280)
    without = steps_at(models, [sized(resnet(64), pixels=None)], batch_size=16)
    assert latencies(without) == latencies(steps_at(models, [resnet(64)], batch_size=16))


def test_gpus_that_tie_on_the_host_say_so(models):
    """ResNet-18 at 32 pixels leaves every fast GPU waiting for launches."""
    small = known("resnet18-32px-b64-g4dn", "g4dn.xlarge")
    rows = {row.instance: row for row in small.predictions}
    assert rows["p5.4xlarge"].limited_by_host and rows["p4d.24xlarge"].limited_by_host
    # The later host launches faster.
    launches = host_named("milan").launch / host_named("cascade-lake").launch
    assert rows["p5.4xlarge"].latency_ms / rows["p4d.24xlarge"].latency_ms == pytest.approx(launches, rel=0.15)
    assert rows["p5.4xlarge"].note.startswith("limited by CPU launch overhead; ")
    assert not any(rows[name].limited_by_host for name in models.instances)
    grown = {row.instance: row for row in steps_at(models, [small], batch_size=1024, pixels=256)}
    assert not grown["p5.4xlarge"].limited_by_host and "limited" not in grown["p5.4xlarge"].note
    assert grown["p5.4xlarge"].latency_ms < grown["p4d.24xlarge"].latency_ms
    shrunk = {row.instance: row for row in steps_at(models, [resnet(64)], batch_size=1, pixels=32)}
    assert shrunk["p5.4xlarge"].limited_by_host
    assert shrunk["p5.4xlarge"].note.startswith("limited by CPU launch overhead; scaled from batch 64")
    assert shrunk["p5.4xlarge"].latency_ms / shrunk["p4d.24xlarge"].latency_ms == pytest.approx(launches, rel=0.1)


def recorded(**meta: object) -> Profile:
    return Profile({"Device_MatMul": 20.0, "Device_Conv2D": 80.0}, ProfileMeta(**meta))


def test_differences_between_two_profiles_are_listed():
    small, large = recorded(parameters=10, gpu="Tesla T4"), recorded(parameters=20, gpu="Tesla K80")
    parameters, gpu = other_networks(small, large)
    assert "(10 and 20)" in parameters and "(Tesla T4 and Tesla K80)" in gpu, "of the same pixels, as far as they tell"
    wide = recorded(parameters=20, gpu="T4", pixels=64, batch_size=256)
    assert other_networks(recorded(parameters=10, gpu="T4", pixels=32, batch_size=16), wide) == ()
