"""Golden predictions: a retrained model can't change answers unnoticed.

After a deliberate retrain: `python -m pytest tests/core/prediction/test_golden.py --update-golden`, and look at the
difference.
"""

from __future__ import annotations

import json

import pytest

from profet_core import predict

# float32 members on another CPU differ by some units in the seventh digit.
TOLERANCE = 1e-4
HOW = "after a deliberate retrain: python -m pytest tests/core/prediction/test_golden.py --update-golden"


def predictions_now(models, catalog, samples) -> dict:
    """Sample -> method, with or without latency -> instance -> milliseconds; of each GPU the first instance."""
    first = {entry.gpu: name for name, entry in reversed(list(catalog.items()))}

    def ask(sample, method: str, latency_ms: float | None) -> dict[str, float]:
        found = predict(
            models,
            catalog,
            sample.profile,
            sample.anchor,
            latency_ms=latency_ms,
            without_latency=latency_ms is None,
            method=method,
        )
        return {name: ms for name, ms in found.latencies_ms.items() if name in first.values()}

    return {
        name: {
            f"{method} {'without' if latency_ms is None else 'with'} latency": ask(sample, method, latency_ms)
            for method in models.methods
            for latency_ms in (sample.latency_ms, None)
        }
        for name, sample in samples.items()
    }


@pytest.fixture(scope="module")
def golden(request, repository, models, catalog, samples) -> dict:
    path = repository / "tests" / "core" / "prediction" / "golden" / "predictions.json"
    if request.config.getoption("--update-golden"):
        document = {
            "manifest_checksum": models.manifest["checksum"],
            "predictions": predictions_now(models, catalog, samples),
        }
        path.write_text(json.dumps(document, indent=1) + "\n")
    return json.loads(path.read_text())


def test_the_golden_file_belongs_to_the_shipped_models(golden, models):
    assert golden["manifest_checksum"] == models.manifest["checksum"], HOW


def test_the_golden_file_covers_every_sample(golden, samples):
    assert list(golden["predictions"]) == list(samples), HOW


def test_predictions_of_the_samples_are_the_golden_ones(golden, models, catalog, samples):
    for name, answers in predictions_now(models, catalog, samples).items():
        assert list(answers) == list(golden["predictions"][name]), (name, HOW)
        for method, latencies_ms in answers.items():
            expected = golden["predictions"][name][method]
            assert latencies_ms == pytest.approx(expected, rel=TOLERANCE), (name, method, HOW)
