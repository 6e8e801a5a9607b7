"""Where a profile was recorded, a training along its sizes, every GPU as anchor and target, and the Python API."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
from msgspec import structs

import profet_core
from profet_core import (
    InputError,
    ProfileError,
    advise,
    cost_table,
    estimate,
    load_catalog,
    load_models,
    predict,
    predict_many,
    read_profile,
    scale,
    scaleout,
)
from profet_core.answers.advise import answer_advise, answer_cost
from profet_core.answers.context import Context, question_anchor
from profet_core.answers.predict import answer_predict
from profet_core.answers.scaleout import answer_scaleout
from profet_core.answers.sizes import answer_scale, answer_sizes, at_largest_batch
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import custom_gpu_from, custom_gpus_text
from profet_core.catalog.custom_instances import parse_custom_instances
from profet_core.errors import Code, NoPredictionError, Note
from profet_core.latency import Basis
from profet_core.questions import AdviseQuestion, PredictQuestion, ScaleoutQuestion, ScaleQuestion, TrainingQuestion
from profet_core.training.advise import Preset, preset_rows
from profet_core.training.memory import fit_answer, recorded_step
from profet_profiles import VERSION
from tests.codes import codes

VGG = "vgg16-224px-b16-g3s"
A100, RTX = "A100-SXM4-80GB", "GeForce RTX 2080 Ti"
TRAINING = {"images": 50_000}


def recorded_on(samples, gpu: str | None, **meta):
    profile = samples[VGG].profile
    return profile.with_meta(gpu=gpu, **meta)


@pytest.mark.parametrize(
    ("named", "asked", "expected"),
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
def test_the_question_says_it_or_the_profile_names_it(context, samples, named, asked, expected):
    question = PredictQuestion(profile=recorded_on(samples, named), anchor=asked)
    assert answer_predict(context, question).prediction.anchor == expected


@pytest.mark.parametrize(
    ("named", "asked", "error", "says"),
    [
        (None, None, InputError, "profile does not name the GPU it was recorded on: give it with anchor"),
        ("NVIDIA A100", None, InputError, "matches more than one GPU: choose with anchor"),
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
        answer_predict(context, question)
    assert says in str(refused.value) and str(refused.value).isprintable()
    assert str(refused.value).count(",") < 8, "the nearest names, not all"


@pytest.mark.parametrize("gpu", [A100, RTX])
def test_nothing_from_a_gpu_that_nobody_profiled_looks_measured(context, samples, gpu):
    answer = answer_predict(context, PredictQuestion(profile=recorded_on(samples, gpu)))
    rows = {row.instance: row for row in answer.prediction.predictions}
    bases = {row.basis for row in rows.values()}
    assert bases == {Basis.MAPPED, Basis.TRANSFERRED}
    for name in (*context.models.instances, "g4dn.12xlarge", "verda/1V100.6V"):
        assert rows[name].basis is Basis.MAPPED and rows[name].interval.log_half_width > 0.2
    assert gpu not in rows and set(answer.fits) == set(rows)
    assert Note(Code.UNTRAINED_ANCHOR, gpu=gpu) in answer.prediction.warnings
    assert Code.WRONG_GPU not in codes(answer.prediction)


def test_a_name_without_its_maker_is_no_other_gpu_and_a_cpu_no_anchor(context, samples):
    for named, warned in (("RTX 2080 Ti", 0), ("NVIDIA GeForce RTX 2080 Ti", 0), ("NVIDIA L4", 1)):
        question = PredictQuestion(profile=recorded_on(samples, named), anchor=RTX)
        assert codes(answer_predict(context, question).prediction).count(Code.WRONG_GPU) == warned
    profile = recorded_on(samples, None)
    host = replace(profile, operations={name: us for name, us in profile.operations.items() if name.startswith("Host")})
    with pytest.raises(NoPredictionError, match="it was recorded on a CPU"):
        question_anchor(context, PredictQuestion(profile=host))


def test_a_training_is_costed_and_advised_on_from_any_gpu(context, samples):
    profile = recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti")
    cost = answer_cost(context, TrainingQuestion(profile=profile, **TRAINING))
    named = answer_cost(context, TrainingQuestion(profile=profile, anchor=RTX, **TRAINING))
    assert cost.table.to_frame().equals(named.table.to_frame()) and cost.training.prediction.anchor == RTX
    assert RTX not in {row.instance for row in cost.table}
    advice = answer_advise(context, AdviseQuestion(profile=profile, **TRAINING)).advice
    assert advice.plans and {plan.basis for plan in advice.plans} <= set(Basis) - {Basis.MEASURED, Basis.GIVEN}


def test_other_sizes_grow_by_the_instance_that_the_profile_was_mapped_to(context, samples):
    profile = recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti")
    steps = [
        answer_cost(context, TrainingQuestion(profile=profile, at_batch=size, at_pixels=224, **TRAINING)).training
        for size in (8, 16, 32, 128)
    ]
    for name in steps[0].latencies_ms:
        latencies_ms = [step.latencies_ms[name] for step in steps]
        assert latencies_ms == sorted(latencies_ms) and latencies_ms[0] < latencies_ms[-1]
    rows = {row.instance: row for row in steps[-1].step_times}
    assert rows["g4dn.xlarge"].basis is Basis.MAPPED and "scaled from batch 16" in rows["g4dn.xlarge"].note


def test_two_profiles_of_a_gpu_that_nobody_rents_out_agree(context, samples):
    small, large = (samples[name].profile for name in ("resnet50-128px-b16-g4dn", "resnet50-128px-b256-g4dn"))
    small, large = (profile.with_meta(gpu=RTX) for profile in (small, large))
    question = TrainingQuestion(profile=small, second=large, at_batch=64, **TRAINING)
    steps = answer_cost(context, question).training
    alone = answer_cost(context, TrainingQuestion(profile=small, at_batch=64, **TRAINING)).training
    assert steps.scaled and steps.latencies_ms.keys() == alone.latencies_ms.keys()
    narrower, wider = (
        next(row.interval for row in training.step_times if row.instance == "g4dn.xlarge")
        for training in (steps, alone)
    )
    assert narrower.log_half_width < wider.log_half_width


def test_memory_is_judged_from_the_anchors_gpu(context, samples):
    profile, model = samples[VGG].profile, context.models.memory
    for anchor, gib in ((RTX, 11), (A100, 80), ("g5.xlarge", 24), ("p3.2xlarge", 16)):
        step = recorded_step(profile, context.catalog, context.gpus, [anchor])
        assert fit_answer(model, step, 80.0).why == f"it ran on a GPU with {gib} GiB"
    with pytest.raises(InputError, match="'p9' is neither an instance of the catalog nor a known GPU"):
        recorded_step(profile, context.catalog, context.gpus, ["p9"])


SAMPLE = "resnet50-128px-b64-g4dn"


@pytest.fixture
def question(samples) -> AdviseQuestion:
    sample = samples[SAMPLE]
    return AdviseQuestion(
        profile=sample.profile,
        anchor=sample.anchor,
        latency_ms=sample.latency_ms,
        images=50_000,
        epochs=2,
        include_retired=True,
    )


def original(rows):
    return preset_rows(rows, Preset.ORIGINAL)


@pytest.mark.parametrize("whole_nodes", [False, True])
@pytest.mark.parametrize(("axis", "field", "size"), [("batch", "at_batch", 32), ("pixels", "at_pixels", 224)])
def test_each_size_is_as_advice_says(context, question, axis, field, size, whole_nodes):
    question = structs.replace(question, whole_nodes=whole_nodes, gpu=("T4", "V100"))
    answer = answer_sizes(context, answer_advise(context, question), axis, [32, 64, 128, 224])
    advice = answer_advise(context, structs.replace(question, **{field: size}))
    plans = {row.label: row for row in advice.rows if row.has_number}
    compared = 0
    for curve in answer.curves:
        point = curve.points[answer.sizes.index(size)]
        if curve.row.label in plans:
            plan, compared = plans[curve.row.label], compared + 1
            assert (point.latency_ms, point.total_s, point.total_usd) == pytest.approx(
                (plan.latency_ms, plan.total_s, plan.total_usd), rel=1e-12
            )
            assert (point.gpus, point.interval) == (plan.gpus, pytest.approx(plan.interval))
    assert compared > 4


def test_rows_are_the_advice_s_or_at_the_largest_batch(context, question):
    at = answer_sizes(context, answer_advise(context, question), "batch", [64], choose=original)
    assert len(at.rows) == 4
    assert {*at.rows} == {*original(at.advice.rows)}
    large = structs.replace(question, at_pixels=256)
    advice = answer_advise(context, large)
    largest = at_largest_batch(context, advice, original(advice.rows))
    assert len(largest) == 4
    for row in largest:
        assert row.batch_size == min(row.fit.largest_batch, 256)
    assert {row.batch_size for row in largest} != {256}


def test_what_is_not_known_is_required_by_the_arguments_name(context, question, models, catalog, sample):
    bare = question.profile.with_meta(batch_size=None, pixels=None)
    asked = structs.replace(question, profile=bare, images=None)
    with pytest.raises(InputError, match="batch size"):
        answer_sizes(context, answer_advise(context, asked), "batch", [64])
    with pytest.raises(InputError, match="profiled_pixels"):
        answer_sizes(context, answer_advise(context, structs.replace(asked, profiled_batch=64)), "pixels", [64])
    nowhere = sample.profile.with_meta(gpu=None)
    with pytest.raises(InputError, match="give it with anchor"):
        advise(models, catalog, nowhere, images=50_000)


def test_the_scaler(context, models):
    asked = ScaleQuestion(instance="p3.2xlarge", axis="batch", min_ms=10, max_ms=100, at=128)
    scaled, curve_ms = answer_scale(context, asked, [16, 128, 256])
    assert scaled == scale(models, "p3.2xlarge", "batch", 10, 100, 128)
    assert curve_ms == [10.0, scaled.latency_ms, 100.0]
    documented, _ = answer_scale(context, structs.replace(asked, method="profet"))
    assert documented == scale(models, "p3.2xlarge", "batch", 10, 100, 128, method="profet")
    shared, _ = answer_scale(context, structs.replace(asked, instance="L4"))
    assert (shared.instance, shared.latency_ms) == ("L4", scale(models, None, "batch", 10, 100, 128).latency_ms)
    with pytest.raises(InputError, match="p9"):
        answer_scale(context, structs.replace(asked, instance="p9"))


GPUS = load_gpus()
HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"


@pytest.fixture(scope="module")
def profile(samples):
    return samples["vgg16-224px-b16-g3s"].profile


@pytest.fixture(scope="module")
def every_gpu(models, catalog):
    """The catalog with an instance of each GPU."""
    rows = [f"my.{at},{name},1,,,1,any,linux,on-demand,,2026-11-23,a bill" for at, name in enumerate(GPUS)]
    return Context(models, catalog.with_custom(parse_custom_instances("\n".join([HEADER, *rows]), catalog)), GPUS)


def is_sound(row) -> bool:
    return 0 < row.interval.low_ms <= row.latency_ms <= row.interval.high_ms < math.inf


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_is_an_anchor(every_gpu, profile, name):
    printed = name if name.startswith("AMD ") else f"NVIDIA {name}"
    recorded = profile.with_meta(gpu=printed)
    answer = answer_predict(every_gpu, PredictQuestion(profile=recorded)).prediction
    rows = [row for row in answer.predictions if row.interval is not None]
    assert len(rows) > 100
    assert all(is_sound(row) for row in rows)


@pytest.mark.parametrize("precision", ["as profiled", "amp", "bf16"])
def test_every_gpu_is_a_target(every_gpu, profile, precision):
    recorded = profile.with_meta(gpu="Tesla T4")
    asked = PredictQuestion(profile=recorded, latency_ms=500.0, precision=precision)
    rows = {row.instance: row for row in answer_predict(every_gpu, asked).prediction.predictions}
    mine = [rows[f"my.{at}"] for at in range(len(GPUS))]
    assert all(is_sound(row) for row in mine)


def test_advice_knows_every_gpu(every_gpu, profile):
    recorded = profile.with_meta(gpu="Tesla T4")
    asked = AdviseQuestion(profile=recorded, latency_ms=500.0, images=50_000)
    offered = {plan.offer.name for plan in answer_advise(every_gpu, asked).advice.plans}
    assert {f"my.{at}" for at in range(len(GPUS))} <= offered


ANCHOR = "g3s.xlarge"
INTERVAL = {"latency_ms", "low_ms", "high_ms"}


@pytest.fixture(scope="module")
def sample(samples):
    return samples["vgg16-224px-b16-g3s"]


def test_the_package_shows_what_it_exports_and_reads_a_profile_from_a_path(sample, tmp_path):
    assert read_profile(str(sample.path)) == read_profile(sample.path) == sample.profile
    with pytest.raises(ProfileError, match=r"missing\.json can't be read: No such file"):
        read_profile(tmp_path / "missing.json")
    with pytest.raises(ProfileError, match="can't be read"):
        read_profile("a\0b")
    assert profet_core.__version__ == VERSION
    assert {"predict", "cost_table", "advise", "scale", "estimate", "scaleout", "load_models"} <= set(dir(profet_core))
    assert all(hasattr(profet_core, name) for name in profet_core.__all__)
    with pytest.raises(AttributeError):
        _ = profet_core.nothing
    code = "import sys, profet_core\nassert not [name for name in sys.modules if name.startswith('profet_core.')]"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_predict_uses_the_latency_that_the_profile_has(models, catalog, sample):
    profile = sample.profile.with_meta(step_latency_ms=sample.latency_ms)
    with_its_own = predict(models, catalog, profile, ANCHOR)
    given = predict(models, catalog, sample.profile, ANCHOR, latency_ms=sample.latency_ms)
    assert with_its_own.latencies_ms == given.latencies_ms
    without = predict(models, catalog, profile, ANCHOR, without_latency=True)
    assert without.latencies_ms == predict_many(models, catalog, [sample.profile], ANCHOR)[0].latencies_ms
    assert without.anchor_latency_ms is None and without.latencies_ms != with_its_own.latencies_ms


def test_one_name_stands_for_a_list_of_one_and_every_answer_is_a_flat_table(models, catalog, sample):
    given = {"images": 50_000, "latency_ms": sample.latency_ms, "profiled_batch": 16}
    one, several = (advise(models, catalog, sample.profile, ANCHOR, gpu=gpu, **given) for gpu in ("V100", ["V100"]))
    assert one.to_frame().equals(several.to_frame())
    assert set(one.to_frame().gpu) >= {"Tesla V100-SXM2-16GB"}
    prediction = predict(models, catalog, sample.profile, ANCHOR, targets="p3.2xlarge")
    assert [row.instance for row in prediction.predictions] == [ANCHOR, "p3.2xlarge"]
    prediction = predict(models, catalog, sample.profile, ANCHOR, latency_ms=sample.latency_ms)
    costs = cost_table(prediction.latencies_ms, catalog, images=50_000, batch_size=16)
    tables = [
        prediction.to_frame(),
        advise(models, catalog, sample.profile, ANCHOR, images=50_000, profiled_batch=16).to_frame(),
        estimate(models, catalog, "ResNet50", batch=64).to_frame(),
        scaleout(models, catalog, step_ms=180.0, batch=64, gpu="V100", network="ResNet50").to_frame(),
    ]
    assert all(set(table.columns) >= INTERVAL for table in tables)
    assert {"total_s", "total_usd"} <= set(costs.to_frame().columns)
    for table in [*tables, costs.to_frame()]:
        assert not [name for name in table if table[name].map(lambda cell: isinstance(cell, list | dict)).any()]


def test_custom_gpus_are_in_the_catalog_and_predicted(models, sample, tmp_path, monkeypatch):
    own = tmp_path / "gpus.csv"
    own.write_text(custom_gpus_text([custom_gpu_from({"gpu": "Lab card", "like": "A40"}, load_gpus())]))
    monkeypatch.setenv("PROFET_GPUS", str(own))
    catalog = load_catalog()
    assert "Lab card" in {entry.gpu for entry in catalog.values()}
    table = predict(load_models(), catalog, sample.profile, ANCHOR).to_frame()
    assert table[table.gpu == "Lab card"].latency_ms.notna().all() and (table.gpu == "Lab card").any()


def test_the_images_of_a_training_count_on_several_gpus(models, catalog, sample):
    given = {"anchor": ANCHOR, "latency_ms": sample.latency_ms, "profiled_batch": 16, "images": 50_000}
    asked = ScaleoutQuestion(profile=sample.profile, network="VGG16", **given)
    answer = answer_scaleout(Context(models, catalog, load_gpus()), asked)
    assert answer.curve[0].epoch_s == pytest.approx(sample.latency_ms / 1e3 * 50_000 / 16)
    other = scaleout(models, catalog, sample.profile, network="VGG16", **given)
    assert other.to_frame().equals(answer.to_frame())
