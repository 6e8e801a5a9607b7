"""A network by its layers in the place of a profile: the same questions, answered at any size."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from profet_core import InputError, NoPredictionError
from profet_core.answers.advise import answer_advise, answer_cost
from profet_core.answers.by_layers import file_profile, named_profile, unknown_profile
from profet_core.answers.predict import answer_compare, predicted_question
from profet_core.answers.scaleout import ScaleoutQuestion, scaleout_plans
from profet_core.answers.sizes import answer_sizes
from profet_core.errors import Code
from profet_core.latency import Basis
from profet_core.layers.estimate import estimate
from profet_core.layers.networks import counts_of
from profet_core.layers.reading import read_network
from profet_core.layers.steps import NetworkStep
from profet_core.prediction.models import load_samples
from profet_core.questions import AdviseQuestion, ProfileQuestion
from profet_core.training.memory import Verdict

QUESTION = AdviseQuestion(profile=named_profile("resnet50", 64), images=50_000, epochs=2, include_retired=True)
MEASURED = replace(QUESTION, anchor="Tesla T4", latency_ms=500.0)


def steps(answer) -> dict[str, float]:
    return {plan.instance: plan.latency_ms for plan in answer.advice.plans}


def test_advice_has_the_estimate_s_steps_at_any_size(context):
    for more, pixels in (({}, 224), ({"at_batch": 128}, 224), ({"at_batch": 16, "at_pixels": 160}, 160)):
        answer = answer_advise(context, replace(QUESTION, **more))
        step = NetworkStep(counts_of("resnet50", pixels), more.get("at_batch", 64), "resnet50")
        stated = {row.instance: row for row in estimate(context.models, context.catalog, step).rows}
        latencies_ms = steps(answer)
        assert len(latencies_ms) > 90 and latencies_ms == {name: stated[name].latency_ms for name in latencies_ms}
        assert {plan.basis for plan in answer.advice.plans} == {Basis.MEASURED, Basis.TRANSFERRED}
    cost = answer_cost(context, QUESTION).table[0]
    assert cost.total_s == pytest.approx(2 * 782 * cost.latency_ms / 1e3)


def test_a_measured_step_is_kept_and_scales_every_other_gpu_and_size(context):
    alone, answer = (answer_advise(context, question) for question in (QUESTION, MEASURED))
    assert steps(answer)["g4dn.xlarge"] == 500.0 and steps(answer)["p3.2xlarge"] != steps(alone)["p3.2xlarge"]
    assert {plan.basis for plan in answer.advice.plans} == {Basis.GIVEN, Basis.SCALED}
    rows = {row.offer.name: row for row in answer.rows}
    assert rows["g4dn.xlarge"].is_anchor and rows["g4dn.xlarge"].fit.verdict is Verdict.FITS
    ratios = []
    for size in ({"at_batch": 80}, {"at_batch": 16}, {"at_pixels": 64}):
        one, other = (steps(answer_advise(context, replace(asked, **size))) for asked in (MEASURED, QUESTION))
        ratios.append(one["g4dn.xlarge"] / other["g4dn.xlarge"])
    ratio = 500.0 / steps(alone)["g4dn.xlarge"]
    assert ratio > 1.05 and all(1.0 < other_ratio < 1.02 * ratio for other_ratio in ratios) and ratios[0] > ratios[1]
    # A second GPU is kept too.
    both = replace(MEASURED, measured={"p3.2xlarge": 170.0})
    assert steps(answer_advise(context, both))["p3.2xlarge"] == 170.0


def test_curves_agree_with_advice_at_each_size_and_many_gpus_follow(context):
    advice = answer_advise(context, MEASURED)
    for axis, sizes in (("batch", (32, 64, 128)), ("pixels", (96, 224))):
        answer = answer_sizes(context, advice, axis, sizes)
        by_offer = {curve.row.offer.name: curve for curve in answer.curves}
        at = "at_batch" if axis == "batch" else "at_pixels"
        for place, size in enumerate(sizes):
            there = steps(answer_advise(context, replace(MEASURED, **{at: size})))
            for name in ("g4dn.xlarge", "p3.2xlarge"):
                assert by_offer[name].points[place].latency_ms == there[name]
    plans = scaleout_plans(context, ScaleoutQuestion(), MEASURED).plans
    assert {plan.plan.basis for plan in plans} == {Basis.SCALED_OUT, Basis.SCALED}
    assert scaleout_plans(context, ScaleoutQuestion(), QUESTION).on(plans[0].label).network.count == 25_557_032


def test_a_file_has_one_image_size_and_an_unknown_name_no_answer(context):
    network = read_network(b"kind,channels,kernel\nconvolution,32,3\nflatten,,\ndense,10,\n", "mine.csv", 32)
    question = replace(QUESTION, profile=file_profile(network, 16, optimizer="adam"))
    assert len(steps(answer_advise(context, question))) > 90
    with pytest.raises(InputError, match="32 pixels"):
        answer_advise(context, replace(question, at_pixels=64))
    unknown = unknown_profile("mine", "Unknown network.")
    with pytest.raises(NoPredictionError, match=r"Unknown network\."):
        answer_advise(context, replace(QUESTION, profile=unknown))
    with pytest.raises(InputError):
        answer_advise(context, replace(MEASURED, anchor="my card"))
    profiles = (QUESTION.profile, unknown)
    first, second = answer_compare(context, [ProfileQuestion(profile=profile) for profile in profiles])
    assert first.prediction is not None and second.refusal == "Unknown network."


@pytest.mark.parametrize("profile", [named_profile("resnet50", 64), named_profile("vit_b_16", 64)])
def test_checkpointing_takes_less_memory_and_one_more_forward_pass(context, profile):
    asked = replace(QUESTION, profile=profile, images=None)
    plain, again = (
        predicted_question(context, replace(asked, checkpointing=checkpointing)) for checkpointing in (False, True)
    )
    pairs = [
        (one.latency_ms, other.latency_ms) for one, other in zip(plain.predictions, again.predictions, strict=True)
    ]
    assert all(1.2 < other / one < 1.31 for one, other in pairs)
    assert again.fits["g4dn.xlarge"].largest_batch > 1.6 * plain.fits["g4dn.xlarge"].largest_batch
    assert Code.CHECKPOINTED in {note.code for note in again.warnings}


def test_checkpointing_of_a_cnn_s_profile_scales_every_step_and_size(context):
    sample = next(shipped for shipped in load_samples() if shipped.name.startswith("resnet50-224px-b64-g4dn"))
    asked = AdviseQuestion(profile=sample.profile, anchor=sample.anchor, latency_ms=sample.latency_ms, images=50_000)
    for size in ({}, {"at_batch": 128}):
        plain, again = (
            steps(answer_advise(context, replace(asked, checkpointing=checkpointing, **size)))
            for checkpointing in (0, 1)
        )
        assert [again[name] / ms for name, ms in plain.items()] == pytest.approx([1.3] * len(plain), rel=0.02)
    answer = answer_advise(context, replace(asked, checkpointing=True))
    assert Basis.GIVEN not in {plan.basis for plan in answer.advice.plans}
