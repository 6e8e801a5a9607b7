"""Predictions with hand-made models, where every number can be worked out, and with the shipped ones."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest

from profet_core import (
    Catalog,
    InputError,
    LatencyDoubtError,
    Models,
    Profile,
    ProfileMeta,
    load_models,
    predict,
    predict_many,
    read_profile,
)

ANCHOR = "g4dn.xlarge"
# 120 + 40 + 40 ms of device and host rows: 200,000 us, so the made-up dense member says 200 ms everywhere.
# Device rows alone are 160 ms; half of that (the median ratio) suggests a latency of 80 ms.
OPERATIONS = {"Device_Conv2D": 120_000.0, "Device_IDLE": 40_000.0, "Host_IDLE": 40_000.0}
PROFILE = Profile(OPERATIONS)


@pytest.fixture
def tiny(tiny_folder) -> Models:
    return load_models(tiny_folder)


def row(prediction, instance: str):
    return next(each for each in prediction.predictions if each.instance == instance)


# --- instances that the catalogue lacks, as models of one's own may know ---------------------------------------------


def test_an_instance_without_a_price_has_no_row(tiny, models, catalog):
    without = Catalog(offer for offer in catalog.all_offers if offer.name != "p2.xlarge")
    for known in (tiny, models):
        rows = predict(known, without, PROFILE, ANCHOR, latency_ms=150).predictions
        assert "p3.2xlarge" in {found.instance for found in rows}
        assert "p2.xlarge" not in {found.instance for found in rows}


def test_where_none_has_a_price_the_first_is_to_be_added(tiny, catalog):
    alone = Catalog(catalog.offers(ANCHOR))
    with pytest.raises(
        InputError, match=r"^p3.2xlarge, p2.xlarge: no price is known; `profet instances add p3.2xlarge"
    ):
        predict(tiny, alone, PROFILE, ANCHOR, latency_ms=80)


# --- ensembles, by hand ---------------------------------------------------------------------------------------------


def test_with_the_latency_it_is_the_median_of_three(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=80)
    fast, slow = row(prediction, "p3.2xlarge"), row(prediction, "p2.xlarge")
    assert dict(fast.members) == pytest.approx({"line": 40, "forest": 40, "dense": 200})
    assert fast.latency_ms == pytest.approx(40)
    assert dict(slow.members) == pytest.approx({"line": 160, "forest": 300, "dense": 200})
    assert slow.latency_ms == pytest.approx(200)
    assert prediction.method == "profet"
    assert prediction.warnings == ()


def test_without_the_latency_it_is_the_mean_of_two(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR)
    assert dict(row(prediction, "p3.2xlarge").members) == pytest.approx({"forest": 40, "dense": 200})
    assert row(prediction, "p3.2xlarge").latency_ms == pytest.approx(120)
    assert row(prediction, "p2.xlarge").latency_ms == pytest.approx(250)


def test_another_method_asks_its_own_members(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=90, method="other")
    assert row(prediction, "p3.2xlarge").latency_ms == pytest.approx(math.sqrt(45 * 40))
    assert list(row(prediction, "p3.2xlarge").members) == ["line", "forest"]
    assert row(predict(tiny, catalog, PROFILE, ANCHOR, method="other"), "p2.xlarge").latency_ms == pytest.approx(200)


def test_the_anchor_is_a_row_with_its_given_latency_and_cost(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=80)
    anchor = prediction.predictions[0]
    assert (anchor.instance, anchor.latency_ms, anchor.basis, dict(anchor.members)) == (ANCHOR, 80, "given", {})
    assert anchor.cost_per_1000_steps_usd == pytest.approx(80 / 3600 * 0.526)
    assert prediction.anchor_latency_ms == 80


def test_the_anchor_has_neither_latency_nor_cost_if_none_was_given(tiny, catalog):
    prediction = predict(tiny, catalog, PROFILE, ANCHOR)
    anchor = prediction.predictions[0]
    assert (anchor.latency_ms, anchor.cost_per_1000_steps_usd, prediction.anchor_latency_ms) == (None, None, None)
    assert list(prediction.latencies_ms) == ["p3.2xlarge", "p2.xlarge"]


def test_a_target_row_carries_price_status_and_cost(tiny, catalog):
    fast = row(predict(tiny, catalog, PROFILE, ANCHOR, latency_ms=80), "p3.2xlarge")
    assert (fast.usd_per_hour, fast.status, fast.basis) == (3.06, "retired", "measured")
    assert fast.cost_per_1000_steps_usd == pytest.approx(0.034)  # 40 s at 3.06 an hour
    assert fast.interval is None


def test_an_own_price_reaches_the_prediction(tiny, catalog):
    own = catalog.with_prices({"p3.2xlarge": 9.0})
    assert row(
        predict(tiny, own, PROFILE, ANCHOR, latency_ms=80), "p3.2xlarge"
    ).cost_per_1000_steps_usd == pytest.approx(0.1)


def test_only_the_targets_asked_for_in_their_order_and_once(tiny, catalog):
    names = ["p2.xlarge", "p3.2xlarge", "p2.xlarge", ANCHOR]
    prediction = predict(tiny, catalog, PROFILE, ANCHOR, targets=names)
    assert [each.instance for each in prediction.predictions] == [ANCHOR, "p2.xlarge", "p3.2xlarge"]
    assert len(predict(tiny, catalog, PROFILE, ANCHOR, targets=["p2.xlarge"]).predictions) == 2


def test_no_prediction_is_faster_than_half_the_fastest_step_and_that_is_said(tiny, catalog):
    # All three members below 1 ms on p3.2xlarge: half its fastest step, 2 ms, is where it is held.
    short = Profile({"Device_Conv2D": 300.0})
    prediction = predict(tiny, catalog, short, ANCHOR, method="other", targets=["p3.2xlarge", "p2.xlarge"])
    assert row(prediction, "p3.2xlarge").latency_ms == 1.0
    assert row(prediction, "p3.2xlarge").members["dense"] == pytest.approx(0.3)
    assert row(prediction, "p2.xlarge").latency_ms == 5.0
    assert "The prediction for p3.2xlarge, p2.xlarge fell below anything measured" in prediction.warnings[-1]


# --- warnings -------------------------------------------------------------------------------------------------------


def warnings_of(tiny, catalog, operations: dict | None = None, **meta) -> tuple[str, ...]:
    profile = Profile(operations or OPERATIONS, ProfileMeta(**meta))
    return predict(tiny, catalog, profile, ANCHOR).warnings


@pytest.mark.parametrize("gpu", [None, "Tesla T4", "T4", "tesla t4", "NVIDIA T4-16GB"])
def test_the_anchors_own_gpu_is_no_warning(tiny, catalog, gpu):
    assert warnings_of(tiny, catalog, gpu=gpu, precision="fp32") == ()


@pytest.mark.parametrize(
    ("anchor", "given"),
    [("g4dn.xlarge", "g4dn.xlarge has Tesla T4"), ("A10G", "the anchor is A10G"), ("L4", "the anchor is L4")],
    ids=["profiled", "derived", "not"],
)
def test_another_gpu_than_the_anchors_is_questioned(models, catalog, samples, anchor, given):
    profile = samples["resnet50-128px-b64-g4dn"].profile
    foreign = replace(profile, meta=replace(profile.meta, gpu="NVIDIA GeForce RTX 2080 Ti"))
    assert predict(models, catalog, foreign, anchor).warnings[0] == (
        f"The profile says it was recorded on NVIDIA GeForce RTX 2080 Ti, but {given}: is the anchor right?"
    )


@pytest.mark.parametrize(("precision", "warned"), [("FP32", 0), ("float32", 0), ("mixed_float16", 1), ("TF32", 1)])
def test_another_precision_than_fp32_is_warned_about(tiny, catalog, precision, warned):
    warnings = warnings_of(tiny, catalog, precision=precision)
    assert len(warnings) == warned
    assert all(f"The profile says {precision}; the models were trained on FP32" in text for text in warnings)


@pytest.mark.parametrize(("compiled", "warned"), [(True, 1), (False, 0), (None, 0)])
def test_a_step_that_torch_compiled_is_warned_about(tiny, catalog, compiled, warned):
    warnings = warnings_of(tiny, catalog, compiled=compiled, framework="PyTorch 2.13")
    assert ["This step was compiled" in text for text in warnings] == [True] * warned


def test_what_a_profile_itself_warns_of_comes_first(tiny, catalog):
    profile = Profile(OPERATIONS, ProfileMeta(precision="TF32"), warnings=("Read from afar.", "And in haste."))
    assert predict(tiny, catalog, profile, ANCHOR).warnings[:2] == ("Read from afar.", "And in haste.")
    assert len(predict(tiny, catalog, profile, ANCHOR).warnings) == 3


def test_unknown_operations_are_named_with_their_share_and_place(tiny, catalog):
    # Busy time: 120,000 + 30,000 + 50,000 us. Conv1D is 1 letter from both names of the first cluster.
    operations = {**OPERATIONS, "Device_Conv1D": 30_000.0, "Device_FlashAttention": 50_000.0}
    prediction = predict(tiny, catalog, Profile(operations), ANCHOR)
    assert prediction.warnings == (
        "2 operations unknown to the models, 40.0% of the busy time (expect larger errors): "
        "Device_Conv1D counted as Device_Conv2D&Conv3D; Device_FlashAttention left out.",
    )
    assert prediction.unknown_operations.share == 0.4
    # Conv1D's time is used, FlashAttention's is not: 230,000 us.
    assert row(prediction, "p2.xlarge").members["dense"] == pytest.approx(230)


def test_a_small_unknown_share_is_said_to_matter_little(tiny, catalog):
    (text,) = warnings_of(tiny, catalog, {**OPERATIONS, "Device_FlashAttention": 1000.0})
    assert text.startswith("1 operation unknown to the models, 0.8% of the busy time (too little to matter much)")


def test_many_unknown_operations_are_not_all_listed(tiny, catalog):
    (text,) = warnings_of(tiny, catalog, {**OPERATIONS, **{f"Host_Op{i}": 1.0 for i in range(20)}})
    assert text.startswith("20 operations unknown") and text.endswith("; and 12 more.")
    assert text.count("left out") == 8


@pytest.mark.parametrize(
    ("device_us", "says"),
    [
        (7_999, "This step is shorter on the GPU than any in the training data of g4dn.xlarge (8.00 ms of device time"),
        (8_001, None),
        (1_249_000, None),
        (1_251_000, "This step is longer on the GPU than any in the training data of g4dn.xlarge (1,251 ms of device"),
    ],
)
def test_a_step_outside_the_training_range_is_an_extrapolation(tiny, catalog, device_us, says):
    warnings = warnings_of(tiny, catalog, {"Device_Conv2D": float(device_us)})
    assert [text[: len(says)] for text in warnings] == [says] if says else warnings == ()


# --- arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"anchor": "g5.xlarge"}, r"Unknown anchor 'g5\.xlarge': choose one of g4dn\.xlarge, p3\.2xlarge, p2\.xlarge"),
        ({"anchor": "T4"}, "Unknown anchor 'T4'"),
        ({"targets": ["p3"]}, "Unknown target 'p3': choose one of"),
        ({"targets": []}, "Name at least one target"),
        ({"method": "best"}, "Unknown method 'best': use default or one of profet, other"),
        *(
            ({"latency_ms": bad}, "The anchor's latency must be a number above 0")
            for bad in (0, -1, math.nan, math.inf)
        ),
        ({"latency_ms": True}, "The anchor's latency must be a number above 0"),
        ({"latency_ms": 1e300}, r"The anchor's latency can't be 1e\+300"),
    ],
)
def test_arguments_that_make_no_prediction_are_refused_in_one_line(tiny, catalog, arguments, says):
    with pytest.raises(InputError, match=f"^{says}"):
        predict(tiny, catalog, PROFILE, **{"anchor": ANCHOR, **arguments})


def test_latencies_must_be_as_many_as_profiles(tiny, catalog):
    with pytest.raises(InputError, match=r"^2 latencies were given for 1 profiles: give one each"):
        predict_many(tiny, catalog, [PROFILE], ANCHOR, latencies_ms=[1, 2])


def test_no_profiles_give_no_predictions(tiny, catalog):
    assert predict_many(tiny, catalog, [], ANCHOR) == []


def test_many_profiles_are_predicted_as_one_by_one(tiny, catalog):
    profiles = [Profile({**OPERATIONS, "Device_Conv2D": 100_000.0 + 1000 * i}) for i in range(20)]
    latencies_ms = [70.0 + i for i in range(20)]
    together = predict_many(tiny, catalog, profiles, ANCHOR, latencies_ms=latencies_ms)
    for profile, latency_ms, prediction in zip(profiles, latencies_ms, together, strict=True):
        assert prediction == predict(tiny, catalog, profile, ANCHOR, latency_ms=latency_ms)


# --- the shipped models ---------------------------------------------------------------------------------------------


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
def test_shipped_predictions_together_are_those_one_by_one(models, catalog, samples, given):
    for anchor in models.instances:
        group = [sample for sample in samples.values() if sample.anchor == anchor]
        latencies_ms = [sample.latency_ms for sample in group] if given else None
        together = predict_many(models, catalog, [s.profile for s in group], anchor, latencies_ms=latencies_ms)
        for sample, prediction in zip(group, together, strict=True):
            alone = predict(models, catalog, sample.profile, anchor, latency_ms=sample.latency_ms if given else None)
            assert prediction.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-5)


@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
def test_every_sample_is_predicted_within_a_factor_of_three_of_the_truth(models, catalog, samples, given):
    for sample in samples.values():
        prediction = predict(
            models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms if given else None
        )
        # Some profiles were cut short by TensorFlow; that's said, and there is nothing else to say.
        assert all(text.startswith("Operations that every training step") for text in prediction.warnings)
        for instance, measured_ms in sample.measured_ms.items():
            assert measured_ms / 3 < prediction.latencies_ms[instance] < measured_ms * 3, (sample.name, instance)


def test_a_samples_latency_in_other_units_is_questioned_with_the_right_one(models, catalog, samples):
    for sample in samples.values():
        for factor, unit in ((1000, "us"), (1 / 1000, "s")):
            with pytest.raises(LatencyDoubtError) as doubt:
                predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms * factor)
            assert doubt.value.suggested_unit == unit
            assert doubt.value.suggested_ms == pytest.approx(sample.latency_ms)


def test_predictions_of_extreme_profiles_are_finite_and_positive(models, catalog):
    profiles = [Profile({"Device_Conv2D": us}) for us in (1e-6, 1.0, 1e6, 1e12)]
    profiles += [Profile({"Device_Conv2D": 5.0, "Device_Nothing_like_it_at_all": 5.0})]
    for anchor in models.instances:
        for prediction in predict_many(models, catalog, profiles, anchor):
            assert all(0 < latency_ms < math.inf for latency_ms in prediction.latencies_ms.values())
