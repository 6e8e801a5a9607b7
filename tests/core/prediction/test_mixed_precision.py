"""Predictions in a precision."""

import math
from dataclasses import replace

import pytest

from profet_core.errors import Code, InputError, NoPredictionError
from profet_core.prediction.mixed_precision import OTHER_KERNELS_LOG_SD
from profet_core.prediction.predict import predict
from tests.codes import codes
from tests.made.step_times import values_of

TENSOR, PLAIN = ("g4dn.xlarge", "p3.2xlarge", "p4d.24xlarge", "g6.xlarge"), ("g3s.xlarge", "p2.xlarge")


@pytest.fixture(scope="module")
def sample(samples):
    return samples["resnet50-224px-b64-g4dn"]


def rows_of(prediction):
    return {row.instance: row for row in prediction.predictions}


def asked(models, catalog, sample, precision, recorded=None, **more):
    profile = sample.profile.with_meta(precision=recorded)
    known = {"latency_ms": sample.latency_ms, **more}
    return predict(models, catalog, profile, sample.anchor, precision=precision, **known)


def test_fp32_is_without_tf32_on_every_gpu_that_gains_by_it(models, catalog, sample):
    tf32, fp32 = (rows_of(asked(models, catalog, sample, precision)) for precision in ("tf32", "fp32"))
    slower = {row.offer.gpu for name, row in fp32.items() if row.latency_ms > 1.02 * tf32[name].latency_ms}
    assert slower >= {"A40", "L40S", "RTX A6000", "A100-SXM4-40GB", "H100-SXM5-80GB", "L4"}
    assert all(row.latency_ms >= 0.999 * tf32[name].latency_ms for name, row in fp32.items())


def test_amp_is_faster_on_tensor_cores_and_no_narrower(models, catalog, sample):
    fp32, amp = (asked(models, catalog, sample, precision) for precision in ("tf32", "amp"))
    assert amp.precision == "amp" and Code.HALF_PRECISION in codes(amp)
    before, after = rows_of(fp32), rows_of(amp)
    for name in TENSOR:
        assert 1.3 < before[name].latency_ms / after[name].latency_ms < 4.5
    for name in PLAIN:
        assert after[name].latency_ms == before[name].latency_ms
        assert "no tensor cores" in after[name].note
    for name, row in after.items():
        assert row.interval.low_ms < row.latency_ms < row.interval.high_ms
        known = before[name].interval
        # GPUs that were not profiled have the rates of one model in both.
        least = 0.9 if row.basis == "transferred" else 1.0
        assert row.interval.log_half_width > 0.15 and (
            known is None or row.interval.log_half_width > least * known.log_half_width
        )
    # The anchor's own latency was measured in FP32.
    assert after[sample.anchor].basis == "measured"


@pytest.mark.parametrize("recorded", ["amp", "mixed_float16", "fp16"])
def test_an_amp_profile_never_gets_a_narrow_number(models, catalog, sample, recorded):
    prediction = asked(models, catalog, sample, "as profiled", recorded)
    rows = rows_of(prediction)
    assert prediction.precision == "amp" and rows[sample.anchor].latency_ms == sample.latency_ms
    assert rows[sample.anchor].basis == "given"
    others = [row for name, row in rows.items() if row.offer.gpu != "Tesla T4"]
    assert all(row.interval.log_half_width > 0.1 for row in others)
    fp32 = rows_of(asked(models, catalog, sample, "fp32", recorded))
    assert 1.8 < fp32[sample.anchor].latency_ms / sample.latency_ms < 4.5
    assert all(row.interval.log_half_width > 0.15 for row in fp32.values())


def test_there_and_back_is_the_same_step(models, catalog, sample):
    """A step in AMP, predicted from FP32, gives the FP32 step again."""
    fp32 = asked(models, catalog, sample, "fp32")
    amp_ms = rows_of(asked(models, catalog, sample, "amp"))[sample.anchor].latency_ms
    factor = amp_ms / sample.latency_ms
    operations = {
        name: us if name.startswith("Host_") or name == "Device_IDLE" else us * factor
        for name, us in sample.profile.operations.items()
    }
    profile = replace(
        sample.profile, operations=operations, meta=replace(sample.profile.meta, precision="amp"), steps_basis="stated"
    )
    back = predict(models, catalog, profile, sample.anchor, latency_ms=amp_ms, precision="fp32", trust_latency=True)
    for name in ("g4dn.xlarge", "p3.2xlarge"):
        assert rows_of(back)[name].latency_ms == pytest.approx(rows_of(fp32)[name].latency_ms, rel=0.25)


def test_training_code_changes_half_precision_alone(models, catalog, sample):
    """A target's code may differ from the profile's; only AMP has published gains, with a range of their own."""
    plain, tuned, as_profiled = (
        asked(models, catalog, sample, "amp", training_code=code) for code in ("plain", "channels-last", "as profiled")
    )
    assert as_profiled.latencies_ms == plain.latencies_ms and Code.TUNED_SPEEDUP in codes(tuned)
    slow, fast = rows_of(plain), rows_of(tuned)
    for name in TENSOR:
        assert 1.1 < slow[name].latency_ms / fast[name].latency_ms < 2 and fast[name].log_sd > slow[name].log_sd
    for name in PLAIN:
        assert fast[name].latency_ms == slow[name].latency_ms
    fp32, other = (asked(models, catalog, sample, "fp32", training_code=code) for code in ("plain", "channels-last"))
    assert Code.CODE_IN_HALF in codes(other)
    for name, row in rows_of(other).items():
        assert row.latency_ms == rows_of(fp32)[name].latency_ms
        assert row.log_sd >= OTHER_KERNELS_LOG_SD and row.basis != "given"
    with pytest.raises(InputError, match="training code"):
        asked(models, catalog, sample, "amp", training_code="fast")


def test_a_profile_in_channels_last_amp_answers_plain_amp_too(models, catalog, amp_sample):
    """Its own step in its own code is given; in plain code it is slower."""
    sample = amp_sample
    profile = sample.profile.with_meta(channels_last=True)
    as_recorded, plain, tuned = (
        rows_of(predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, training_code=code))
        for code in ("as profiled", "plain", "channels-last")
    )
    assert [*map(values_of, as_recorded.values())] == [*map(values_of, tuned.values())]
    assert tuned[sample.anchor].basis == "given"
    assert plain[sample.anchor].basis == "measured" and plain[sample.anchor].log_sd > 0.1
    for name in ("p3.2xlarge", "g4dn.xlarge", "p4d.24xlarge"):
        assert plain[name].latency_ms > 1.1 * tuned[name].latency_ms


def test_bf16_counts_as_amp_from_ampere_on(models, catalog, sample):
    amp, bf16 = (rows_of(asked(models, catalog, sample, precision)) for precision in ("amp", "bf16"))
    assert bf16["p4d.24xlarge"].latency_ms == amp["p4d.24xlarge"].latency_ms
    assert bf16["p3.2xlarge"].latency_ms > 1.5 * amp["p3.2xlarge"].latency_ms


@pytest.mark.parametrize("recorded", ["int8", "fp64", "fp8"])
def test_a_precision_that_nothing_is_known_of_is_refused(models, catalog, sample, recorded):
    with pytest.raises(NoPredictionError, match=recorded):
        asked(models, catalog, sample, "as profiled", recorded)


def test_an_amp_profile_of_an_unprofiled_gpu_answers_too(models, catalog, sample):
    profile = sample.profile.with_meta(precision="bf16", gpu=None)
    for precision in ("as profiled", "fp32"):
        prediction = predict(models, catalog, profile, "A100-SXM4-40GB", precision=precision)
        assert all(math.isfinite(row.latency_ms) for row in prediction.predictions if row.latency_ms is not None)


@pytest.mark.parametrize(
    ("meta", "warning"), [({"compiled": True}, Code.COMPILED), ({"channels_last": True}, Code.CHANNELS_LAST)]
)
def test_a_step_of_other_kernels_has_wider_intervals_and_a_note(models, catalog, sample, meta, warning):
    def predicted(**more):
        profile = sample.profile.with_meta(framework="PyTorch 2.4", **more)
        return predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms)

    plain, prediction = rows_of(predicted()), predicted(**meta)
    assert warning in codes(prediction)
    for name, row in rows_of(prediction).items():
        assert row.latency_ms == plain[name].latency_ms
        if row.basis != "given":
            assert row.interval.log_half_width > math.log(1.25)
            assert row.log_sd == pytest.approx(math.hypot(plain[name].log_sd, OTHER_KERNELS_LOG_SD))
