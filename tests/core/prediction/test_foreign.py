"""A profile of a GPU that nobody profiled: which rows it gives, what they rest on, and how sure they say they are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from profet_core import InputError, NoPredictionError, predict, predict_many
from profet_core.latency import Basis
from profet_core.transfer.hosts import UNKNOWN_HOST
from profet_core.transfer.speed import target_of

SAMPLE = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def profile(samples):
    """Recorded on a T4; any GPU's would do."""
    profile = samples[SAMPLE].profile
    return replace(profile, meta=replace(profile.meta, gpu=None, precision=None))


def rows_of(prediction) -> dict:
    return {row.instance: row for row in prediction.predictions}


def half(row) -> float:
    return row.interval.log_half_width


@pytest.mark.parametrize("latency_ms", [90.0, None])
def test_every_gpu_with_a_data_sheet_predicts_every_instance(models, catalog, profile, latency_ms):
    profiled = {row.gpu for row in models.transfer.step.instances.values()}
    for name in set(models.transfer.gpus) - profiled:
        prediction = predict(models, catalog, profile, name, latency_ms=latency_ms, trust_latency=True)
        rows = rows_of(prediction)
        assert set(rows) == set(catalog), name
        assert prediction.anchor == name and prediction.anchor_latency_ms == latency_ms
        for row in rows.values():
            assert 0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf, (name, row.instance)


def test_profiled_instances_and_other_offers_of_their_gpus_are_carried_back(models, catalog, profile):
    rows = rows_of(predict(models, catalog, profile, "A10", latency_ms=90.0))
    for name in models.instances:
        assert rows[name].basis is Basis.CARRIED_BACK
        assert rows[name].note == "from a profile of A10, which nobody profiled for the models"
    for offer, instance in (("gcp/n1-standard-4+1xV100", "p3.2xlarge"), ("g4dn.12xlarge", "g4dn.xlarge")):
        assert rows[offer].basis is Basis.CARRIED_BACK
        assert rows[offer].latency_ms == rows[instance].latency_ms
        # As unsure as the instance's own row, and its host besides.
        assert half(rows[offer]) > half(rows[instance])
        assert half(rows[offer]) < half(rows[instance]) + 0.1


def test_every_interval_holds_the_doubt_about_the_anchor(models, catalog, profile):
    transfer = models.transfer
    spread, point = transfer.anchor_spread, transfer.points["H100-SXM5-80GB"]
    least = 1.645 * math.sqrt(spread.between**2 + spread.within**2 + point.log_sd**2)
    rows = rows_of(predict(models, catalog, profile, "H100-SXM5-80GB", latency_ms=90.0, trust_latency=True))
    for row in rows.values():
        if catalog[row.instance].gpu != "H100-SXM5-80GB":
            assert half(row) >= least * (1 - 1e-9), row.instance
    # Its host and the mix of its operations come to that, each at most as far as the whole step is theirs.
    mix = target_of(transfer, transfer.gpus["H100-SXM5-80GB"], UNKNOWN_HOST, True)[0].mix_log_sd
    assert least < half(rows["p3.2xlarge"]) < math.hypot(least, 1.645 * UNKNOWN_HOST.log_sd, 1.645 * mix)


def test_without_the_latency_profiled_instances_are_less_sure(models, catalog, profile):
    given = rows_of(predict(models, catalog, profile, "A10", latency_ms=90.0))
    guessed = rows_of(predict(models, catalog, profile, "A10"))
    assert all(half(guessed[name]) > half(given[name]) for name in models.instances)


def test_the_own_gpus_offers_take_the_given_latency_and_the_hosts_doubt_alone(models, catalog, profile):
    rows = rows_of(predict(models, catalog, profile, "A10G", latency_ms=90.0))
    own = [row for name, row in rows.items() if catalog[name].gpu == "A10G"]
    assert len(own) == 3
    for row in own:
        assert row.latency_ms == 90.0 and row.basis is Basis.CARRIED_BACK
        assert 0 < half(row) < 1.645 * 0.26
        assert row.note.startswith("latency of A10G, which has the same GPU")
    guessed = rows_of(predict(models, catalog, profile, "A10G"))
    assert all(half(guessed[row.instance]) > 0.3 for row in own)


def test_a_gpu_that_nobody_rents_has_no_row_of_its_own(models, catalog, profile):
    prediction = predict(models, catalog, profile, "GeForce RTX 2080 Ti", latency_ms=90.0)
    assert "GeForce RTX 2080 Ti" not in rows_of(prediction)
    assert not any(row.basis is Basis.GIVEN for row in prediction.predictions)
    assert prediction.anchor_latency_ms == 90.0


def test_an_offer_as_anchor_has_its_row_and_its_gpus_other_offers_follow_it(models, catalog, profile):
    prediction = predict(models, catalog, profile, "g5.xlarge", latency_ms=90.0)
    first, rows = prediction.predictions[0], rows_of(prediction)
    assert (first.instance, first.basis, first.latency_ms) == ("g5.xlarge", Basis.GIVEN, 90.0)
    others = [name for name in rows if catalog[name].gpu == "A10G" and name != "g5.xlarge"]
    assert others and all(rows[name].latency_ms == 90.0 for name in others)


def test_a_v100_offer_takes_v100s_models_and_p3_becomes_an_offer_of_the_same_gpu(models, catalog, samples):
    sample = next(one for one in samples.values() if one.anchor == "p3.2xlarge")
    offer = "gcp/n1-standard-4+1xV100"
    there, here = (
        rows_of(predict(models, catalog, sample.profile, anchor, latency_ms=sample.latency_ms))
        for anchor in (offer, "p3.2xlarge")
    )
    assert there[offer].basis is Basis.GIVEN
    for name in ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge"):
        assert there[name].basis is Basis.MEASURED
        assert there[name].latency_ms == pytest.approx(here[name].latency_ms)
    p3 = there["p3.2xlarge"]
    assert (p3.latency_ms, p3.basis) == (sample.latency_ms, Basis.MEASURED)
    assert "which has the same GPU" in p3.note and 0 < half(p3) < 1.645 * 0.26


def test_a_tf32_profile_is_warned_of_only_where_the_models_learned_fp32(models, catalog, profile):
    tf32 = replace(profile, meta=replace(profile.meta, precision="tf32"))
    said = "the models were trained on FP32 steps only"
    assert not any(said in text for text in predict(models, catalog, tf32, "A100-SXM4-40GB").warnings)
    assert any(said in text for text in predict(models, catalog, tf32, "g4dn.xlarge").warnings)
    half_precision = replace(profile, meta=replace(profile.meta, precision="mixed_float16"))
    assert any(said in text for text in predict(models, catalog, half_precision, "g4dn.xlarge").warnings)
    with pytest.raises(NoPredictionError, match="record it without mixed precision"):
        predict(models, catalog, half_precision, "A100-SXM4-40GB")


def test_the_own_gpus_offers_in_another_precision_are_carried_there(models, catalog, profile):
    """A latency in TF32 is none in FP32, on the very same GPU too."""
    tf32 = replace(profile, meta=replace(profile.meta, precision="tf32"))
    asked = {
        wanted: rows_of(predict(models, catalog, tf32, "A100-SXM4-40GB", latency_ms=90.0, tf32=wanted))["p4d.24xlarge"]
        for wanted in (True, False)
    }
    assert asked[True].latency_ms == 90.0
    assert asked[False].latency_ms > 1.2 * 90 and asked[False].basis is Basis.TRANSFERRED


def test_a_latency_that_the_profile_does_not_explain_makes_all_less_sure(models, catalog, profile):
    stated = replace(profile, steps_basis="stated", may_be_cut=False)
    shown_ms = stated.device_busy_us / 1000
    usual, far = (
        rows_of(predict(models, catalog, stated, "A10", latency_ms=factor * shown_ms, trust_latency=True))["p3.2xlarge"]
        for factor in (1.05, 4.0)
    )
    assert far.latency_ms == pytest.approx(usual.latency_ms, rel=0.1)
    assert half(far) > math.log(3) > 2 * half(usual)


def test_a_profile_in_fp32_says_less_work_than_one_in_tf32(models, catalog, profile):
    """The A100 does FP32 slower: what took it as long is less work elsewhere."""
    latencies_ms = {
        precision: predict(
            models,
            catalog,
            replace(profile, meta=replace(profile.meta, precision=precision)),
            "A100-SXM4-40GB",
            latency_ms=90.0,
        ).latencies_ms
        for precision in ("tf32", "fp32")
    }
    assert latencies_ms["tf32"]["p3.2xlarge"] > 1.2 * latencies_ms["fp32"]["p3.2xlarge"]


def test_a_faster_anchor_means_more_work_for_all_others(models, catalog, profile):
    latency_ms = [
        predict(models, catalog, profile, name, latency_ms=90.0, trust_latency=True).latencies_ms["p3.2xlarge"]
        for name in ("L4", "A10", "A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB")
    ]
    assert latency_ms == sorted(latency_ms)


def test_many_at_once_are_each_as_alone(models, catalog, samples):
    chosen = [one for one in samples.values() if one.anchor == "g4dn.xlarge"]
    profiles = [replace(one.profile, meta=replace(one.profile.meta, gpu=None)) for one in chosen]
    latencies_ms = [one.latency_ms for one in chosen]
    together = predict_many(models, catalog, profiles, "A10", latencies_ms=latencies_ms, trust_latency=True)
    for profile, latency_ms, found in zip(profiles, latencies_ms, together, strict=True):
        alone = predict(models, catalog, profile, "A10", latency_ms=latency_ms, trust_latency=True)
        assert found.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-5)
        assert [half(row) for row in found.predictions] == pytest.approx([half(row) for row in alone.predictions])


def test_the_documented_ensemble_starts_from_the_four_alone(models, catalog, profile):
    for anchor in ("A10G", "g5.xlarge", "gcp/n1-standard-4+1xV100", "NVIDIA L4"):
        with pytest.raises(
            InputError, match=r"^The documented ensemble starts from g3s.* only: take the default method"
        ):
            predict(models, catalog, profile, anchor, method="profet")
