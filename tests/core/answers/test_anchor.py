"""Where a question's profile was recorded: as the question says, or by the GPU that the profile names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.answers.advise import answer_advise
from profet_core.answers.cost import answer_cost
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import Context, question_anchor
from profet_core.catalog import load_gpus
from profet_core.errors import InputError, NoPredictionError
from profet_core.fields.questions import AdviseQuestion, FieldNames, PredictQuestion, TrainingQuestion
from profet_core.latency import Basis
from profet_core.memory.fit import fits_by_instance
from profet_core.messages import Code, Note
from tests.codes import codes

SPELLING = FieldNames("TRACE", lambda name: f"--{name.replace('_', '-')}")
VGG = "vgg16-224px-b16-g3s"
A100, RTX = "A100-SXM4-80GB", "GeForce RTX 2080 Ti"
TRAINING = {"images": 50_000}


@pytest.fixture(scope="module")
def context(models, catalog) -> Context:
    return Context(models, catalog, load_gpus())


def recorded_on(samples, gpu: str | None, **meta):
    profile = samples[VGG].profile
    return replace(profile, meta=replace(profile.meta, gpu=gpu, **meta))


@pytest.mark.parametrize(
    ("named", "asked", "found"),
    [
        ("Tesla T4", None, "g4dn.xlarge"),
        ("NVIDIA GeForce RTX 2080 Ti", None, RTX),
        ("NVIDIA A100-SXM4-80GB", None, A100),
        ("NVIDIA A100-PG509-200", None, "A100-SXM4-40GB"),
        ("Tesla V100-PCIE-16GB", None, "Tesla V100-PCIE-16GB"),
        (None, "g3s.xlarge", "g3s.xlarge"),
        (None, "g5.xlarge", "g5.xlarge"),
        (None, "nvidia geforce rtx 2080 ti", RTX),
        ("Tesla T4", "p3.2xlarge", "p3.2xlarge"),
    ],
)
def test_the_question_says_it_or_the_profile_names_it(context, samples, named, asked, found):
    question = PredictQuestion(profile=recorded_on(samples, named), anchor=asked)
    assert question_anchor(context, question, SPELLING) == found
    assert answer_predict(context, question, SPELLING).prediction.anchor == found


@pytest.mark.parametrize(
    ("named", "asked", "error", "says"),
    [
        (None, None, InputError, "TRACE does not name the GPU it was recorded on: give it with --anchor"),
        ("NVIDIA A100", None, InputError, "matches more than one GPU: choose with --anchor"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", None, NoPredictionError, "a laptop GPU"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None, NoPredictionError, "a GPU slice"),
        ("AMD Instinct MI355X", None, NoPredictionError, "specs are unknown"),
        ("Intel Gaudi 2 HL-225H", None, NoPredictionError, "an accelerator that is no GPU"),
        (None, "p9.xlarge", InputError, "Unknown anchor 'p9.xlarge'"),
    ],
)
def test_what_tells_no_anchor_is_one_line(context, samples, named, asked, error, says):
    question = PredictQuestion(profile=recorded_on(samples, named), anchor=asked)
    with pytest.raises(error) as refused:
        answer_predict(context, question, SPELLING)
    assert says in str(refused.value) and str(refused.value).isprintable()


def test_a_cpus_profile_asks_for_no_anchor(context, samples):
    profile = recorded_on(samples, None)
    host = replace(profile, operations={name: us for name, us in profile.operations.items() if name.startswith("Host")})
    with pytest.raises(NoPredictionError, match="it was recorded on a CPU"):
        question_anchor(context, PredictQuestion(profile=host), SPELLING)


@pytest.mark.parametrize("gpu", [A100, RTX])
def test_nothing_from_a_gpu_that_nobody_profiled_looks_measured(context, samples, gpu):
    answer = answer_predict(context, PredictQuestion(profile=recorded_on(samples, gpu)), SPELLING)
    rows = {row.instance: row for row in answer.prediction.predictions}
    bases = {row.basis for row in rows.values()}
    assert bases == {Basis.CARRIED_BACK, Basis.DERIVED, Basis.TRANSFERRED}
    for name in (*context.models.instances, "g4dn.12xlarge", "verda/1V100.6V"):
        assert rows[name].basis is Basis.CARRIED_BACK and rows[name].interval.log_half_width > 0.2
    assert gpu not in rows and set(answer.fits) == set(rows)
    assert Note(Code.UNTRAINED_ANCHOR, gpu=gpu) in answer.prediction.warnings
    assert Code.WRONG_GPU not in codes(answer.prediction)


def test_a_name_that_leaves_out_the_maker_is_no_other_gpu(context, samples):
    for named, warned in (("RTX 2080 Ti", 0), ("NVIDIA GeForce RTX 2080 Ti", 0), ("NVIDIA L4", 1)):
        question = PredictQuestion(profile=recorded_on(samples, named), anchor=RTX)
        assert codes(answer_predict(context, question, SPELLING).prediction).count(Code.WRONG_GPU) == warned


def test_a_training_is_costed_and_advised_on_from_any_gpu(context, samples):
    profile = recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti")
    cost = answer_cost(context, TrainingQuestion(profile=profile, **TRAINING), SPELLING)
    named = answer_cost(context, TrainingQuestion(profile=profile, anchor=RTX, **TRAINING), SPELLING)
    assert cost.table == named.table and cost.training.prediction.anchor == RTX
    assert RTX not in {row.instance for row in cost.table.rows}
    advice = answer_advise(context, AdviseQuestion(profile=profile, **TRAINING), SPELLING).advice
    assert advice.plans and {plan.basis for plan in advice.plans} <= set(Basis) - {Basis.MEASURED, Basis.GIVEN}


def test_other_sizes_grow_by_the_instance_that_the_profile_was_carried_to(context, samples):
    profile = recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti")
    steps = [
        answer_cost(
            context, TrainingQuestion(profile=profile, at_batch=size, at_pixels=224, **TRAINING), SPELLING
        ).training.steps
        for size in (8, 16, 32, 128)
    ]
    for name in steps[0].latencies_ms:
        latencies_ms = [one.latencies_ms[name] for one in steps]
        assert latencies_ms == sorted(latencies_ms) and latencies_ms[0] < latencies_ms[-1]
    rows = {row.instance: row for row in steps[-1].step_times}
    assert rows["g4dn.xlarge"].basis is Basis.CARRIED_BACK and "scaled from batch 16" in rows["g4dn.xlarge"].note


def test_two_profiles_of_a_gpu_that_nobody_rents_out_agree(context, samples):
    small, large = (samples[name].profile for name in ("resnet50-128px-b16-g4dn", "resnet50-128px-b256-g4dn"))
    small, large = (replace(one, meta=replace(one.meta, gpu=RTX)) for one in (small, large))
    question = TrainingQuestion(profile=small, second=large, at_batch=64, **TRAINING)
    steps = answer_cost(context, question, SPELLING).training.steps
    alone = answer_cost(context, TrainingQuestion(profile=small, at_batch=64, **TRAINING), SPELLING).training.steps
    assert steps.carried and steps.latencies_ms.keys() == alone.latencies_ms.keys()
    assert steps.intervals["g4dn.xlarge"].log_half_width < alone.intervals["g4dn.xlarge"].log_half_width


def test_memory_is_judged_from_the_anchors_own_gpu(context, samples):
    profile, model = samples[VGG].profile, context.models.memory
    for anchor, gib in ((RTX, 11), (A100, 80), ("g5.xlarge", 24), ("p3.2xlarge", 16)):
        found = fits_by_instance(model, context.catalog, context.gpus, profile, anchor, ["p5.48xlarge"])
        assert found["p5.48xlarge"].why == f"it ran on a GPU with {gib} GiB"
    with pytest.raises(InputError, match="'p9' is neither an instance of the catalog nor a known GPU"):
        fits_by_instance(model, context.catalog, context.gpus, profile, "p9", ["p5.48xlarge"])
