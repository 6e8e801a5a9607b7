"""Golden predictions: neither a retrained model nor another stage of a prediction can change answers unnoticed.

After a deliberate retrain: `python -m pytest tests/core/prediction/test_golden.py --update-golden`, and look at the
difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from profet_core import predict
from profet_core.answers.context import Context
from profet_core.answers.predict import predicted_training
from profet_core.catalog.gpus import PRECISIONS
from profet_core.questions import AdviseQuestion, ask

# float32 members on another CPU differ by some units in the seventh digit.
TOLERANCE = 1e-4
HOW = "after a deliberate retrain: python -m pytest tests/core/prediction/test_golden.py --update-golden"


def predictions_now(models, catalog, samples) -> dict:
    """Sample -> method, with or without latency -> instance -> milliseconds; of each GPU the first instance."""
    first = {entry.gpu: name for name, entry in reversed(list(catalog.items()))}

    def ask(sample, method: str, latency_ms: float | None) -> dict[str, float]:
        prediction = predict(
            models,
            catalog,
            sample.profile,
            sample.anchor,
            latency_ms=latency_ms,
            without_latency=latency_ms is None,
            method=method,
        )
        return {name: ms for name, ms in prediction.latencies_ms.items() if name in first.values()}

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


#: Anchors without models, with and without TF32, which some are derived from and others transferred to.
ANCHORS = ("A10G", "GeForce RTX 2080 Ti", "A100-SXM4-80GB", "gcp/n1-standard-4+1xV100")
RESNET, AMP, SMALL = "resnet50-224px-b64-g4dn", "resnet50-224px-b64-p3-amp", "resnet50-128px-b16-g4dn"


def questions(samples) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name of a question, and its fields."""
    for name, precision, sizes in product((RESNET, AMP, "lenet5-32px-b16-g3s"), PRECISIONS, ({}, {"at_batch": 100})):
        sample = samples[name]
        asked = {"profile": sample.profile, "anchor": sample.anchor, "precision": precision, **sizes}
        yield f"{name} {precision} {sizes}", asked
    for anchor, precision, latency_ms in product(ANCHORS, ("as profiled", "fp32", "amp"), (80.0, None)):
        asked = {"profile": samples[SMALL].profile, "anchor": anchor, "precision": precision}
        asked |= {"latency_ms": latency_ms, "without_latency": latency_ms is None, "at_batch": 100, "at_pixels": 160}
        asked["trust_latency"] = latency_ms is not None
        yield f"{anchor} {precision} {latency_ms}", asked
    for method, more in product(("default", "profet"), ({}, {"at_batch": 64}, {"at_batch": 256, "at_pixels": 192})):
        asked = {"profile": samples[SMALL].profile, "anchor": "g4dn.xlarge", "method": method, **more}
        yield f"two {method} {more}", {**asked, "second": samples["resnet50-128px-b256-g4dn"].profile}
        yield f"measured {method} {more}", {**asked, "measured": {"p3.2xlarge": 40.0}}


def steps_now(models, catalog, samples) -> dict[str, dict[str, list]]:
    """Question -> one instance of each basis and GPU -> milliseconds, both ends of the interval, and basis."""
    context, answers = Context(models, catalog, models.transfer.gpus), {}
    for name, asked in questions(samples):
        steps = predicted_training(context, ask(AdviseQuestion, {"images": None, **asked})).step_times
        known = [row for row in steps if row.latency_ms is not None]
        rows = {(row.basis, row.offer.gpu, row.offer.host): row for row in reversed(known)}
        answers[name] = {
            row.instance: [
                row.latency_ms,
                *((row.interval.low_ms, row.interval.high_ms) if row.interval else ()),
                row.basis,
            ]
            for row in rows.values()
        }
    return answers


def test_steps_of_every_stage_are_the_golden_ones(request, repository, models, catalog, samples, amp_sample):
    path = repository / "tests" / "core" / "prediction" / "golden" / "steps.json"
    now = steps_now(models, catalog, {**samples, AMP: amp_sample})
    if request.config.getoption("--update-golden"):
        rounded = {
            name: {
                instance: [f"{one:.9g}" if isinstance(one, float) else one for one in row]
                for instance, row in rows.items()
            }
            for name, rows in now.items()
        }
        path.write_text(json.dumps(rounded, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    expected = json.loads(path.read_text())
    assert list(now) == list(expected), HOW
    for name, rows in now.items():
        assert list(rows) == list(expected[name]), (name, HOW)
        for instance, (*numbers, basis) in rows.items():
            *golden, golden_basis = expected[name][instance]
            assert basis == golden_basis, (name, instance, HOW)
            assert numbers == pytest.approx([float(one) for one in golden], rel=TOLERANCE), (name, instance, HOW)
