"""What a prediction can start from, what each operation counts as, and what a measurement on a target corrects."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

import pytest

from profet_core import InputError, Profile, ProfileMeta, predict
from profet_core.answers.context import Context
from profet_core.answers.predict import placements, predicted_training
from profet_core.errors import Code
from profet_core.latency import Basis
from profet_core.prediction.predict import share_transferred
from profet_core.prediction.targets import anchor_gpu, anchor_names, find_anchor, recorded_on, unknown_gpu
from profet_core.questions import AdviseQuestion, ask
from tests.codes import codes

#: What drivers call GPUs otherwise than NVIDIA and their name -> full names of the specs.
DRIVER_NAMES = {
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H100 PCIe": "H100-PCIE-80GB",
    "NVIDIA H100 NVL": "H100-NVL-94GB",
    "NVIDIA H200": "H200-SXM-141GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIE-80GB",
    "Tesla P100-SXM2-16GB": "Tesla P100-SXM2-16GB",
}
PROFILED = {
    "Tesla M60": "g3s.xlarge",
    "Tesla T4": "g4dn.xlarge",
    "Tesla K80": "p2.xlarge",
    "Tesla V100-SXM2-16GB": "p3.2xlarge",
}
#: As fast as the profiled one, with more memory.
TWINS = {"Tesla V100-SXM2-32GB": "Tesla V100-SXM2-16GB"}


def test_every_gpu_with_specs_is_an_anchor_by_its_names(models, catalog):
    for name, gpu in models.transfer.gpus.items():
        anchor, profiled = find_anchor(models, catalog, name), PROFILED.get(TWINS.get(name, name))
        assert anchor.name == name
        assert (anchor.instance, anchor.gpu) == ((profiled, None) if profiled else ("p3.2xlarge", gpu))
        assert anchor_gpu(models, anchor).name == TWINS.get(name, name)
        assert recorded_on(models, name) == (profiled or name)
        assert unknown_gpu(models, name) == ""
    others = models.transfer.gpus.keys() - {*PROFILED, *TWINS}
    names = {f"NVIDIA {full}": full for full in others} | DRIVER_NAMES
    for driver, full in names.items():
        assert find_anchor(models, catalog, driver).gpu.name == full
        assert recorded_on(models, driver) == full
        assert unknown_gpu(models, driver) == ""
    typical = dict.fromkeys(PROFILED, "skylake") | {"Tesla T4": "cascade-lake"}
    for gpu, instance in PROFILED.items():
        for name in (gpu, f"NVIDIA {gpu}", gpu.removeprefix("Tesla ").partition("-")[0]):
            anchor = find_anchor(models, catalog, name)
            assert (anchor.instance, anchor.gpu, anchor.host.name) == (instance, None, typical[gpu])
        assert find_anchor(models, catalog, instance).host.name in ("broadwell", "cascade-lake")


@pytest.mark.parametrize(
    ("offer", "instance", "gpu", "host"),
    [
        ("gcp/n1-standard-4+1xV100", "p3.2xlarge", None, "skylake"),
        ("gcp/n1-standard-4+1xP100", "p3.2xlarge", "Tesla P100-PCIE-16GB", "skylake"),
        ("g5.xlarge", "p3.2xlarge", "A10G", "rome"),
        ("azure/Standard_NC6s_v3", "p3.2xlarge", "Tesla V100-PCIE-16GB", "broadwell"),
    ],
)
def test_an_offer_is_an_anchor_in_its_own_host(models, catalog, offer, instance, gpu, host):
    anchor = find_anchor(models, catalog, offer)
    assert (anchor.name, anchor.instance, anchor.host.name) == (offer, instance, host)
    assert (anchor.gpu and anchor.gpu.name) == gpu
    for name in catalog:
        assert find_anchor(models, catalog, name).name == name


@pytest.mark.parametrize(
    ("names", "of_profile", "of_anchor"),
    [
        (
            ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GRID V100D-8Q", "GRID A100X-40C", "NVIDIA A10-24Q"),
            "a GPU slice",
            "a GPU slice",
        ),
        (
            ("NVIDIA GeForce RTX 3070 Laptop GPU", "Quadro RTX 4000 with Max-Q Design", "GeForce RTX 3080 Mobile"),
            "a laptop GPU",
            "a laptop GPU",
        ),
        (("AMD Instinct MI355X", "NVIDIA T4G", "NVIDIA GB200", ""), "add it as a custom GPU", "Unknown anchor"),
    ],
)
def test_gpu_slices_laptop_gpus_and_gpus_without_specs_are_no_anchors(models, catalog, names, of_profile, of_anchor):
    for name in names:
        line = unknown_gpu(models, name)
        assert of_profile in line and line.isprintable()
        assert recorded_on(models, name) is None
        with pytest.raises(InputError, match=of_anchor) as error:
            find_anchor(models, catalog, name)
        assert str(error.value).isprintable()


def test_what_can_be_chosen_is_listed_and_a_model_of_several_asks_which(models, catalog):
    with pytest.raises(InputError, match=r"'A100' may be any of A100-SXM4-40GB, A100-SXM4-80GB.*: give the full name"):
        find_anchor(models, catalog, "A100")
    assert unknown_gpu(models, "A100") == "", "whoever asks says which"
    assert recorded_on(models, "A100") is None is recorded_on(models, None)
    names = anchor_names(models)
    assert names[:4] == models.instances
    assert set(names[4:]) == set(models.transfer.gpus) - {*PROFILED, *TWINS}
    assert list(names[4:]) == sorted(names[4:], key=str.lower)


def test_known_similar_and_unknown_operations(models):
    by_operation = {
        row.operation: row
        for row in placements(
            models,
            Profile(
                {
                    "Device_Conv2D": 600.0,
                    "Device_Conv3D": 300.0,
                    "Device_" + "Q" * 40: 100.0,
                    "Device_IDLE": 50.0,
                    "Device_TopKV2": 0.0,
                    "Device_NcclAllReduce": 0.0,
                    "Host_Quux": 0.0,
                    "Host_DecodeJpeg": 0.0,
                    "Host_IDLE": 9e5,
                }
            ),
        )
    }
    known, similar, unknown = (by_operation[f"Device_{name}"] for name in ("Conv2D", "Conv3D", "Q" * 40))
    assert known.class_known and known.cluster_known
    assert "Conv2D" in known.cluster.removeprefix("Device_").split("&")
    assert (similar.class_known, similar.operation_class) == (False, known.operation_class)
    assert (unknown.operation_class, unknown.cluster) == (None, None)
    assert (known.kind, similar.kind, unknown.kind) == ("convolution", "convolution", None)
    assert (known.is_unseen_kind, similar.is_unseen_kind, unknown.is_unseen_kind) == (False, False, True)
    assert (
        by_operation["Device_TopKV2"].is_unseen_kind and by_operation["Device_TopKV2"].operation_class == "elementwise"
    )
    communication = by_operation["Device_NcclAllReduce"]
    assert (communication.kind, communication.operation_class) == ("communication", None)
    assert [name for name, row in by_operation.items() if row.set_aside] == ["Device_NcclAllReduce"]
    assert (by_operation["Host_DecodeJpeg"].kind, by_operation["Host_DecodeJpeg"].operation_class) == (
        "input pipeline",
        None,
    )
    assert not by_operation["Host_DecodeJpeg"].is_unseen_kind
    assert [row.share for row in (known, similar, unknown)] == pytest.approx([0.6, 0.3, 0.1])
    assert by_operation["Device_IDLE"].idle and by_operation["Device_IDLE"].share is None
    assert not by_operation["Host_Quux"].on_device and by_operation["Host_Quux"].operation_class is None


def test_the_longest_comes_first_and_nothing_is_lost(models, samples):
    for sample in samples.values():
        rows = placements(models, sample.profile)
        assert {row.operation: row.time_us for row in rows} == dict(sample.profile.operations)
        assert [row.time_us for row in rows] == sorted((row.time_us for row in rows), reverse=True)
        assert sum(row.share for row in rows if row.share is not None) == pytest.approx(1.0)


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
    assert share_transferred(SMALL, other) == pytest.approx(weight)
    assert share_transferred(other, SMALL) == pytest.approx(weight)


@pytest.fixture(scope="module")
def correct(models, catalog, samples):
    """Predict a sample, with latencies that were measured on targets."""

    def predicted(measured_ms=MappingProxyType({}), name="resnet50-128px-b64-g4dn", meta=None):
        sample = samples[name]
        profile = sample.profile if meta is None else replace(sample.profile, meta=meta)
        return predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, measured=measured_ms)

    return predicted


def test_a_measured_latency_is_the_answer_there_moves_its_gpu_elsewhere_and_is_questioned_if_far_off(correct):
    before = {row.instance: row for row in correct().predictions}
    was = before["p3.2xlarge"]
    after = {row.instance: row for row in correct({"p3.2xlarge": 2 * was.latency_ms}).predictions}
    given = after["p3.2xlarge"]
    assert (given.latency_ms, given.basis, given.interval) == (2 * was.latency_ms, Basis.GIVEN, None)
    assert given.cost_per_1000_steps_usd == pytest.approx(2 * was.cost_per_1000_steps_usd)
    others = {name for name, row in after.items() if row.offer.gpu == was.offer.gpu} - {"p3.2xlarge"}
    assert others
    for name in after.keys() - {"p3.2xlarge"}:
        factor = 2**0.9 if name in others else 1
        assert after[name].latency_ms == pytest.approx(factor * before[name].latency_ms), name
        assert after[name].basis is before[name].basis
    for name in others:
        assert after[name].interval.high_ms == pytest.approx(2**0.9 * before[name].interval.high_ms)
    # It is the answer even if the profile tells no sizes.
    assert correct({"p3.2xlarge": 123.456}, meta=ProfileMeta()).latencies_ms["p3.2xlarge"] == 123.456
    for times, doubted in ((2.9, False), (3.1, True), (0.3, True), (0.4, False), (1.0, False)):
        corrected = correct({"p3.2xlarge": times * was.latency_ms})
        assert (Code.MEASURED_FAR in codes(corrected)) is doubted
    assert corrected.latencies_ms["p3.2xlarge"] == pytest.approx(was.latency_ms)


A100, A100_ELSEWHERE, V100, V100_ELSEWHERE = "p4de.24xlarge", "gcp/a2-ultragpu-1g", "p3.2xlarge", "verda/1V100.6V"


@pytest.mark.parametrize(
    ("there", "elsewhere", "measured_ms"), [(A100, A100_ELSEWHERE, 25.0), (V100, V100_ELSEWHERE, 60.0)]
)
@pytest.mark.parametrize("at_batch", [32, 128])
def test_a_measured_latency_corrects_other_sizes_on_every_host_of_its_gpu(
    models, catalog, samples, there, elsewhere, measured_ms, at_batch
):
    def steps(**more):
        sample = samples["resnet50-128px-b64-g4dn"]
        asked = {"profile": sample.profile, "anchor": sample.anchor, "latency_ms": sample.latency_ms, "images": None}
        context = Context(models, catalog, models.transfer.gpus)
        answer = predicted_training(context, ask(AdviseQuestion, {**asked, **more}))
        return {row.instance: row for row in answer.step_times}

    measured = {"measured": {there: measured_ms}}
    ratio = measured_ms / steps()[there].latency_ms
    assert steps(**measured)[there].latency_ms == measured_ms
    before, after = steps(at_batch=at_batch), steps(at_batch=at_batch, **measured)
    assert after[there].basis is Basis.RESIZED and after[there].interval is not None
    for name, factor in ((there, ratio), (elsewhere, ratio**0.9)):
        # A host's part of a step doesn't scale with its size.
        assert after[name].latency_ms / before[name].latency_ms == pytest.approx(factor, rel=0.05), name


def test_a_latency_measured_at_the_second_profile_s_size_is_the_answer_there(models, catalog, samples):
    first, second = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    asked = {"profile": first.profile, "anchor": first.anchor, "images": None, "second": second.profile}
    context = Context(models, catalog, models.transfer.gpus)

    def step(at_batch, name=A100, **more):
        answer = predicted_training(context, ask(AdviseQuestion, {**asked, "at_batch": at_batch, **more}))
        return next(row for row in answer.step_times if row.instance == name)

    at_second = {"measured": {A100: 120.0}, "measured_trace": second.profile}
    assert (step(256, **at_second).latency_ms, step(256, **at_second).basis) == (120.0, Basis.GIVEN)
    assert step(16, **at_second).basis is Basis.TRANSFERRED
    at_first = {"measured": {A100: 45.0}}
    assert (step(16, **at_first).latency_ms, step(16, **at_first).basis) == (45.0, Basis.GIVEN)
    # It is slower than predicted, at the other's size too.
    assert step(16, **at_second).latency_ms > 1.1 * step(16).latency_ms
    assert step(256, **at_first).latency_ms > 1.1 * step(256).latency_ms


def test_a_corrected_latency_ends_what_was_known_of_its_ratio_to_another(correct):
    name = "alexnet-64px-b128-p2"
    for corrected, kept in (("g3s.xlarge", True), ("g5.xlarge", False)):
        measured_ms = {corrected: 1.1 * correct(name=name).latencies_ms[corrected]}
        rows = {row.instance: row for row in correct(measured_ms, name).predictions}
        table, number = rows["g5.xlarge"].table, rows["g5.xlarge"].number
        assert table.relative_to[number] == ("p2.xlarge" if kept else "")


@pytest.mark.parametrize(
    "measured_ms", [{"p9": 1.0}, {"g4dn.xlarge": 70.0}, {"p2.xlarge": 0.0}, {"p2.xlarge": math.nan}]
)
def test_an_unpredicted_target_the_anchor_or_no_latency_is_refused(correct, measured_ms):
    with pytest.raises(InputError):
        correct(measured_ms)
