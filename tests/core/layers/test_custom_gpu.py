"""A GPU of your own: its throughput moves its rates, nonsense is refused, nobody else's number moves."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from profet_core import predict
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import CustomGpu, custom_gpu_from
from profet_core.catalog.gpus import FP32, PLAIN, TF32, host_named, no_less
from profet_core.errors import Code, InputError
from profet_core.latency import Basis
from profet_core.layers.custom_gpu import check_custom_gpu
from profet_core.layers.estimate import estimate
from profet_core.layers.gpu_effects import (
    MEASURED,
    STATED,
    KnownStep,
    Source,
    effects_by_specs,
    effects_by_steps,
    evidence_notes,
    source_of,
)
from profet_core.layers.networks import counts_of
from profet_core.layers.rates import KINDS, Mode, mode_of, rate_model_of
from profet_core.layers.steps import NetworkStep
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
MEASURED_POINT = {"images_per_s": "480", "network": "ResNet50", "batch_size": "128", "precision": "tf32"}


def own(**cells: str) -> CustomGpu:
    return custom_gpu_from({**RTX_4080, **cells}, SHIPPED)


@pytest.fixture
def context(models, catalog) -> Context:
    return Context(models, catalog, SHIPPED)


def rows_of(context: Context, sample, **choices) -> dict:
    prediction = predict(
        context.models, context.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, **choices
    )
    return {row.instance: row for row in prediction.predictions}


@pytest.fixture
def resnet(samples):
    """ResNet-50, 128 pixels, batch 256: a step that no host holds up."""
    return samples["resnet50-128px-b256-g4dn"]


@pytest.mark.parametrize("images_per_s", [600, 1500, 3000])
def test_a_throughput_comes_back_by_profile_and_by_name(context, resnet, images_per_s):
    """Most of it: a step of a network is also the network's."""
    point = {**MEASURED_POINT, "images_per_s": str(images_per_s), "pixels": "128", "batch_size": "256"}
    known = context.with_custom_gpus([own(**point)])
    row, step_ms = rows_of(known, resnet)["rtx-4080"], 1000 * 256 / images_per_s
    network = NetworkStep(counts_of("resnet50", 128), 256, "resnet50")
    by_name = estimate(known.models, known.catalog, network, ["rtx-4080"]).rows[0]
    for answer in (row, by_name):
        assert answer.latency_ms == pytest.approx(step_ms, rel=0.2)
        assert answer.interval.low_ms < step_ms < answer.interval.high_ms
        assert answer.basis is Basis.TRANSFERRED
    assert "images/s of ResNet50 in TF32, 128 pixels, batch 256: given by the user" in row.note
    assert (row.usd_per_hour, row.status) == (0.25, "available")


def test_a_faster_throughput_makes_every_step_faster(context, resnet, samples):
    point = {**MEASURED_POINT, "pixels": "128", "batch_size": "256"}
    slow, fast = (context.with_custom_gpus([own(**{**point, "images_per_s": speed})]) for speed in ("800", "1600"))
    for sample in (resnet, samples["vgg16-128px-b256-g3s"]):
        assert 1.5 < rows_of(slow, sample)["rtx-4080"].latency_ms / rows_of(fast, sample)["rtx-4080"].latency_ms < 2


def test_how_sure_it_is_depends_on_what_is_known(context, resnet):
    asked = {"stated": own(**MEASURED_POINT), "its specs": own()}
    rows = {name: rows_of(context.with_custom_gpus([gpu]), resnet)["rtx-4080"] for name, gpu in asked.items()}
    half = {name: row.interval.log_half_width for name, row in rows.items()}
    assert half["its specs"] > 1.05 * half["stated"]
    assert "from its specs" in rows["its specs"].note
    # A relative speed is taken as it is.
    twin = own(gpu="Lab twin", times_reference="1", times_log_sd="0.05", precision="tf32")
    row = rows_of(context.with_custom_gpus([twin]), resnet)["lab-twin"]
    assert "1.0 times Tesla V100-SXM2-16GB, in TF32" in row.note and math.isfinite(row.interval.high_ms)
    faster = own(gpu="Lab twin", times_reference="2", times_log_sd="0.05", precision="tf32")
    twice = rows_of(context.with_custom_gpus([faster]), resnet)["lab-twin"]
    assert row.latency_ms / twice.latency_ms == pytest.approx(2, rel=0.1)


def test_other_gpus_are_unchanged(context, resnet):
    """L40S and L4 have the own GPU's compute capability: their speeds are no user's business."""
    before = rows_of(context, resnet)
    after = rows_of(context.with_custom_gpus([own(**MEASURED_POINT)]), resnet)
    custom = after.pop("rtx-4080")
    assert {*after} == {*before} and [values_of(after[name]) for name in before] == [*map(values_of, before.values())]
    assert custom.latency_ms not in {row.latency_ms for row in before.values()}
    assert "rtx-4080" not in context.catalog and "RTX 4080" not in context.models.transfer.gpus


def test_steps_move_a_gpu_s_costs_and_more_of_them_are_surer(models):
    model, gpu = rate_model_of(models), replace(SHIPPED["Tesla T4"], name="Mine")
    host, mode = host_named("", gpu.compute_capability), Mode.FP32
    at = model.with_gpus({gpu.name: effects_by_specs(model, gpu)})

    def step(name: str, batch_size: int, times: float, log_sd: float = 0.05) -> KnownStep:
        counts = counts_of(name, 224)
        work_ms, launch_ms, start_ms = at.parts_ms(counts, batch_size, (gpu, host), mode)
        assert launch_ms < 0.3 * work_ms.sum()
        return KnownStep(name, counts, batch_size, mode, host, times * float(work_ms.sum()) + start_ms, log_sd)

    before = effects_by_specs(model, gpu)
    unmoved = effects_by_steps(model, gpu, [step("resnet50", 128, 1.0)], STATED)
    assert unmoved.log_costs == pytest.approx(before.log_costs, abs=0.02)
    some = [step(name, 128, 2.0) for name in ("resnet50", "vgg16", "densenet121", "inception_v3")]
    few, many = (effects_by_steps(model, gpu, steps, MEASURED) for steps in (some[:1], some))
    assert (few.rows, many.rows) == (1, 4) and many.log_sd < few.log_sd < STATED.speed + MEASURED.speed
    moved = (many.log_costs - before.log_costs)[KINDS.index("convolution")]
    assert 0.55 < moved < 0.8, "twice as slow is a cost of log 2 more"
    doubtful = effects_by_steps(model, gpu, [step("resnet50", 128, 2.0, log_sd=1.0)], STATED)
    assert doubtful.log_costs.mean() < few.log_costs.mean()


def test_what_a_speed_is_based_on(models):
    sources = {
        "Tesla V100-SXM2-32GB": Source.PROFILED,
        "H100-SXM5-80GB": Source.PUBLISHED,
        "A2": Source.GENERATION,
        "AMD Instinct MI300X": Source.PUBLISHED,
    }
    assert {name: source_of(models, SHIPPED[name]) for name in sources} == sources
    assert source_of(models, replace(SHIPPED["A2"], name="Mine", compute_capability=99.0)) is Source.SPECS
    (note,) = evidence_notes(models, SHIPPED["H100-SXM5-80GB"], tf32=True)
    assert note.code is Code.BASED_ON and str(note).endswith("of H100-SXM5-80GB, in TF32")
    assert str(evidence_notes(models, SHIPPED["H100-SXM5-80GB"], tf32=False)[0]).endswith("in FP32")
    assert mode_of(SHIPPED["A2"], TF32, PLAIN) is Mode.TF32 and mode_of(SHIPPED["Tesla T4"], FP32, PLAIN) is Mode.FP32


def test_order_by_specs():
    a100, slower_a100, h100, h100_nvl = (
        SHIPPED[name] for name in ("A100-SXM4-80GB", "A100-PCIE-40GB", "H100-SXM5-80GB", "H100-NVL-94GB")
    )
    better = no_less([a100, slower_a100, h100, h100_nvl])
    # The H100 NVL has more memory bandwidth and less of the rest; GPUs of another generation are not compared.
    assert better.sum() == 1 and better[0, 1]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({**MEASURED_POINT, "images_per_s": "50000"}, "RTX 4080: 50,000 images/s of ResNet50 is not plausible: 97.5"),
        ({**MEASURED_POINT, "images_per_s": "3"}, "RTX 4080: 3 images/s of ResNet50 is not plausible"),
        ({**MEASURED_POINT, "network": "ResNet5000"}, "RTX 4080: "),
        ({**MEASURED_POINT, "network": "bert-base"}, "RTX 4080: "),
        ({**MEASURED_POINT, "batch_size": "8"}, "RTX 4080: batch_size must be 16 to 4096, not 8"),
        ({**MEASURED_POINT, "pixels": "512"}, "RTX 4080: pixels must be 128 to 320, not 512"),
        ({**MEASURED_POINT, "tf32_tensor_dense_tflops": "none"}, "RTX 4080 has no TF32: use fp32."),
        ({"times_reference": "300", "times_log_sd": "0.1"}, "RTX 4080: 300 times Tesla V100-SXM2-16GB is far from"),
    ],
)
def test_what_can_t_be_is_one_line(models, cells, says):
    with pytest.raises(InputError) as error:
        check_custom_gpu(models, own(**cells))
    assert str(error.value).startswith(says) and "\n" not in str(error.value)
