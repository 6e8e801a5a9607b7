"""The library as a data scientist uses it: plain arguments, clear errors, tables."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

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
    scaleout,
)
from profet_core.answers.library import PYTHON
from profet_core.answers.questions import Context
from profet_core.answers.scaleout import ScaleoutQuestion, answer_scaleout
from profet_core.catalog.gpus import load_gpus
from profet_core.catalog.own_gpus import own_gpu_of, own_gpus_text
from profet_core.fields.questions import TrainingQuestion
from profet_core.version import VERSION

ANCHOR = "g3s.xlarge"
INTERVAL = {"latency_ms", "low_ms", "high_ms"}


@pytest.fixture(scope="module")
def sample(samples):
    return samples["vgg16-224px-b16-g3s"]


def test_the_package_shows_what_it_exports_and_its_version():
    assert profet_core.__version__ == VERSION
    assert {"predict", "cost_table", "advise", "scale", "estimate", "scaleout", "load_models"} <= set(dir(profet_core))
    assert all(hasattr(profet_core, name) for name in profet_core.__all__)
    with pytest.raises(AttributeError):
        _ = profet_core.nothing


def test_importing_the_package_loads_nothing_of_it():
    code = "import sys, profet_core\nassert not [name for name in sys.modules if name.startswith('profet_core.')]"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_profile_is_read_from_a_path(sample, tmp_path):
    assert read_profile(str(sample.path)) == read_profile(sample.path) == sample.profile
    with pytest.raises(ProfileError, match=r"missing\.json can't be read: No such file"):
        read_profile(tmp_path / "missing.json")
    with pytest.raises(ProfileError, match="can't be read"):
        read_profile("a\0b")


def test_predict_uses_the_latency_that_the_profile_has(models, catalog, sample):
    profile = replace(sample.profile, meta=replace(sample.profile.meta, step_latency_ms=sample.latency_ms))
    with_its_own = predict(models, catalog, profile, ANCHOR)
    assert with_its_own == predict(models, catalog, sample.profile, ANCHOR, latency_ms=sample.latency_ms)
    without = predict(models, catalog, profile, ANCHOR, without_latency=True)
    assert without == predict_many(models, catalog, [sample.profile], ANCHOR)[0]
    assert without.anchor_latency_ms is None and without.latencies_ms != with_its_own.latencies_ms


def test_one_name_stands_for_a_list_of_one(models, catalog, sample):
    given = {"images": 50_000, "latency_ms": sample.latency_ms, "profiled_batch": 16}
    one, several = (advise(models, catalog, sample.profile, ANCHOR, gpu=gpu, **given) for gpu in ("V100", ["V100"]))
    assert one.to_frame().equals(several.to_frame())
    assert set(one.to_frame().gpu) >= {"Tesla V100-SXM2-16GB"}
    found = predict(models, catalog, sample.profile, ANCHOR, targets="p3.2xlarge")
    assert [row.instance for row in found.predictions] == [ANCHOR, "p3.2xlarge"]


def test_own_gpus_are_in_the_catalog_and_predicted(models, sample, tmp_path, monkeypatch):
    own = tmp_path / "gpus.csv"
    own.write_text(own_gpus_text([own_gpu_of({"gpu": "Lab card", "like": "A40"}, load_gpus())]))
    monkeypatch.setenv("PROFET_GPUS", str(own))
    catalog = load_catalog()
    assert "Lab card" in {entry.gpu for entry in catalog.values()}
    found = predict(load_models(), catalog, sample.profile, ANCHOR).to_frame()
    assert found[found.gpu == "Lab card"].latency_ms.notna().all() and (found.gpu == "Lab card").any()


def test_the_images_of_a_training_count_on_several_gpus(models, catalog, sample):
    known = Context(models, catalog, load_gpus())
    training = TrainingQuestion(
        profile=sample.profile, anchor=ANCHOR, latency_ms=sample.latency_ms, profiled_batch=16, images=50_000
    )
    answer = answer_scaleout(known, ScaleoutQuestion(training=training, network="VGG16"), PYTHON)
    assert answer.images == 50_000
    other = scaleout(
        models, catalog, sample.profile, anchor=ANCHOR, latency_ms=sample.latency_ms, profiled_batch=16,
        images=50_000, network="VGG16",
    )  # fmt: skip
    assert other.to_frame().equals(answer.to_frame())


def test_every_answer_is_a_flat_table(models, catalog, sample):
    found = predict(models, catalog, sample.profile, ANCHOR, latency_ms=sample.latency_ms)
    costs = cost_table(found.latencies_ms, catalog, images=50_000, batch_size=16)
    tables = [
        found.to_frame(),
        advise(models, catalog, sample.profile, ANCHOR, images=50_000, profiled_batch=16).to_frame(),
        estimate(models, catalog, "ResNet50", batch_size=64).to_frame(),
        scaleout(models, catalog, step_ms=180.0, batch=64, gpu="V100", network="ResNet50").to_frame(),
    ]
    assert all(set(table.columns) >= INTERVAL for table in tables)
    assert {"total_s", "total_usd"} <= set(costs.to_frame().columns)
    for table in [*tables, costs.to_frame()]:
        assert not [name for name in table if table[name].map(lambda cell: isinstance(cell, list | dict)).any()]


def test_many_predictions_are_those_of_each(models, catalog, sample):
    together = predict_many(models, catalog, [sample.profile] * 3, ANCHOR)
    assert len(together) == 3 and together[:2] == [together[0], together[1]]
    alone = predict(models, catalog, sample.profile, ANCHOR, without_latency=True)
    # In single precision, products of several rows add up in another order.
    assert together[2].latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-5)


def test_errors_name_arguments_as_they_are(models, catalog, sample):
    nowhere = replace(sample.profile, meta=replace(sample.profile.meta, gpu=None))
    with pytest.raises(InputError, match="give it with anchor"):
        advise(models, catalog, nowhere, images=50_000)
