"""Several GPUs from any anchor that a prediction can start from, and from a measured step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.answers.advise import answer_advise
from profet_core.answers.questions import Context
from profet_core.answers.scaleout import ScaleoutQuestion, answer_scaleout, scaleout_question
from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_core.fields.questions import AdviseQuestion, FieldNames
from profet_core.latency import Basis
from profet_core.messages import Code, Note
from tests.codes import codes

SPELLING = FieldNames("TRACE", lambda name: f"--{name.replace('_', '-')}")
RESNET = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def context(models, catalog) -> Context:
    return Context(models, catalog, load_gpus())


@pytest.fixture(scope="module")
def answered(context):
    """`answered(profile=..., ...)`: what is answered, offers aside."""

    def ask(**given):
        return answer_scaleout(context, scaleout_question({"gpu_count": 8, **given}, SPELLING), SPELLING)

    return ask


def recorded_on(samples, gpu: str | None, step_latency_ms: float | None):
    profile = samples[RESNET].profile
    return replace(profile, meta=replace(profile.meta, gpu=gpu, step_latency_ms=step_latency_ms))


@pytest.mark.parametrize(
    ("anchor", "gpu"), [("T4", "Tesla T4"), ("H200", "H200-SXM-141GB"), ("RTX 2080 Ti", "GeForce RTX 2080 Ti")]
)
def test_an_anchor_may_be_a_gpu(answered, samples, anchor, gpu):
    found = answered(profile=recorded_on(samples, None, 300.0), anchor=anchor, gpus=[1, 8])
    assert (found.gpu, found.curve[0].step.latency_ms, found.one_gpu.basis) == (gpu, 300.0, Basis.GIVEN)
    assert found.curve[0].step.interval is None and found.curve[1].step.latency_ms > 300


def test_a_profile_may_be_of_a_gpu_that_nobody_profiled(answered, samples):
    found = answered(profile=recorded_on(samples, "NVIDIA L4", 123.0), gpus=[1, 2])
    assert (found.gpu, found.curve[0].step.latency_ms) == ("L4", 123.0)
    # Without a latency it has its offer's step.
    found = answered(profile=recorded_on(samples, "NVIDIA L4", None), gpus=[1, 2])
    alone = answered(profile=recorded_on(samples, "NVIDIA L4", None), instance="g6.xlarge", gpus=[1])
    assert found.one_gpu.latency_ms == pytest.approx(alone.one_gpu.latency_ms)
    assert found.one_gpu.interval is not None


def test_another_batch_on_a_gpu_is_carried(answered, samples):
    profile = recorded_on(samples, "NVIDIA L4", 123.0)
    found = answered(profile=profile, batch=128, gpus=[1, 2])
    assert found.curve[0].step.batch_per_gpu == 128
    assert 1.5 * 123 < found.curve[0].step.latency_ms < 2.5 * 123
    with pytest.raises(InputError, match="The step latency on GeForce RTX 2080 Ti is unknown: give it"):
        answered(profile=recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti", None))


MEASURED = {"step_ms": 200.0, "batch": 64, "network": "ResNet50", "gpu_count": None}


def test_cards_without_peer_access_are_said_to_differ(answered):
    geforce = answered(**MEASURED, gpu=["RTX 3090"], gpus=[1, 2, 8])
    assert codes(geforce) == [Code.NO_PEER_ACCESS]
    two, eight = (row.step for row in geforce.curve[1:])
    assert eight.log_sd > two.log_sd + 0.09
    assert answered(**MEASURED, gpu=["RTX 3090"], gpus=[1, 2]).warnings == ()
    assert answered(**MEASURED, gpu=["V100"], gpus=[1, 8]).warnings == ()


def test_a_network_that_was_measured_nowhere_is_said(answered):
    several = {**MEASURED, "gpu": ["A100-SXM4-40GB"], "gpus": [8, 16]}
    unmeasured = (Note(Code.UNMEASURED_LINK, gbit_per_s=400),)
    assert answered(**several, instance="p4d.24xlarge").warnings == unmeasured
    assert answered(**several).warnings == ()
    assert answered(**{**several, "gpus": [8]}, instance="p4d.24xlarge").warnings == ()


def test_no_number_of_gpus_is_more_times_as_fast_as_one(answered, samples):
    found = answered(profile=samples[RESNET].profile, anchor="g4dn.xlarge", global_batch=1000)
    assert {row.step.gpus for row in found.curve} >= {2, 4, 8}
    for row in found.curve:
        assert row.over_one is not None and row.over_one <= row.step.gpus
        assert row.over_one <= row.step.speed_up * (1 + 1e-9)


def test_a_measured_step_shares_the_batch_where_it_is_known(answered):
    found = answered(**MEASURED, gpu=["V100"], global_batch=512, gpus=[8])
    (row,) = found.curve
    assert (row.step.batch_per_gpu, row.step.one_gpu_ms, row.over_one) == (64, 200.0, None)
    assert {plan.offer.gpu_count for plan in found.plans} == {8}
    # Unasked, the one number of GPUs that it tells.
    assert [row.step.gpus for row in answered(**MEASURED, gpu=["V100"], global_batch=512).curve] == [8]
    with pytest.raises(InputError, match="The measured step is for batch 64 per GPU, not 128"):
        answered(**MEASURED, gpu=["V100"], global_batch=512, gpus=[4])


def test_whole_nodes_cost_what_advice_says(context, samples):
    sample = samples[RESNET]
    asked = AdviseQuestion(profile=sample.profile, latency_ms=sample.latency_ms, images=50_000, whole_nodes=True)
    advice = answer_advise(context, replace(asked, anchor=sample.anchor), SPELLING)
    question = ScaleoutQuestion(training=replace(asked, anchor=sample.anchor), images=50_000, market="on-demand")
    found = answer_scaleout(context, question, SPELLING)
    plans = {plan.label: plan for plan in advice.advice.plans if plan.gpus > 1}
    shared = [plan for plan in found.plans if plan.label in plans]
    assert len(shared) > 30
    for plan in shared:
        other = plans[plan.label]
        assert (plan.epoch_s, plan.epoch_usd, plan.plan.interval) == (other.total_s, other.total_usd, other.interval)


def test_nodes_together_are_paid_together(context):
    gpu = context.catalog["lambda/gpu_8x_v100_n"].gpu
    given = {"step_ms": 100.0, "batch": 64, "parameters": 25.6e6, "gpu": [gpu]}
    one = answer_scaleout(context, scaleout_question(given, SPELLING), SPELLING)
    two = answer_scaleout(context, scaleout_question({**given, "total_gpus": 16}, SPELLING), SPELLING)
    single = {plan.label: plan for plan in one.plans}
    pairs = [plan for plan in two.plans if plan.label in single and plan.offer.gpu_count == 8]
    assert pairs and all(plan.step.gpus == 16 for plan in two.plans)
    for plan in pairs:
        assert plan.usd_per_hour == 2 * single[plan.label].usd_per_hour
    for row in two.curve:
        assert row.others[row.step.strategy].epoch_s == row.epoch_s
    with pytest.raises(InputError, match="at most 64"):
        answer_scaleout(context, scaleout_question({**given, "total_gpus": 65}, SPELLING), SPELLING)
