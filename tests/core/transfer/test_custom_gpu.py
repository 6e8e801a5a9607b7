"""A GPU of your own: its throughput comes back, nonsense is refused, nobody else's number moves."""

from __future__ import annotations

import math

import pytest

from profet_core import predict
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import CustomGpu, ThroughputPoint, custom_gpu_from
from profet_core.errors import InputError
from profet_core.latency import Basis
from profet_core.transfer.custom_gpu import check_custom_gpu, load_reference_steps, log_times_reference
from tests.made.step_times import values_of

SHIPPED = load_gpus()
RTX_4080 = {
    "gpu": "RTX 4080",
    "like": "L40S",
    "fp32_tflops": "48.7",
    "tf32_tensor_dense_tflops": "97.5",
    "memory_gib": "16",
    "bandwidth_gb_per_s": "717",
    "tdp_w": "320",
    "usd_per_hour": "0.25",
    "as_of": "2026-11",
}
MEASURED = {"images_per_s": "480", "network": "ResNet50", "batch_size": "128", "precision": "tf32"}


def own(**cells: str) -> CustomGpu:
    return custom_gpu_from({**RTX_4080, **cells}, SHIPPED)


@pytest.fixture
def context(models, catalog) -> Context:
    return Context(models, catalog, SHIPPED)


def rows_of(context: Context, sample, **choices) -> dict:
    found = predict(
        context.models, context.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, **choices
    )
    return {row.instance: row for row in found.predictions}


@pytest.fixture
def resnet(samples):
    """ResNet-50, 128 pixels, batch 256: a step that no host holds up."""
    return samples["resnet50-128px-b256-g4dn"]


def test_a_throughput_comes_back_out_of_the_prediction_for_that_very_network(context, resnet):
    """At the workload's own size: the step is GPU time as measured, and the copy and start of the profile beside it."""
    point = {**MEASURED, "images_per_s": "1500", "pixels": "128", "batch_size": "256"}
    row = rows_of(context.with_custom_gpus([own(**point)]), resnet)["rtx-4080"]
    step_ms = 1000 * 256 / 1500
    assert row.latency_ms == pytest.approx(step_ms, rel=0.2)
    assert row.interval.low_ms < step_ms < row.interval.high_ms
    assert row.basis is Basis.TRANSFERRED
    assert "1,500 images/s of ResNet50, 128 pixels, batch 256: given by the user" in row.note
    assert (row.usd_per_hour, row.status) == (0.25, "available")


def test_twice_the_throughput_halves_what_the_gpu_computes(context, resnet):
    point = {**MEASURED, "pixels": "128", "batch_size": "256"}
    del point["images_per_s"]
    slow, fast = (
        rows_of(context.with_custom_gpus([own(**point, images_per_s=speed)]), resnet)["rtx-4080"]
        for speed in ("800", "1600")
    )
    fixed_ms = 2 * fast.latency_ms - slow.latency_ms
    assert slow.latency_ms / fast.latency_ms == pytest.approx(2 - fixed_ms / fast.latency_ms)
    assert 0 < fixed_ms < 0.15 * slow.latency_ms


def test_how_sure_it_is_depends_on_what_is_known(context, resnet):
    asked = {
        "its own": own(**MEASURED),
        "another network's": own(**{**MEASURED, "network": "InceptionV3"}),
    }
    rows = {name: rows_of(context.with_custom_gpus([one]), resnet)["rtx-4080"] for name, one in asked.items()}
    half = {name: row.interval.log_half_width for name, row in rows.items()}
    assert half["another network's"] > 1.1 * half["its own"]
    (nothing,) = (
        row for name, row in rows_of(context.with_custom_gpus([own(like="L4")]), resnet).items() if "4080" in name
    )
    assert "from its specs" in nothing.note
    # A relative speed is taken as it is.
    same = own(gpu="Lab twin", times_reference="1", times_log_sd="0.05", precision="tf32")
    rows = rows_of(context.with_custom_gpus([same]), resnet)
    assert rows["lab-twin"].latency_ms == pytest.approx(rows["p3.2xlarge"].latency_ms, rel=0.1)
    assert "1.0 times Tesla V100-SXM2-16GB" in rows["lab-twin"].note
    assert math.isfinite(rows["lab-twin"].interval.high_ms)


def test_other_gpus_are_unchanged_and_an_fp32_throughput_with_tf32_is_a_guess(context, resnet):
    """L40S and L4 have the own GPU's compute capability: their speeds are no user's business."""
    before = rows_of(context, resnet)
    after = rows_of(context.with_custom_gpus([own(**MEASURED)]), resnet)
    custom_instance = after.pop("rtx-4080")
    assert {*after} == {*before} and [values_of(after[name]) for name in before] == [*map(values_of, before.values())]
    assert custom_instance.latency_ms not in {row.latency_ms for row in before.values()}
    assert "rtx-4080" not in context.catalog and "RTX 4080" not in context.models.transfer.gpus
    tf32, fp32 = (own(**{**MEASURED, "precision": precision}) for precision in ("tf32", "fp32"))
    sure, guess = (rows_of(context.with_custom_gpus([one]), resnet)["rtx-4080"] for one in (tf32, fp32))
    assert guess.interval.log_half_width > sure.interval.log_half_width
    assert guess.latency_ms < sure.latency_ms and "estimated from FP32" in guess.note
    no_tf32 = own(**{**MEASURED, "precision": "fp32", "tf32_tensor_dense_tflops": "none"})
    plain = rows_of(context.with_custom_gpus([no_tf32]), resnet)["rtx-4080"]
    assert "estimated" not in plain.note and plain.latency_ms == pytest.approx(sure.latency_ms, rel=0.05)


def test_a_v100_s_own_steps_are_one_v100_and_grow_with_batch_and_pixels(models):
    steps = load_reference_steps()
    for network, pixels, batch_size, latency_ms, copy_ms in (
        ("ResNet50", 128, 256, 229.299, 11.243),
        ("VGG16", 224, 64, 243.332, 7.674),
    ):
        gpu_ms = steps.gpu_ms(models.transfer.step, network, pixels, batch_size)
        assert gpu_ms == pytest.approx(latency_ms - 1.15 * copy_ms - 1.73, rel=1e-3)
        at = ThroughputPoint(1000 * batch_size / gpu_ms, network, pixels, batch_size, "fp32")
        assert log_times_reference(steps, models.transfer.step, at) == pytest.approx(0, abs=1e-12)
    steps, step_model = load_reference_steps(), models.transfer.step
    for network in steps.networks:
        batches = [steps.gpu_ms(step_model, network, 224, size) for size in (16, 24, 32, 100, 256, 512)]
        pixels = [steps.gpu_ms(step_model, network, size, 64) for size in (128, 160, 224, 256, 299, 320)]
        assert batches == sorted(batches) and pixels == sorted(pixels)
        assert steps.gpu_ms(step_model, network, 224, 512) == pytest.approx(
            2 * steps.gpu_ms(step_model, network, 224, 256)
        )


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({**MEASURED, "images_per_s": "50000"}, "RTX 4080: 50,000 images/s of ResNet50 is not plausible: 97.5 TFLOP/s"),
        ({**MEASURED, "images_per_s": "3"}, "RTX 4080: 3 images/s of ResNet50 is not plausible"),
        ({**MEASURED, "network": "LeNet5"}, "RTX 4080: network must be one of InceptionV3, ResNet18, "),
        ({**MEASURED, "batch_size": "8"}, "RTX 4080: batch_size must be 16 to 4096, not 8"),
        ({**MEASURED, "pixels": "512"}, "RTX 4080: pixels must be 128 to 320, not 512"),
        ({**MEASURED, "tf32_tensor_dense_tflops": "none"}, "RTX 4080 has no TF32: use fp32."),
        ({"times_reference": "300", "times_log_sd": "0.1"}, "RTX 4080: 300 times Tesla V100-SXM2-16GB is far from"),
    ],
)
def test_what_can_t_be_is_one_line(models, cells, says):
    with pytest.raises(InputError) as error:
        check_custom_gpu(models.transfer, own(**cells))
    assert str(error.value).startswith(says) and "\n" not in str(error.value)
