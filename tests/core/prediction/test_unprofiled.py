"""Rows for instances whose GPU nobody profiled: which there are, what they rest on, and what the rest of a row says."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from profet_core import ArtifactError, InputError, load_models, predict, predict_many
from profet_core.catalog import Catalog
from profet_core.cost import cost_usd
from profet_core.latency import Basis
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import OperationClasses, load_operation_classes
from profet_core.transfer.estimate import estimate_gpus
from profet_core.transfer.hosts import host_named
from profet_core.transfer.known import AnchorSteps, Latencies
from profet_core.transfer.parts import StepParts, step_parts

SAMPLE = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def asked(models, catalog, samples):
    sample = samples[SAMPLE]
    return sample, predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)


def parts_of(sample, latency_ms: np.ndarray | None) -> StepParts:
    batch = ProfileBatch([sample.profile], sample.anchor, latency_ms)
    return step_parts(load_operation_classes(), batch.inputs)


def rows_of(prediction) -> dict:
    return {row.instance: row for row in prediction.predictions}


def test_every_instance_of_the_catalogue_has_a_row_and_says_what_it_rests_on(asked, catalog, models):
    _, prediction = asked
    basis = {name: row.basis for name, row in rows_of(prediction).items()}
    assert set(basis) == set(catalog)
    gpus = {name: catalog[name].gpu for name in catalog}
    profiled = {row.gpu for row in models.transfer.step.instances.values()}
    derived = {"A10G", "Tesla P100-PCIE-16GB"}
    assert {name for name, kind in basis.items() if kind.is_profiled} == {n for n in gpus if gpus[n] in profiled}
    assert {name for name, kind in basis.items() if kind is Basis.DERIVED} == {n for n in gpus if gpus[n] in derived}
    assert {name for name, kind in basis.items() if kind is Basis.TRANSFERRED} == {
        name for name in gpus if gpus[name] not in profiled | derived
    }
    assert basis["gcp/n1-standard-4+1xV100"] is Basis.MEASURED
    assert basis["azure/Standard_NC6s_v3"] is Basis.TRANSFERRED, "another V100 than the one that was profiled"


def test_the_rows_are_what_the_transfer_says_of_the_measured_ones(asked, models, catalog):
    sample, prediction = asked
    rows = rows_of(prediction)
    known = {
        name: Latencies(np.array([rows[name].latency_ms]), np.array([rows[name].interval.log_half_width]))
        for name in models.instances
        if name != sample.anchor
    }
    gpu, anchor_ms = models.transfer.gpus.find("L40S"), np.array([sample.latency_ms])
    recorded = AnchorSteps(sample.anchor, parts_of(sample, anchor_ms), anchor_ms)
    placed = gpu, host_named(catalog["g6e.xlarge"].host)
    found = estimate_gpus(models.transfer, recorded, known, [placed], tf32=True)[placed]
    row = rows["g6e.xlarge"]
    assert row.latency_ms == found.latencies.latency_ms[0]
    assert row.interval.log_half_width == pytest.approx(found.latencies.log_half_width[0])
    assert row.note == found.note
    assert row.cost_per_1000_steps_usd == pytest.approx(
        cost_usd(1000 * row.latency_ms, catalog["g6e.xlarge"].usd_per_hour)
    )


def test_a_row_keeps_the_interval_of_its_ratio_to_what_it_was_derived_from(models, catalog, samples):
    sample = samples["alexnet-64px-b128-p2"]
    rows = rows_of(predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    law = models.transfer.derived["A10G"]
    t4, v100 = (rows[name].interval.log_half_width for name in ("g4dn.xlarge", "p3.2xlarge"))
    own = 1.645 * math.hypot(law.log_sd, law.bias_log_sd)
    g5 = rows["g5.xlarge"]
    assert g5.relative.instance == "g4dn.xlarge"
    assert g5.relative.log_half_width == pytest.approx(
        math.hypot((law.by_ratio - law.by_size) * t4 + law.by_ratio * v100, own)
    )
    independent = math.hypot(g5.interval.log_half_width, t4)
    assert g5.relative.log_half_width < independent
    l40s = rows["g6e.xlarge"]
    assert l40s.relative.instance == sample.anchor
    assert l40s.relative.log_half_width == pytest.approx(l40s.interval.log_half_width), "a given anchor"
    for name in models.instances:
        assert rows[name].relative is None


def test_a_transferred_row_is_less_sure_than_any_measured_one(asked):
    _, prediction = asked
    width = {row.instance: row.interval.high_ms / row.interval.low_ms for row in prediction.predictions if row.interval}
    measured = [width[row.instance] for row in prediction.predictions if row.members]
    assert min(width[row.instance] for row in prediction.predictions if row.basis == "transferred") > max(measured)
    # L4 has no published point of its own.
    assert width["g6.xlarge"] > width["p4d.24xlarge"]


def test_a_node_s_price_is_never_divided(asked, catalog):
    _, prediction = asked
    one, node = rows_of(prediction)["p5.4xlarge"], rows_of(prediction)["p5.48xlarge"]
    assert one.latency_ms == node.latency_ms
    assert node.cost_per_1000_steps_usd / one.cost_per_1000_steps_usd == pytest.approx(
        catalog["p5.48xlarge"].usd_per_hour / catalog["p5.4xlarge"].usd_per_hour
    )
    assert node.note.endswith("latency of one GPU, price of the whole node of 8")
    assert "node" not in one.note


def test_an_own_instance_with_a_profiled_gpu_takes_that_latency(asked, models, catalog):
    sample, prediction = asked
    own = replace(catalog["p3.2xlarge"], name="my-v100", status="available")
    wider = Catalog([*catalog.values(), own])
    rows = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    theirs = rows_of(prediction)["p3.2xlarge"]
    assert rows["my-v100"].latency_ms == theirs.latency_ms
    # Copy, start and launches may take a host longer or shorter.
    host = rows["my-v100"].relative.log_half_width
    assert rows["my-v100"].relative.instance == "p3.2xlarge" and 0 < host < 1.645 * 0.13
    width = math.exp(math.hypot(theirs.interval.log_half_width, host))
    assert (rows["my-v100"].interval.low_ms, rows["my-v100"].interval.high_ms) == pytest.approx(
        (theirs.latency_ms / width, theirs.latency_ms * width)
    )
    assert rows["my-v100"].basis == "measured"
    assert "p3.2xlarge" in rows["my-v100"].note


def test_an_own_instance_with_the_anchor_s_gpu_has_an_interval_too(asked, models, catalog):
    """Without one advice could say of nothing how sure it is."""
    sample, _ = asked
    own = replace(catalog[sample.anchor], name="my-t4")
    wider = Catalog([*catalog.values(), own])
    rows = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    step = models.transfer.step
    anchor_ms = np.array([sample.latency_ms])
    parts = parts_of(sample, anchor_ms)
    there = host_named(own.host)
    fixed_ms = step.fixed_ms(parts, sample.anchor, there)[0]
    beside_gpu = max(fixed_ms, there.launch * step.floor_ms(parts, sample.anchor, anchor_ms)[0])
    gpu_ms = sample.latency_ms - fixed_ms
    host = 1.645 * there.log_sd * beside_gpu / (gpu_ms + beside_gpu)
    assert rows["my-t4"].latency_ms == sample.latency_ms
    assert rows["my-t4"].interval.high_ms == pytest.approx(sample.latency_ms * math.exp(host))
    assert rows["my-t4"].interval.low_ms == pytest.approx(sample.latency_ms / math.exp(host))
    unknown = rows_of(predict(models, wider, sample.profile, sample.anchor))["my-t4"]
    own_ms = step.own_latency_ms(parts_of(sample, None), sample.anchor)[0]
    assert unknown.latency_ms == pytest.approx(own_ms)
    assert unknown.interval.log_half_width > rows["my-t4"].interval.log_half_width
    assert unknown.note == f"{rows['my-t4'].note}; by the profile, as none was given"


def test_a_gpu_without_a_data_sheet_has_a_price_only(asked, models, catalog):
    sample, prediction = asked
    own = replace(catalog["g5.xlarge"], name="mystery", gpu="Secret 9000")
    wider = Catalog([*catalog.values(), own])
    rows = rows_of(predict(models, wider, sample.profile, sample.anchor, latency_ms=sample.latency_ms))
    assert set(rows) == set(rows_of(prediction))
    with pytest.raises(InputError, match="mystery"):
        predict(models, wider, sample.profile, sample.anchor, targets=["mystery"])


def test_only_what_was_asked_for_is_returned_and_it_is_the_same(asked, models, catalog):
    sample, prediction = asked
    few = predict(
        models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, targets=["g6.xlarge", "p2.xlarge"]
    )
    assert list(rows_of(few)) == [sample.anchor, "p2.xlarge", "g6.xlarge"]
    for name in ("p2.xlarge", "g6.xlarge"):
        assert rows_of(few)[name].latency_ms == pytest.approx(rows_of(prediction)[name].latency_ms)


def test_many_profiles_at_once_are_each_as_alone(models, catalog, samples):
    chosen = [sample for sample in samples.values() if sample.anchor == "g4dn.xlarge"][:3]
    together = predict_many(models, catalog, [sample.profile for sample in chosen], "g4dn.xlarge")
    for sample, prediction in zip(chosen, together, strict=True):
        alone = predict(models, catalog, sample.profile, "g4dn.xlarge")
        assert prediction.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-5)


def test_tf32_is_an_input_and_only_moves_gpus_that_have_it(asked, models, catalog):
    sample, prediction = asked
    without = rows_of(predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, tf32=False))
    rows = rows_of(prediction)
    assert without["p4d.24xlarge"].latency_ms > rows["p4d.24xlarge"].latency_ms
    assert without["p4d.24xlarge"].interval.log_half_width > rows["p4d.24xlarge"].interval.log_half_width
    assert without["p3.2xlarge"] == rows["p3.2xlarge"]


def test_the_documented_ensemble_stays_what_it_was(models, catalog, samples):
    sample = samples[SAMPLE]
    prediction = predict(models, catalog, sample.profile, sample.anchor, method="profet")
    assert set(rows_of(prediction)) == set(models.instances)
    with pytest.raises(InputError, match=r"g5\.xlarge"):
        predict(models, catalog, sample.profile, sample.anchor, method="profet", targets=["g5.xlarge"])


@pytest.fixture
def without_transfer(models, tmp_path):
    """The shipped models without `transfer.json`, which their manifest lists."""
    return Path(shutil.copytree(models.folder, tmp_path / "models", ignore=shutil.ignore_patterns("transfer.json")))


def test_a_missing_transfer_is_said(without_transfer, catalog, samples):
    sample = samples[SAMPLE]
    for asked in (
        lambda models: predict(models, catalog, sample.profile, sample.anchor),
        lambda models: models.verify(),
    ):
        with pytest.raises(ArtifactError, match=r"transfer\.json is missing: get it again"):
            asked(load_models(without_transfer))


def test_models_that_never_had_a_transfer_answer_for_the_measured_instances(
    models, without_transfer, seal, catalog, samples
):
    seal(without_transfer, {**models.manifest, "coefficients": ["memory.json"]})
    sample = samples[SAMPLE]
    prediction = predict(load_models(without_transfer), catalog, sample.profile, sample.anchor)
    assert set(rows_of(prediction)) == set(models.instances)


@pytest.mark.parametrize("own_gpu", [False, True], ids=["catalogue", "with an own instance of a profiled GPU"])
@pytest.mark.parametrize("latency_known", [True, False])
def test_a_profile_is_encoded_once_for_all_targets(models, catalog, samples, monkeypatch, own_gpu, latency_known):
    sample = samples[SAMPLE]
    if own_gpu:
        own = (replace(catalog[name], name=f"my-{name}") for name in ("p3.2xlarge", sample.anchor))
        catalog = Catalog([*catalog.values(), *own])
    encoded = []
    encode = OperationClasses.encode
    monkeypatch.setattr(OperationClasses, "encode", lambda self, given: encoded.append(given) or encode(self, given))
    latency_ms = sample.latency_ms if latency_known else None
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=latency_ms)
    assert set(rows_of(prediction)) == set(catalog)
    assert len(encoded) == 1
