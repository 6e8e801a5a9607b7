"""A GPU with specs is an anchor by the name its driver prints, and can be rented."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from profet_core.answers.advise import answer_advise
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import Context
from profet_core.catalog import load_gpus
from profet_core.catalog.own import parse_own
from profet_core.fields.questions import AdviseQuestion, FieldNames, PredictQuestion

GPUS = load_gpus()
SPELLING = FieldNames("TRACE", lambda name: f"--{name}")
HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"


@pytest.fixture(scope="module")
def profile(samples):
    return samples["vgg16-224px-b16-g3s"].profile


@pytest.fixture(scope="module")
def context(models, catalog):
    """The catalog with an instance of each GPU."""
    rows = [f"my.{at},{name},1,,,1,any,linux,on-demand,,2026-11-23,a bill" for at, name in enumerate(GPUS)]
    return Context(models, catalog.with_own(parse_own("\n".join([HEADER, *rows]), catalog)), GPUS)


def is_sound(row) -> bool:
    return 0 < row.interval.low_ms <= row.latency_ms <= row.interval.high_ms < math.inf


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_is_an_anchor(context, profile, name):
    printed = name if name.startswith("AMD ") else f"NVIDIA {name}"
    recorded = replace(profile, meta=replace(profile.meta, gpu=printed))
    answer = answer_predict(context, PredictQuestion(profile=recorded), SPELLING).prediction
    rows = [row for row in answer.predictions if row.interval is not None]
    assert len(rows) > 100
    assert all(is_sound(row) for row in rows)


@pytest.mark.parametrize("precision", ["as profiled", "amp", "bf16"])
def test_every_gpu_is_a_target(context, profile, precision):
    recorded = replace(profile, meta=replace(profile.meta, gpu="Tesla T4"))
    asked = PredictQuestion(profile=recorded, latency_ms=500.0, precision=precision)
    rows = {row.instance: row for row in answer_predict(context, asked, SPELLING).prediction.predictions}
    mine = [rows[f"my.{at}"] for at in range(len(GPUS))]
    assert all(is_sound(row) for row in mine)


def test_advice_knows_every_gpu(context, profile):
    recorded = replace(profile, meta=replace(profile.meta, gpu="Tesla T4"))
    asked = AdviseQuestion(profile=recorded, latency_ms=500.0, images=50_000)
    offered = {plan.offer.name for plan in answer_advise(context, asked, SPELLING).advice.plans}
    assert {f"my.{at}" for at in range(len(GPUS))} <= offered
