"""What AMP and TF32 may not do to an answer, on every GPU and network of the samples."""

from itertools import product

import pytest
from msgspec.structs import replace

from profet_core import Catalog, load_catalog, read_profile
from profet_core.catalog.gpus import HALF, PRECISIONS, has_tensor_cores, runs_as
from profet_core.errors import Code
from profet_core.layers.estimate import estimate
from profet_core.layers.networks import counts_of
from profet_core.layers.steps import NetworkStep
from profet_core.prediction.predict import predict
from tests.made.step_times import values_of

IDLE_BF16 = "data/real_profiles/pytorch/resnet18-bf16-5steps-ddp-mi300x.json.gz"


def answers(models, catalog, sample, precision):
    prediction = predict(
        models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, precision=precision
    )
    return {row.instance: row for row in prediction.predictions if row.latency_ms is not None}


def test_amp_is_between_its_tensor_core_bound_and_fp32(models, catalog, samples):
    """On tensor cores never slower than FP32 or TF32, never faster than its peak; elsewhere at FP32 speed."""
    for sample in samples.values():
        fp32, tf32, amp = (answers(models, catalog, sample, precision) for precision in ("fp32", "tf32", "amp"))
        for name, row in amp.items():
            gpu = models.transfer.gpus.find(row.offer.gpu, row.offer.gpu_memory_gib)
            speedup = tf32[name].latency_ms / row.latency_ms
            if not has_tensor_cores(gpu):
                assert row.latency_ms == pytest.approx(tf32[name].latency_ms)
                continue
            assert row.latency_ms <= tf32[name].latency_ms * (1 + 1e-9) <= fp32[name].latency_ms * (1 + 2e-9)
            assert speedup <= gpu.fp16_tensor_dense_tflops / gpu.fp32_tflops + 1e-9


def test_a_machine_without_a_known_host_launches_as_its_gpu_s_typical_one(models, catalog, samples):
    """Not as the anchor's host, on which B200's launches would bound this step and AMP would gain nothing."""
    sample = samples["resnet50-224px-b64-g4dn"]
    tf32, amp = (answers(models, catalog, sample, precision) for precision in ("tf32", "amp"))
    gains = {
        bool(row.offer.host): tf32[name].latency_ms / row.latency_ms
        for name, row in amp.items()
        if row.offer.gpu == "B200"
    }
    assert gains[False] == pytest.approx(gains[True], rel=0.1) and gains[False] > 1.02


def test_fp32_of_measured_gpus_is_the_prediction_to_the_last_digit(models, catalog, samples):
    """They have no TF32."""
    for sample in samples.values():
        fp32, default = (answers(models, catalog, sample, precision) for precision in ("fp32", "as profiled"))
        for name in {*models.instances} - {sample.anchor}:
            if sample.profile.meta.precision != "amp":
                assert values_of(fp32[name]) == values_of(default[name])


def test_a_profile_in_amp_answers_every_precision_on_every_gpu(models, catalog, amp_sample):
    fp32, amp, profiled = (answers(models, catalog, amp_sample, each) for each in ("fp32", "amp", "as profiled"))
    assert amp.keys() == fp32.keys() == profiled.keys()
    for name, row in amp.items():
        assert row.latency_ms == profiled[name].latency_ms
        if name == amp_sample.anchor:
            assert (row.basis, row.latency_ms) == ("given", amp_sample.latency_ms)
            continue
        gpu = models.transfer.gpus.find(row.offer.gpu, row.offer.gpu_memory_gib)
        assert row.interval.log_half_width >= (0 if gpu.name == "Tesla V100-SXM2-16GB" else 0.05)
        if has_tensor_cores(gpu) and gpu.tf32_tensor_dense_tflops is None:
            assert row.latency_ms < fp32[name].latency_ms


@pytest.mark.parametrize("sample", ["sample_traces/resnet50-224px-b64-p3-amp.json", IDLE_BF16])
def test_a_profile_in_half_precision_is_no_slower_in_it(models, catalog, repository, sample):
    """Even if its GPU is busy for a tenth of the step, so that the recorded step gained hardly anything."""
    profile = read_profile((repository / sample).read_bytes(), sample)
    anchor = "MI300X" if sample == IDLE_BF16 else "p3.2xlarge"
    bf16, amp, tf32, fp32 = (
        predict(models, catalog, profile, anchor, latency_ms=profile.meta.step_latency_ms, precision=precision).table
        for precision in ("bf16", "amp", "tf32", "fp32")
    )
    gpus = [target.gpu for target in tf32.targets]
    assert (amp.latency_ms <= tf32.latency_ms * (1 + 1e-9)).all() and (tf32.latency_ms <= fp32.latency_ms * 1.002).all()
    assert (bf16.latency_ms <= tf32.latency_ms * (1 + 1e-9)).all()
    gains = {gpu.name: step for gpu, step in zip(gpus, tf32.latency_ms / amp.latency_ms, strict=True)}
    assert gains["A100-SXM4-80GB"] > 1.2 and gains["RTX A6000"] > 1.2 and gains["Tesla M60"] == pytest.approx(1)


def test_there_and_back_is_the_recorded_step_on_every_machine_of_its_gpu(models, catalog, amp_sample):
    amp = answers(models, catalog, amp_sample, "amp")
    same = [row for row in amp.values() if row.offer.gpu == "Tesla V100-SXM2-16GB" and row.basis != "given"]
    assert len(same) > 5
    for row in same:
        assert row.latency_ms == pytest.approx(amp_sample.latency_ms, rel=0.01)
        assert row.interval.low_ms < amp_sample.latency_ms < row.interval.high_ms


def test_bf16_of_a_gpu_without_it_is_not_the_recorded_amp(models, catalog, amp_sample):
    bf16, fp32 = (answers(models, catalog, amp_sample, precision)["p3.2xlarge"] for precision in ("bf16", "fp32"))
    assert bf16.basis != "given" and bf16.latency_ms == pytest.approx(fp32.latency_ms)
    assert bf16.interval.log_half_width == pytest.approx(fp32.interval.log_half_width) and bf16.log_sd > 0.1


@pytest.mark.parametrize("code", ["plain", "channels-last"])
@pytest.mark.parametrize("anchor", ["g4dn.xlarge", "Tesla T4", "A10", "H100-SXM5-80GB"])
def test_each_gpu_runs_each_precision_as_the_one_rule_says_with_a_profile_and_without(models, samples, anchor, code):
    gpus = models.transfer.gpus
    offer = load_catalog()["g4dn.xlarge"]
    one_each = [
        replace(offer, name=f"own/{one.name}", gpu=one.name, gpu_memory_gib=one.memory_gib) for one in gpus.values()
    ]
    catalog, sample = Catalog([*one_each, offer]), samples["resnet50-224px-b64-g4dn"]
    step = NetworkStep(counts_of("resnet50"), 64, training_code=code)
    # A profile whose GPU is not stated is of whatever the anchor is.
    profile = sample.profile.with_meta(gpu=None)
    known = {"latency_ms": sample.latency_ms, "trust_latency": True, "training_code": code}
    predicted, estimated = {}, {}
    for precision in PRECISIONS:
        offers = predict(models, catalog, profile, anchor, precision=precision, **known).predictions
        predicted[precision] = {row.instance: row for row in offers}
        offers = estimate(models, catalog, replace(step, precision=precision)).rows
        estimated[precision] = {row.instance: row for row in offers}
    seen = set()
    for answer in (predicted, estimated):
        for precision, (name, gpu) in product(PRECISIONS, gpus.items()):
            row, (runs, note) = answer[precision][f"own/{name}"], runs_as(gpu, precision)
            same, place = answer[runs][f"own/{name}"], (name, precision)
            seen.add((runs, note and note.code))
            assert row.latency_ms == pytest.approx(same.latency_ms), place
            says = {one.code for one in row.notes} & {Code.NO_BF16, Code.NO_TENSOR_CORES}
            assert says == ({note.code} if note else set()), place
            if note is None or note.code is Code.NO_BF16:
                assert (row.interval is None) == (same.interval is None), place
                assert row.interval is None or row.interval.high_ms == pytest.approx(same.interval.high_ms), place
            else:
                assert row.interval.high_ms > same.latency_ms * 2, place
            if note is None and precision in HALF:
                assert row.latency_ms < answer["fp32"][f"own/{name}"].latency_ms, place
    assert seen == {("fp32", None), ("tf32", None), ("amp", None), ("bf16", None)} | {
        ("fp32", Code.NO_BF16),
        ("fp32", Code.NO_TENSOR_CORES),
    }


def test_fp32_from_a_default_profile_of_a_gpu_with_tf32_is_not_its_own_latency(models, catalog, samples):
    """The anchor ran in TF32: its FP32 is inferred, with an interval."""
    profile = samples["resnet50-224px-b64-g4dn"].profile
    prediction = predict(
        models, catalog, profile.__class__(profile.operations, steps_basis="stated"), "RTX A6000", latency_ms=250.0,
        precision="fp32", trust_latency=True,
    )  # fmt: skip
    own = [row for row in prediction.predictions if row.offer.gpu == "RTX A6000"]
    assert own and all(row.interval.log_half_width > 0.15 and row.basis != "given" for row in own)
