"""The step latencies of a training at the size that was profiled."""

from __future__ import annotations

import pytest

from profet_core import predict
from profet_core.training.steps import steps_as_profiled


@pytest.fixture(scope="module")
def prediction(models, catalog, samples):
    sample = samples["resnet50-128px-b16-g4dn"]
    return predict(models, catalog, sample.profile, sample.anchor)


def test_at_the_profiled_batch_the_latencies_are_the_prediction_s(models, prediction):
    steps = steps_as_profiled(prediction, 16)
    assert (steps.batch_size, steps.carried, steps.problems) == (16, False, {})
    assert steps.step_times == prediction.predictions
    assert steps.latencies_ms == prediction.latencies_ms
    assert prediction.anchor not in steps.latencies_ms, "nobody gave the anchor's latency"
    assert set(steps.intervals) == set(prediction.latencies_ms)
