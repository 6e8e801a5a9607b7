"""Unprofiled GPUs as targets and anchors: rows, basis and confidence."""

from __future__ import annotations

import dataclasses
import math
import shutil
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from profet_core import ArtifactError, InputError, load_models
from profet_core.catalog import Catalog
from profet_core.catalog.gpus import host_named
from profet_core.ensemble.operations import OperationClasses
from profet_core.errors import Code
from profet_core.latency import Basis, quantile
from profet_core.layers.by_name import step_by_counts
from profet_core.prediction.predict import predict, predict_many
from tests.codes import codes
from tests.made.step_times import values_of

SAMPLE = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def asked(models, catalog, samples):
    sample = samples[SAMPLE]
    return sample, predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)


def rows_of(prediction) -> dict:
    return {row.instance: row for row in prediction.predictions}


def test_every_instance_of_the_catalog_has_a_row_with_its_basis(asked, catalog, models):
    _, prediction = asked
    basis = {name: row.basis for name, row in rows_of(prediction).items()}
    assert set(basis) == set(catalog)
    gpus = {name: catalog[name].gpu for name in catalog}
    profiled = models.transfer.profiled_gpus  # a GPU with more memory counts as the profiled one
    assert {name for name, kind in basis.items() if kind.is_profiled} == {n for n in gpus if gpus[n] in profiled}
    assert {name for name, kind in basis.items() if kind is Basis.TRANSFERRED} == {
        name for name in gpus if gpus[name] not in profiled
    }
    assert basis["gcp/n1-standard-4+1xV100"] is Basis.MEASURED
    assert basis["azure/Standard_NC6s_v3"] is Basis.TRANSFERRED, "another V100 than the one that was profiled"


def test_a_row_keeps_the_interval_of_its_ratio_to_the_anchor(models, catalog, samples):
    sample = samples["alexnet-64px-b128-p2"]
    rows = rows_of(predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    for name in ("g5.xlarge", "g6e.xlarge"):
        row = rows[name]
        table = row.table
        assert table.relative_to[row.number] == sample.anchor
        assert quantile() * table.relative_log_sd[row.number] == pytest.approx(row.interval.log_half_width), (
            "a given anchor"
        )
    for name in models.instances:
        assert rows[name].table.relative_to[rows[name].number] == ""


def test_a_custom_instance_with_a_profiled_gpu_takes_that_latency(asked, models, catalog):
    sample, prediction = asked
    own = replace(catalog["p3.2xlarge"], name="my-v100", status="available")
    wider = Catalog([*catalog.values(), own])
    rows = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    theirs = rows_of(prediction)["p3.2xlarge"]
    assert rows["my-v100"].latency_ms == theirs.latency_ms
    # Copy, start and launches may take a host longer or shorter.
    table, number = rows["my-v100"].table, rows["my-v100"].number
    host = quantile() * table.relative_log_sd[number]
    assert table.relative_to[number] == "p3.2xlarge" and 0 < host < quantile() * 0.13
    width = math.exp(math.hypot(theirs.interval.log_half_width, host))
    assert (rows["my-v100"].interval.low_ms, rows["my-v100"].interval.high_ms) == pytest.approx(
        (theirs.latency_ms / width, theirs.latency_ms * width)
    )
    assert rows["my-v100"].basis == "measured"
    assert "p3.2xlarge" in rows["my-v100"].note


def test_a_custom_instance_with_the_anchor_s_gpu_has_an_interval_too(asked, models, catalog):
    """Without one advice could say of nothing how sure it is."""
    sample, _ = asked
    own = replace(catalog[sample.anchor], name="my-t4")
    wider = Catalog([*catalog.values(), own])
    row = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))["my-t4"]
    host = quantile() * host_named(own.host).log_sd
    assert row.latency_ms == sample.latency_ms
    assert 0 < row.interval.log_half_width < host
    unknown = rows_of(predict(models, wider, sample.profile, sample.anchor))["my-t4"]
    assert unknown.latency_ms == pytest.approx(sample.latency_ms, rel=0.1)
    assert unknown.interval.log_half_width > row.interval.log_half_width
    assert unknown.note == f"{row.note}; estimated from the profile because none was given"


def test_transferred_rows_are_less_sure_and_a_node_s_price_is_never_divided(asked, catalog):
    _, prediction = asked
    rows = rows_of(prediction)
    width = {name: row.interval.log_half_width for name, row in rows.items() if row.interval}
    measured = [width[name] for name, row in rows.items() if row.members]
    assert min(width[name] for name, row in rows.items() if row.basis == "transferred") > max(measured)
    assert width["p5.4xlarge"] > width["g6.xlarge"], "an unmeasured host bounds the fast GPU's step more than L4's"
    one, node = rows["p5.4xlarge"], rows["p5.48xlarge"]
    assert one.latency_ms == node.latency_ms
    prices = catalog["p5.48xlarge"].usd_per_hour / catalog["p5.4xlarge"].usd_per_hour
    assert node.cost_per_1000_steps_usd / one.cost_per_1000_steps_usd == pytest.approx(prices)
    assert node.note.endswith("price of the whole machine with 8 GPUs") and "node" not in one.note


def test_a_gpu_without_specs_has_a_price_only(asked, models, catalog):
    sample, prediction = asked
    wider = Catalog([*catalog.values(), replace(catalog["g5.xlarge"], name="mystery", gpu="Secret 9000")])
    rows = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    assert set(rows) == set(rows_of(prediction))
    with pytest.raises(InputError, match="mystery"):
        predict(models, wider, sample.profile, sample.anchor, targets=["mystery"])


def test_only_the_requested_targets_are_returned_and_unchanged(asked, models, catalog):
    sample, prediction = asked
    known = {"latency_ms": sample.latency_ms}
    chosen = predict(models, catalog, sample.profile, sample.anchor, targets=["g6.xlarge", "p2.xlarge"], **known)
    assert list(rows_of(chosen)) == [sample.anchor, "p2.xlarge", "g6.xlarge"]
    for name in ("p2.xlarge", "g6.xlarge"):
        assert rows_of(chosen)[name].latency_ms == pytest.approx(rows_of(prediction)[name].latency_ms)
    # The documented ensemble knows the measured instances alone.
    documented = predict(models, catalog, sample.profile, sample.anchor, method="profet")
    assert set(rows_of(documented)) == set(models.instances)
    with pytest.raises(InputError, match=r"g5\.xlarge"):
        predict(models, catalog, sample.profile, sample.anchor, method="profet", targets=["g5.xlarge"])


def test_tf32_is_an_input_and_only_moves_gpus_that_have_it(asked, models, catalog):
    sample, prediction = asked
    without = rows_of(
        predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, precision="fp32")
    )
    rows = rows_of(prediction)
    assert without["p4d.24xlarge"].latency_ms > rows["p4d.24xlarge"].latency_ms
    # The faster step waits more for its host, which wasn't measured.
    assert without["p5.4xlarge"].interval.log_half_width < rows["p5.4xlarge"].interval.log_half_width
    assert values_of(without["p3.2xlarge"]) == values_of(rows["p3.2xlarge"])


def test_models_without_a_transfer_file_are_refused(models, tmp_path, seal, catalog, samples):
    sample = samples[SAMPLE]
    folder = Path(shutil.copytree(models.folder, tmp_path / "models", ignore=shutil.ignore_patterns("transfer.json")))
    with pytest.raises(ArtifactError, match=r"transfer\.json is missing"):
        load_models(folder).verify()
    with pytest.raises(ArtifactError, match=r"transfer\.json is missing"):
        predict(load_models(folder), catalog, sample.profile, sample.anchor)
    seal(folder, {**models.manifest, "coefficients": ["memory.json"]})
    with pytest.raises(ArtifactError, match=r"transfer\.json is missing"):
        predict(load_models(folder), catalog, sample.profile, sample.anchor)


@pytest.mark.parametrize("latency_known", [True, False])
def test_a_profile_is_encoded_once_for_all_targets(models, catalog, samples, monkeypatch, latency_known):
    sample = samples[SAMPLE]
    own = (replace(catalog[name], name=f"my-{name}") for name in ("p3.2xlarge", sample.anchor))
    catalog, encoded, encode = Catalog([*catalog.values(), *own]), [], OperationClasses.encode
    monkeypatch.setattr(OperationClasses, "encode", lambda self, given: encoded.append(given) or encode(self, given))
    latency_ms = sample.latency_ms if latency_known else None
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=latency_ms)
    assert set(rows_of(prediction)) == set(catalog) and len(encoded) == 1


@pytest.fixture(scope="module")
def profile(samples):
    """Recorded on a T4; any GPU's would do."""
    profile = samples[SAMPLE].profile
    return profile.with_meta(gpu=None, precision=None)


def half(row) -> float:
    return row.interval.log_half_width


def test_every_gpu_with_specs_predicts_every_instance(models, catalog, profile):
    profiled = {row.gpu for row in models.transfer.profiled.values()}
    for name in set(models.transfer.gpus) - profiled:
        prediction = predict(models, catalog, profile, name, latency_ms=90.0, trust_latency=True)
        assert {row.instance for row in prediction.predictions} == set(catalog), name
        assert (prediction.anchor, prediction.anchor_latency_ms) == (name, 90.0)
        for row in prediction.predictions:
            # A GPU that nobody rents has no row of its own; a given latency is no offer's.
            assert row.basis is not Basis.GIVEN
            assert 0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf, (name, row.instance)


def test_profiled_instances_and_other_offers_of_their_gpus_are_mapped_back(models, catalog, profile):
    rows = rows_of(predict(models, catalog, profile, "A10", latency_ms=90.0))
    guessed = rows_of(predict(models, catalog, profile, "A10"))
    for name in models.instances:
        assert rows[name].basis is Basis.MAPPED and "A10" in rows[name].note
        assert half(guessed[name]) > half(rows[name])
    for offer, instance in (("gcp/n1-standard-4+1xV100", "p3.2xlarge"), ("g4dn.12xlarge", "g4dn.xlarge")):
        assert rows[offer].basis is Basis.MAPPED
        assert rows[offer].latency_ms == pytest.approx(rows[instance].latency_ms, rel=0.05)
        assert half(rows[offer]) == pytest.approx(half(rows[instance]), abs=0.1)


def test_offers_of_the_anchor_s_gpu_take_its_latency_and_only_the_host_s_uncertainty(models, catalog, profile):
    rows = rows_of(predict(models, catalog, profile, "A10G", latency_ms=90.0))
    own = [row for name, row in rows.items() if catalog[name].gpu == "A10G"]
    assert len(own) == 3
    for row in own:
        assert row.latency_ms == 90.0 and row.basis is Basis.MAPPED
        assert 0 < half(row) < quantile() * 0.26
        assert row.note.startswith("latency of A10G, which has the same GPU")
    guessed = rows_of(predict(models, catalog, profile, "A10G"))
    assert all(half(guessed[row.instance]) > 0.2 for row in own)
    # An offer as anchor has its row, and its GPU's other offers follow it.
    first, *others = predict(models, catalog, profile, "g5.xlarge", latency_ms=90.0).predictions
    assert (first.instance, first.basis, first.latency_ms) == ("g5.xlarge", Basis.GIVEN, 90.0)
    assert [row.latency_ms for row in others if catalog[row.instance].gpu == "A10G"] == [90.0, 90.0]


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
    assert "which has the same GPU" in p3.note and 0 < half(p3) < quantile() * 0.26


def test_offers_of_the_anchor_s_gpu_are_converted_to_another_precision(models, catalog, profile):
    """A latency in TF32 is none in FP32, on the very same GPU too."""
    tf32 = profile.with_meta(precision="tf32")
    asked = {
        wanted: rows_of(predict(models, catalog, tf32, "A100-SXM4-40GB", latency_ms=90.0, precision=wanted))
        for wanted in ("tf32", "fp32")
    }
    in_tf32, in_fp32 = (rows["p4d.24xlarge"] for rows in asked.values())
    assert in_tf32.latency_ms == 90.0
    assert in_fp32.latency_ms > 90 and half(in_fp32) > half(in_tf32)


def test_a_latency_that_the_profile_does_not_explain_widens_all_intervals(models, catalog, profile):
    stated = dataclasses.replace(profile, steps_basis="stated", may_be_cut=False)
    shown_ms = stated.device_busy_us / 1000
    usual, far = (
        rows_of(predict(models, catalog, stated, "A10", latency_ms=factor * shown_ms, trust_latency=True))["p3.2xlarge"]
        for factor in (1.05, 4.0)
    )
    assert far.latency_ms < 2 * usual.latency_ms and half(far) > 1.2 * half(usual)


def test_a_faster_anchor_means_more_work_for_all_others(models, catalog, profile):
    def p3_ms(anchor: str, precision: str | None = None) -> float:
        shown = profile.with_meta(precision=precision)
        latencies_ms = predict(models, catalog, shown, anchor, latency_ms=90.0, trust_latency=True)
        return latencies_ms.latencies_ms["p3.2xlarge"]

    latencies_ms = [p3_ms(name) for name in ("L4", "A10", "A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB")]
    assert latencies_ms == sorted(latencies_ms)
    # The A100 does FP32 slower: what took it as long is less work elsewhere.
    assert p3_ms("A100-SXM4-40GB", "tf32") > 1.2 * p3_ms("A100-SXM4-40GB", "fp32")


@pytest.mark.parametrize("network", [None, "none"])
def test_steps_in_tensorflow_on_an_unprofiled_gpu_are_as_much_faster_elsewhere_as_published(
    models, catalog, samples, network
):
    """Lambda's images/s of ResNet-50 in TF32, on V100 in FP32, each at a batch size that fills the GPU."""
    images_per_s = {"V100-SXM2-16GB": 369, "A100-SXM4-40GB": 928, "H100-SXM5-80GB": 1893, "RTX 3090": 513}
    profile = samples["resnet50-224px-b64-g4dn"].profile
    operations = {name: 0.17 * us for name, us in profile.operations.items()}
    recorded = dataclasses.replace(profile, operations=operations).with_meta(gpu=None, precision="tf32")
    options = {"latency_ms": 94.0, "by_counts": partial(step_by_counts, given=network)}
    rows = predict(models, catalog, recorded, "A100-SXM4-40GB", **options).predictions
    for name in ("V100-SXM2-16GB", "H100-SXM5-80GB", "RTX 3090"):
        (gpu,) = models.transfer.gpus.named(name)
        latency_ms = next(row.latency_ms for row in rows if row.offer.gpu == gpu.name)
        assert latency_ms / 94.0 == pytest.approx(images_per_s["A100-SXM4-40GB"] / images_per_s[name], rel=0.2), name


@pytest.mark.parametrize("network", [None, "none"])
def test_other_kernels_than_todays_count_on_every_gpu(models, catalog, samples, network):
    """TensorFlow 2.5 takes twice as long for depthwise convolutions on the four profiled GPUs."""
    sample, plain = samples["mobilenetv2-224px-b32-p2"], samples["resnet50-224px-b64-g4dn"]

    def predicted(sample, **meta):
        known = {"latency_ms": sample.latency_ms, "by_counts": partial(step_by_counts, given=network)}
        return predict(models, catalog, sample.profile.with_meta(**meta), sample.anchor, **known)

    in_tensorflow, in_torch = predicted(sample), predicted(sample, framework="PyTorch 2.1")
    assert in_tensorflow.latencies_ms["gcp/n1-standard-4+1xP100"] > in_tensorflow.latencies_ms["p3.2xlarge"]
    assert in_tensorflow.latencies_ms["g5.xlarge"] > in_torch.latencies_ms["g5.xlarge"]
    (note,) = (note for note in in_tensorflow.warnings if note.code is Code.PROFILED_PROGRAM)
    assert 1.6 < note.values["times"] < 2.8
    for other in (in_torch, predicted(plain)):
        assert Code.PROFILED_PROGRAM not in codes(other)


def test_many_at_once_are_each_as_alone(models, catalog, samples):
    chosen = [one for one in samples.values() if one.anchor == "g4dn.xlarge"]
    profiles = [one.profile.with_meta(gpu=None) for one in chosen]
    latencies_ms = [one.latency_ms for one in chosen]
    together = predict_many(models, catalog, profiles, "A10", latencies_ms=latencies_ms, trust_latency=True)
    for profile, latency_ms, prediction in zip(profiles, latencies_ms, together, strict=True):
        alone = predict(models, catalog, profile, "A10", latency_ms=latency_ms, trust_latency=True)
        assert prediction.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-5)
        assert [half(row) for row in prediction.predictions] == pytest.approx([half(row) for row in alone.predictions])


def test_the_documented_ensemble_starts_from_the_four_alone(models, catalog, profile):
    for anchor in ("A10G", "g5.xlarge", "gcp/n1-standard-4+1xV100", "NVIDIA L4"):
        with pytest.raises(InputError, match=r"supports only the anchors g3s"):
            predict(models, catalog, profile, anchor, method="profet")
