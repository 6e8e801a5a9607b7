"""Memory fit follows the precision of the training."""

from dataclasses import replace

import pytest

from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import Context
from profet_core.catalog.gpus import load_gpus
from profet_core.fields.questions import FieldNames, PredictQuestion


@pytest.mark.parametrize(("said", "asked", "growth"), [(None, "amp", 0.5), ("amp", "fp32", 2.0), ("amp", "amp", 1.0)])
def test_activations_halve_in_amp(models, catalog, samples, said, asked, growth):
    sample = samples["resnet50-224px-b64-g4dn"]
    meta = replace(sample.profile.meta, precision=said, parameters=25_600_000, peak_memory_mib=6000.0)
    question = PredictQuestion(
        profile=replace(sample.profile, meta=meta),
        anchor=sample.anchor,
        latency_ms=sample.latency_ms,
        trust_latency=True,
    )
    field_names = FieldNames("TRACE", lambda name: name)
    context = Context(models, catalog, load_gpus())
    recorded = answer_predict(context, replace(question, precision=said or "fp32"), field_names)
    found = answer_predict(context, replace(question, precision=asked), field_names)
    before, after = (answer.fits["g3s.xlarge"].largest_batch for answer in (recorded, found))
    assert after == pytest.approx(before / growth, rel=0.05)
