"""Profiles of vision transformers: recognized, read by name, shapes or times, and estimated on every GPU."""

from __future__ import annotations

import json
import math

import pytest
from msgspec.structs import replace

from profet_core import InputError, NoPredictionError, predict
from profet_core.answers.advise import answer_advise
from profet_core.answers.by_layers import NetworkProfile
from profet_core.answers.predict import answer_compare, predicted_question
from profet_core.errors import Code, OptionalInputError
from profet_core.latency import Basis
from profet_core.layers.networks import counts_of
from profet_core.prediction.checks import VISION_TRANSFORMER, is_transformer, refusal
from profet_core.prediction.predict import predict_many
from profet_core.questions import AdviseQuestion, ProfileQuestion
from profet_profiles import read_profile, write_profile
from tests.made.transformers import GPU, transformer_trace


@pytest.fixture(scope="module")
def vit():
    return read_profile(transformer_trace())


def latencies(prediction) -> dict[str, float]:
    return {row.offer.gpu: row.latency_ms for row in prediction.predictions}


def test_shapes_are_read_as_the_table_counts_the_network(vit):
    work, counts, batch = vit.meta.work, counts_of("vit_tiny_patch16_224"), 32
    assert (vit.meta.batch_size, vit.meta.pixels, work.patch, work.attended) == (32, 224, 16, 197)
    product = work.product_flops / batch
    assert product == pytest.approx(counts.flops.product, rel=1e-3)
    assert work.dense_flops / batch == pytest.approx(counts.flops.dense - counts.flops.product, rel=1e-3)
    assert work.convolution_flops / batch == pytest.approx(counts.flops.convolution, rel=1e-3)
    assert work.score / batch == pytest.approx(counts.elements.score, rel=1e-3)
    assert work.dense_parameters == pytest.approx(counts.dense_parameters, rel=0.01)
    eager = read_profile(transformer_trace(fused=False)).meta.work
    # What no kernel fuses stays in memory, whatever the GPU.
    assert eager.product_flops == work.product_flops and eager.score == 0 and eager.activation > work.activation
    assert read_profile(write_profile(vit)).meta == vit.meta
    assert read_profile(transformer_trace(shapes=False)).meta.work is None


def test_a_vision_transformer_is_told_from_a_language_model(vit):
    assert is_transformer(vit) and refusal(vit) == ""
    assert refusal(read_profile(transformer_trace(shapes=False))) == ""
    for shapes in (True, False):
        assert "language models" in refusal(read_profile(transformer_trace(words=30_522, shapes=shapes))) or shapes
    words = read_profile(transformer_trace(words=30_522))
    # Saying otherwise doesn't make it one.
    assert "30,522" in refusal(words) and "30,522" in refusal(words, VISION_TRANSFORMER)
    # Without a convolution nothing tells: the visitor is asked.
    events = json.loads(transformer_trace())
    events["traceEvents"] = [event for event in events["traceEvents"] if "conv" not in event["name"]]
    linear = read_profile(json.dumps(events).encode())
    assert VISION_TRANSFORMER in refusal(linear) and refusal(linear, VISION_TRANSFORMER) == ""
    assert refusal(linear, "vit_tiny_patch16_224") == refusal(linear.with_file_name("vit_b_16.json")) == ""


@pytest.mark.parametrize(
    ("trace", "network", "code"),
    [
        ({}, None, Code.TRANSFORMER_BY_SHAPES),
        ({}, "vit_tiny_patch16_224", Code.TRANSFORMER_BY_NAME),
        ({}, "resnet50", Code.TRANSFORMER_BY_SHAPES),
        ({"shapes": False}, None, Code.TRANSFORMER_BY_TIMES),
    ],
)
def test_every_gpu_is_estimated_and_the_recorded_step_holds_where_it_ran(context, trace, network, code):
    profile = read_profile(transformer_trace(**trace))
    step_ms = profile.device_total_us / 1e3
    asked = ProfileQuestion(profile=profile, latency_ms=step_ms, network=network, profiled_batch=32)
    prediction = predicted_question(context, asked)
    assert code in {note.code for note in prediction.warnings}
    here = {row.basis for row in prediction.predictions if row.offer.gpu == "Tesla V100-SXM2-16GB"}
    assert {row.basis for row in prediction.predictions} == {Basis.GIVEN, Basis.TRANSFERRED} and here == {Basis.GIVEN}
    ms = latencies(prediction)
    assert ms["Tesla V100-SXM2-16GB"] == step_ms and ms["Tesla T4"] > 1.2 * step_ms > step_ms > ms["H100-SXM5-80GB"]
    rows = {row.offer.gpu: row for row in prediction.predictions}
    assert rows["Tesla T4"].interval.high_ms > 1.5 * ms["Tesla T4"]
    without = predicted_question(context, replace(asked, latency_ms=None))
    assert latencies(without)["Tesla T4"] == pytest.approx(ms["Tesla T4"] / 1.054, rel=0.1)
    assert Basis.GIVEN not in {row.basis for row in without.predictions}


def test_tokens_grow_with_the_area_and_patches_divide_the_image(context, vit, samples):
    asked = AdviseQuestion(profile=vit, images=1_000)
    with pytest.raises(InputError, match="use 192 or 208"):
        answer_advise(context, replace(asked, at_pixels=200))
    prediction = predicted_question(context, asked)
    assert isinstance(prediction.profile, NetworkProfile)
    counts, larger = prediction.profile.counts, prediction.profile.counts_at(384)
    own = counts_of("vit_tiny_patch16_224", 384)
    assert larger.flops.product == pytest.approx(own.flops.product, rel=0.02)
    assert larger.flops.all == pytest.approx(own.flops.all, rel=0.02)
    area = (384 / 224) ** 2
    assert larger.flops.product == pytest.approx(area**2 * counts.flops.product, rel=0.01)
    with pytest.raises(OptionalInputError, match="for CNNs"):
        answer_advise(context, replace(asked, second=vit))
    with pytest.raises(OptionalInputError, match="a transformer's"):
        answer_advise(context, replace(asked, profile=samples["vgg16-224px-b16-g3s"].profile, second=vit))
    no_shapes = read_profile(transformer_trace(shapes=False))
    with pytest.raises(InputError, match="record_shapes"):
        answer_advise(context, replace(asked, profile=no_shapes, profiled_batch=32, profiled_pixels=224, at_pixels=384))
    twice = answer_advise(context, replace(asked, at_batch=64)).training
    assert latencies(twice.prediction.at(64, None, None))["Tesla T4"] > 1.6 * latencies(prediction)["Tesla T4"]


def test_a_gpu_that_waits_for_its_host_says_its_work_and_its_host(context, vit):
    idle = read_profile(transformer_trace(waits=4))
    assert idle.device_busy_us == pytest.approx(vit.device_busy_us) and vit.device_busy_us < 0.5 * idle.device_total_us
    busy, waits = (predicted_question(context, ProfileQuestion(profile=profile)) for profile in (vit, idle))
    ratio = latencies(waits)["H100-SXM5-80GB"] / latencies(busy)["H100-SXM5-80GB"]
    assert ratio > 1 and Code.LAUNCHES_MEASURED in {note.code for note in waits.warnings}


def test_the_same_answer_in_python_and_beside_other_profiles(context, vit, models, catalog):
    asked = ProfileQuestion(profile=vit, anchor=GPU)
    latencies_ms = latencies(predicted_question(context, asked))
    assert latencies(predict(models, catalog, vit, GPU)) == latencies_ms
    assert latencies(answer_compare(context, [asked])[0].prediction) == latencies_ms
    for method in ("default", "profet"):
        with pytest.raises((InputError, NoPredictionError)):
            predict_many(models, catalog, [vit], GPU, method=method)
    with pytest.raises(InputError, match="default method"):
        predict(models, catalog, vit, GPU, method="profet")
    half = latencies(predict(models, catalog, vit, GPU, precision="amp"))
    assert (
        all(half[gpu] <= ms * 1.001 for gpu, ms in latencies_ms.items())
        and half["H100-SXM5-80GB"] < latencies_ms["H100-SXM5-80GB"]
    )
    assert all(map(math.isfinite, half.values()))


def test_real_traces_of_torch_count_what_the_table_does(tmp_path):
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(96, 3, 384, activation="gelu", batch_first=True, norm_first=True)
    layer.self_attn.batch_first = True
    patches = torch.nn.Conv2d(3, 96, 16, 16)
    image = torch.randn(4, 3, 64, 64)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recorded:
        layer(patches(image).flatten(2).transpose(1, 2)).mean().backward()
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    work = read_profile(tmp_path / "trace.json").meta.work
    assert work.convolution_flops == 2 * 4 * 16 * 96 * 3 * 16 * 16
    assert work.dense_flops == 2 * 4 * 16 * 96 * 96 * (3 + 1 + 4 + 4)
    assert work.product_flops == 4 * 4 * 16 * 16 * 96
    assert (work.patch, work.attended, work.vocabulary) == (16, 32, 0) or work.attended == 16
    assert work.parameters == sum(weight.numel() for weight in [*layer.parameters(), *patches.parameters()])
