"""A training along its sizes says what advice says at each size; the scaler says what `scale` does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import scale
from profet_core.advice.advise import Preset, preset_rows
from profet_core.answers.advise import answer_advise
from profet_core.answers.questions import Context
from profet_core.answers.sizes import ScaleQuestion, answer_scale, answer_sizes
from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_core.fields.questions import AdviseQuestion, FieldNames

SPELLING = FieldNames("TRACE", lambda name: f"--{name.replace('_', '-')}")
SAMPLE = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def context(models, catalog) -> Context:
    return Context(models, catalog, load_gpus())


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
    question = replace(question, whole_nodes=whole_nodes, gpu=("T4", "V100"))
    found = answer_sizes(context, question, axis, [32, 64, 128, 224], SPELLING)
    advice = answer_advise(context, replace(question, **{field: size}), SPELLING)
    plans = {row.label: row.plan for row in advice.rows if row.plan is not None}
    compared = 0
    for curve in found.curves:
        (point,) = [one for one in curve.points if one.size == size]
        if curve.row.label in plans:
            plan, compared = plans[curve.row.label], compared + 1
            assert (point.plan.latency_ms, point.plan.total_s, point.plan.total_usd) == pytest.approx(
                (plan.latency_ms, plan.total_s, plan.total_usd), rel=1e-12
            )
            assert (point.plan.gpus, point.plan.interval) == (plan.gpus, pytest.approx(plan.interval))
    assert compared > 4


def test_rows_are_the_advice_s_own_or_at_the_largest_batch(context, question):
    at = answer_sizes(context, question, "batch", [64], SPELLING, choose=original)
    assert len(at.rows) == 4
    assert {row.plan.offer.name: row.plan for row in at.rows} == {
        row.offer.name: row.plan for row in original(at.advice.rows)
    }
    large = replace(question, at_pixels=256)
    largest = answer_sizes(context, large, "batch", [64], SPELLING, choose=original, at_largest=True)
    for row in largest.rows:
        assert row.size == row.plan.batch_size == min(row.fit.largest_batch, 256)
    assert {row.size for row in largest.rows} != {256}


def test_what_is_not_known_is_asked(context, question):
    bare = replace(question.profile, meta=replace(question.profile.meta, batch_size=None, pixels=None))
    asked = replace(question, profile=bare, images=None)
    with pytest.raises(InputError, match="batch size"):
        answer_sizes(context, asked, "batch", [64], SPELLING)
    with pytest.raises(InputError, match="--profiled-pixels"):
        answer_sizes(context, replace(asked, profiled_batch=64), "pixels", [64], SPELLING)


def test_the_scaler(context, models):
    asked = ScaleQuestion(instance="p3.2xlarge", axis="batch", min_ms=10, max_ms=100, at=128)
    found = answer_scale(context, asked, [16, 128, 256])
    assert found.scaled == scale(models, "p3.2xlarge", "batch", 10, 100, 128)
    assert found.curve_ms == (10.0, found.scaled.latency_ms, 100.0)
    documented = answer_scale(context, replace(asked, method="profet")).scaled
    assert documented == scale(models, "p3.2xlarge", "batch", 10, 100, 128, method="profet")
    shared = answer_scale(context, replace(asked, instance="L4")).scaled
    assert (shared.instance, shared.latency_ms) == ("L4", scale(models, None, "batch", 10, 100, 128).latency_ms)
    with pytest.raises(InputError, match="p9"):
        answer_scale(context, replace(asked, instance="p9"))
