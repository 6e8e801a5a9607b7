"""Predictions with hand-made models, where every number can be worked out, and with the shipped ones."""

from __future__ import annotations

import dataclasses
import json
import math
import random

import numpy as np
import pytest
from msgspec import structs

from profet_core import (
    Catalog,
    InputError,
    LatencyDoubtError,
    Models,
    NoPredictionError,
    Profile,
    ProfileMeta,
    load_models,
    predict_many,
    read_profile,
)
from profet_core.answers.context import Context
from profet_core.answers.predict import answer_compare
from profet_core.catalog.gpus import host_named, load_gpus
from profet_core.ensemble.operations import NO_UNKNOWN_OPERATIONS
from profet_core.errors import Code, Note
from profet_core.layers.by_name import step_by_counts
from profet_core.prediction.members import Estimates, combine
from profet_core.prediction.predict import predict
from profet_core.prediction.targets import StepTable, StepTarget
from profet_core.questions import ProfileQuestion
from profet_profiles.record import NO_DEVICE
from tests.codes import codes

ANCHOR = "g4dn.xlarge"
# 120 + 40 + 40 ms of device and host rows: 200,000 us, so the made-up dense member says 200 ms everywhere.
# Device rows alone are 160 ms; half of that (the median ratio) suggests a latency of 80 ms.
OPERATIONS = {"Device_Conv2D": 120_000.0, "Device_IDLE": 40_000.0, "Host_IDLE": 40_000.0}
PROFILE = Profile(OPERATIONS, ProfileMeta(precision="fp32"))


@pytest.fixture
def tiny(tiny_folder) -> Models:
    return load_models(tiny_folder)


def row(prediction, instance: str):
    return next(each for each in prediction.predictions if each.instance == instance)


def test_an_instance_without_a_price_has_no_row(tiny, models, catalog):
    without = Catalog(offer for offer in catalog.all_offers if offer.name != "p2.xlarge")
    for known in (tiny, models):
        rows = predict(known, without, PROFILE, ANCHOR, latency_ms=150).predictions
        assert "p3.2xlarge" in {row.instance for row in rows}
        assert "p2.xlarge" not in {row.instance for row in rows}


def test_ensembles_by_hand(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=80)
    fast, slow = row(prediction, "p3.2xlarge"), row(prediction, "p2.xlarge")
    assert dict(fast.members) == pytest.approx({"line": 40, "forest": 40, "dense": 200})
    assert fast.latency_ms == pytest.approx(40)
    assert dict(slow.members) == pytest.approx({"line": 160, "forest": 300, "dense": 200})
    assert slow.latency_ms == pytest.approx(200)
    assert prediction.method == "profet"
    assert prediction.warnings == ()
    prediction = predict(tiny, catalog, PROFILE, ANCHOR)
    assert dict(row(prediction, "p3.2xlarge").members) == pytest.approx({"forest": 40, "dense": 200})
    assert row(prediction, "p3.2xlarge").latency_ms == pytest.approx(120)
    assert row(prediction, "p2.xlarge").latency_ms == pytest.approx(250)
    anchor = prediction.predictions[0]
    assert (anchor.latency_ms, anchor.cost_per_1000_steps_usd, prediction.anchor_latency_ms) == (None, None, None)
    assert list(prediction.latencies_ms) == ["p3.2xlarge", "p2.xlarge"]
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=90, method="other")
    assert row(prediction, "p3.2xlarge").latency_ms == pytest.approx(math.sqrt(45 * 40))
    assert list(row(prediction, "p3.2xlarge").members) == ["line", "forest"]
    assert row(predict(tiny, catalog, PROFILE, ANCHOR, method="other"), "p2.xlarge").latency_ms == pytest.approx(200)


def test_rows_of_the_requested_targets_have_latency_price_status_and_cost(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=80)
    anchor = prediction.predictions[0]
    assert (anchor.instance, anchor.latency_ms, anchor.basis, dict(anchor.members)) == (ANCHOR, 80, "given", {})
    assert anchor.cost_per_1000_steps_usd == pytest.approx(80 / 3600 * 0.526)
    assert prediction.anchor_latency_ms == 80
    fast = row(prediction, "p3.2xlarge")
    assert (fast.usd_per_hour, fast.status, fast.basis, fast.interval) == (3.06, "retired", "measured", None)
    assert fast.cost_per_1000_steps_usd == pytest.approx(0.034)  # 40 s at 3.06 an hour
    own = predict(tiny, catalog.with_prices({"p3.2xlarge": 9.0}), PROFILE, ANCHOR, latency_ms=80)
    assert row(own, "p3.2xlarge").cost_per_1000_steps_usd == pytest.approx(0.1)
    names = ["p2.xlarge", "p3.2xlarge", "p2.xlarge", ANCHOR]
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, targets=names)
    assert [each.instance for each in prediction.predictions] == [ANCHOR, "p2.xlarge", "p3.2xlarge"]
    assert len(predict(tiny, catalog, PROFILE, ANCHOR, targets=["p2.xlarge"]).predictions) == 2


def test_no_prediction_is_faster_than_half_the_fastest_step_and_outside_the_range_is_an_extrapolation(tiny, catalog):
    # All three members below 1 ms on p3.2xlarge: half its fastest step, 2 ms, is where it is held.
    short = Profile({"Device_Conv2D": 300.0})
    prediction = predict(tiny, catalog, short, ANCHOR, method="other", targets=["p3.2xlarge", "p2.xlarge"])
    assert row(prediction, "p3.2xlarge").latency_ms == 1.0
    assert row(prediction, "p3.2xlarge").members["dense"] == pytest.approx(0.3)
    assert row(prediction, "p2.xlarge").latency_ms == 5.0
    assert prediction.warnings[-1] == Note(Code.AT_FLOOR, instances="p3.2xlarge, p2.xlarge")
    asked = {7_999: ["shorter"], 8_001: [], 1_249_000: [], 1_251_000: ["longer"]}
    for device_us, sides in asked.items():
        notes = warnings_of(tiny, catalog, {"Device_Conv2D": float(device_us)})
        assert [(note.code, note.values["side"]) for note in notes] == [(Code.OUT_OF_RANGE, side) for side in sides]


def warnings_of(tiny, catalog, operations: dict | None = None, **meta) -> tuple[Note, ...]:
    profile = Profile(operations or OPERATIONS, ProfileMeta(**{"precision": "fp32", **meta}))
    return predict(tiny, catalog, profile, ANCHOR).warnings


def test_the_profile_s_meta_is_checked(tiny, catalog):
    for gpu in (None, "Tesla T4", "tesla t4", "NVIDIA T4-16GB"):
        assert warnings_of(tiny, catalog, gpu=gpu, precision="fp32") == (), "the anchor's own GPU"
    for precision in ("FP32", "float32", "TF32"):
        assert warnings_of(tiny, catalog, precision=precision) == ()
    # A precision that nothing is known of.
    with pytest.raises(NoPredictionError):
        warnings_of(tiny, catalog, precision="int8")
    for compiled, warned in ((True, 1), (False, 0), (None, 0)):
        lines = warnings_of(tiny, catalog, compiled=compiled, framework="PyTorch 2.13")
        assert [note.code for note in lines] == [Code.COMPILED] * warned
    # What the reader warned of comes first.
    profile = Profile(OPERATIONS, ProfileMeta(gpu="P100"), warnings=("Read from afar.", "And in haste."))
    assert predict(tiny, catalog, profile, ANCHOR).warnings[:2] == ("Read from afar.", "And in haste.")


@pytest.mark.parametrize(
    ("anchor", "given"),
    [("g4dn.xlarge", "g4dn.xlarge (Tesla T4)"), ("A10G", "A10G"), ("L4", "L4")],
    ids=["profiled", "not", "neither"],
)
def test_another_gpu_than_the_anchors_is_questioned(models, catalog, samples, anchor, given):
    profile = samples["resnet50-128px-b64-g4dn"].profile
    foreign = profile.with_meta(gpu="NVIDIA GeForce RTX 2080 Ti")
    wrong = Note(Code.WRONG_GPU, recorded="NVIDIA GeForce RTX 2080 Ti", anchor=given)
    assert predict(models, catalog, foreign, anchor).warnings[0] == wrong


def test_unknown_operations_are_named_with_share_and_place_unless_they_are_many(tiny, catalog):
    # Busy time: 120,000 + 30,000 + 50,000 us. Conv1D is 1 letter from both names of the first cluster.
    operations = {**OPERATIONS, "Device_Conv1D": 30_000.0, "Device_FlashAttention": 50_000.0}
    prediction = predict(tiny, catalog, dataclasses.replace(PROFILE, operations=operations), ANCHOR)
    (note,) = prediction.warnings
    assert (note.code, note.values["operations"]) == (Code.UNKNOWN_OPERATIONS, "2 operations")
    assert note.values["share"] == 0.4
    assert note.values["weight"] == "expect larger errors"
    assert note.values["treated"] == "Device_Conv1D counted as Device_Conv2D&Conv3D; Device_FlashAttention ignored"
    assert prediction.unknown_operations.share == 0.4
    # Conv1D's time is used, FlashAttention's is not: 230,000 us.
    assert row(prediction, "p2.xlarge").members["dense"] == pytest.approx(230)
    (note,) = warnings_of(tiny, catalog, {**OPERATIONS, "Device_FlashAttention": 1000.0})
    assert note.values["share"] == pytest.approx(1 / 121) and note.values["weight"] == "negligible"
    (note,) = warnings_of(tiny, catalog, {**OPERATIONS, **{f"Host_Op{i}": 1.0 for i in range(20)}})
    treated = note.values["treated"]
    assert note.values["operations"] == "20 operations" and treated.endswith("; and 12 more")
    assert treated.count("ignored") == 8


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"anchor": "g5.xlarge"}, r"The documented ensemble supports only the anchors g4dn\.xlarge, p3"),
        ({"anchor": "T5"}, "Unknown anchor 'T5'"),
        ({"targets": ["p3"]}, "Unknown target 'p3': choose one of"),
        ({"targets": []}, "Name at least one target"),
        ({"method": "best"}, "Unknown method 'best': use default or one of profet, other"),
        ({"latency_ms": 0}, "The anchor's latency must be a number above 0"),
        ({"latency_ms": 1e300}, r"The anchor's latency can't be 1e\+300"),
    ],
)
def test_arguments_that_make_no_prediction_are_refused_in_one_line(tiny, catalog, arguments, says):
    with pytest.raises(InputError, match=f"^{says}"):
        predict(tiny, catalog, PROFILE, **{"anchor": ANCHOR, **arguments})


def test_many_at_once(tiny, catalog):
    with pytest.raises(InputError, match=r"^2 latencies were given for 1 profiles"):
        predict_many(tiny, catalog, [PROFILE], ANCHOR, latencies_ms=[1, 2])
    assert not predict_many(tiny, catalog, [], ANCHOR)
    profiles = [Profile({**OPERATIONS, "Device_Conv2D": 100_000.0 + 1000 * i}) for i in range(20)]
    latencies_ms = [70.0 + i for i in range(20)]
    together = predict_many(tiny, catalog, profiles, ANCHOR, latencies_ms=latencies_ms)
    for profile, latency_ms, prediction in zip(profiles, latencies_ms, together, strict=True):
        alone = predict(tiny, catalog, profile, ANCHOR, latency_ms=latency_ms)
        assert prediction.latencies_ms == alone.latencies_ms


def test_the_order_of_keys_changes_no_prediction(models, catalog, samples):
    sample = next(iter(samples.values()))
    items = list(sample.profile.operations.items())
    random.Random(1).shuffle(items)
    content = {"operations": dict(items), "meta": json.loads(sample.data)["meta"]}
    shuffled = read_profile(json.dumps(content).encode())
    for latency_ms in (None, sample.latency_ms):
        one = predict(models, catalog, sample.profile, sample.anchor, latency_ms=latency_ms)
        other = predict(models, catalog, shuffled, sample.anchor, latency_ms=latency_ms)
        assert one.latencies_ms == other.latencies_ms


@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
def test_every_sample_is_predicted_within_a_factor_of_three_of_the_truth(models, catalog, samples, given):
    for sample in samples.values():
        prediction = predict(
            models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms if given else None
        )
        # Some profiles were cut short by TensorFlow; that's said, and there is nothing else to say.
        launch_bound = {Code.GPU_IDLE} if sample.name.startswith("lenet5") else set()
        assert set(codes(prediction)) - {Code.TRUNCATED, Code.PROFILED_PROGRAM} == launch_bound
        for instance, measured_ms in sample.measured_ms.items():
            assert measured_ms / 3 < prediction.latencies_ms[instance] < measured_ms * 3, (sample.name, instance)


def test_a_stalled_steps_latency_and_one_in_other_units_are_questioned(models, catalog, samples):
    sample = next(iter(samples.values()))
    busy_us, latency_ms = sample.profile.device_busy_us, sample.latency_ms
    idle_us = 4 * latency_ms * 1000 - busy_us
    whole = dataclasses.replace(sample.profile, may_be_cut=False, steps=1, steps_basis="marked")
    stalled = dataclasses.replace(whole, operations={**whole.operations, "Device_IDLE": idle_us})
    with pytest.raises(LatencyDoubtError, match=r"its GPU is idle for .* per step\. Record a step that doesn't stall"):
        predict(models, catalog, stalled, sample.anchor, latency_ms=latency_ms)
    predict(models, catalog, stalled, sample.anchor, latency_ms=2 * latency_ms)
    for sample in samples.values():
        for factor, unit in ((1000, "us"), (1 / 1000, "s")):
            with pytest.raises(LatencyDoubtError) as doubt:
                predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms * factor)
            assert doubt.value.suggested_unit == unit
            assert doubt.value.suggested_ms == pytest.approx(sample.latency_ms)


def context(models, catalog):
    return Context(models, catalog, models.transfer.gpus)


@pytest.fixture(scope="module")
def recorded(samples):
    every = samples.values()
    return [ProfileQuestion(profile=one.profile, anchor=one.anchor, latency_ms=one.latency_ms) for one in every]


@pytest.mark.parametrize("method", ["default", "profet"])
def test_each_is_predicted_as_alone(models, catalog, recorded, method):
    asked = [structs.replace(one, method=method) for one in recorded]
    mixed = [one if place % 3 else structs.replace(one, latency_ms=None) for place, one in enumerate(asked)]
    compared = answer_compare(context(models, catalog), mixed)
    assert len({one.anchor for one in mixed}) > 1
    for one, each in zip(mixed, compared, strict=True):
        options = {"latency_ms": one.latency_ms, "method": method, "by_counts": step_by_counts}
        alone = predict(models, catalog, one.profile, one.anchor, **options)
        assert (each.refusal, each.doubt) == ("", "")
        assert each.prediction.anchor == one.anchor
        assert each.prediction.anchor_latency_ms == one.latency_ms
        assert each.prediction.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-6)
        assert each.prediction.warnings == alone.warnings


def test_of_several_profiles_each_is_refused_doubted_or_counted_alone(models, catalog, recorded):
    nothing = structs.replace(recorded[0], profile=Profile({"Host_Conv2D": 5000.0}))
    refused, waits, other = answer_compare(
        context(models, catalog), [nothing, structs.replace(recorded[0], anchor=None), recorded[0]]
    )
    assert (refused.prediction, refused.refusal) == (None, NO_DEVICE)
    assert (waits.prediction, waits.refusal) == (None, ""), "its anchor is not known"
    assert other.prediction is not None
    one = recorded[0]
    (each,) = answer_compare(context(models, catalog), [structs.replace(one, latency_ms=1e6 * one.latency_ms)])
    assert "The prediction doesn't use it" in each.doubt
    assert each.prediction.anchor_latency_ms is None
    alone = predict(models, catalog, one.profile, one.anchor, by_counts=step_by_counts)
    assert each.prediction.latencies_ms == alone.latencies_ms
    one = recorded[0]
    three = Profile({name: 3 * us for name, us in one.profile.operations.items()}, steps_basis="assumed")
    (each,) = answer_compare(context(models, catalog), [structs.replace(one, profile=three)])
    assert (each.profile.steps, each.profile.steps_basis) == (3, "inferred")
    assert each.prediction.steps == 3
    assert answer_compare(context(models, catalog), []) == []
    for latency_ms in (None, 10.0):
        with pytest.raises(InputError, match="Unknown anchor 'p9'"):
            answer_compare(context(models, catalog), [structs.replace(recorded[0], anchor="p9", latency_ms=latency_ms)])


def test_members_are_joined():
    members = np.array([[1.0, 3.0, 9.0], [40.0, 20.0, 10.0]])
    for how, expected in (("median", [3, 20]), ("mean", [13 / 3, 70 / 3]), ("geometric mean", [3, 20])):
        np.testing.assert_allclose(combine(members, how), expected)
    assert combine(np.array([[1.0, 3.0]]), "median") == [2.0]
    assert 0 < combine(np.array([[-5.0, 100.0]]), "geometric mean")[0] < 0.01, "a member below zero"
    with pytest.raises(InputError, match="'mode'"):
        combine(members, "mode")


def estimates(log_sd: np.ndarray | None) -> Estimates:
    """Two targets and three profiles; of the second profile "b" lies below its floor of 4 ms."""
    combined_ms = np.array([[10.0, 20.0, 30.0], [5.0, 3.0, 7.0]])
    floor_ms = np.array([[1.0], [4.0]])
    return Estimates(
        targets=("a", "b"),
        member_ms={"line": combined_ms - 1, "trees": combined_ms + 1},
        latency_ms=np.maximum(combined_ms, floor_ms),
        at_floor=combined_ms <= floor_ms,
        log_sd=log_sd,
        interval_level=None if log_sd is None else 0.9,
        unknown=[NO_UNKNOWN_OPERATIONS] * 3,
        repaired=np.array([1.0, 1.2, 1.0]),
    )


def test_estimates_fill_their_rows_of_a_table_held_at_the_floor():
    log_sd = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    gpu, host = load_gpus()["Tesla T4"], host_named("milan")
    empty = StepTable.unknown(tuple(StepTarget(gpu, host, name) for name in ("anchor", "b", "a")), 3)
    values = estimates(log_sd)
    table = values.in_table(empty, {"anchor": 0, "b": 1, "a": 2})
    np.testing.assert_array_equal(table.latency_ms, [[np.nan] * 3, [5.0, 4.0, 7.0], [10.0, 20.0, 30.0]])
    np.testing.assert_array_equal(table.log_sd[1:], log_sd[::-1])
    np.testing.assert_array_equal(table.column(1).members["line"], [np.nan, 2.0, 19.0])
    assert (*table.latency_ms[1:, 1], *table.log_sd[1:, 1]) == (4.0, 20.0, 0.5, 0.2)
    assert values.notes(1)[0] == Note(Code.TRUNCATED, factor=1.2) and values.notes(0) == []
    without = estimates(None).in_table(empty, {"a": 2, "b": 1}).column(2)
    assert np.isnan(without.log_sd).all() and np.isnan(without.latency_ms[0])
