"""Custom models are combined with the analytical model, in the measured precision, on the machine and its GPU."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from functools import cache

import pytest

from profet_core import load_models, predict
from profet_core.artifacts.models import LayerRecord, OwnMachine
from profet_core.catalog import load_gpus
from profet_core.files import manifest_checksum
from profet_core.messages import Code
from profet_core.prediction.targets import basis_by_instance
from tests.codes import codes

NAME, TWIN, SHARE = "desk", "g4dn.xlarge", 0.25
#: Without TF32 cores, and with them.
PLAIN, WITH_TF32 = "GeForce RTX 2080 Ti", "GeForce RTX 3090"


def renamed(value):
    """A manifest's content with the twin under the machine's name; files keep theirs."""
    if isinstance(value, dict):
        return {NAME if key == TWIN else key: one if key == "files" else renamed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one) for one in value]
    return NAME if value == TWIN else value


@pytest.fixture(scope="module")
def layered(repository, tmp_path_factory):
    """`layered(gpu, tf32)`: the shipped models, and over them their own models of g4dn.xlarge as those of a machine."""

    @cache
    def write(gpu: str, tf32: bool = False):
        folder = tmp_path_factory.mktemp("layered") / "models"
        left_out = shutil.ignore_patterns("*.md", "*validation*", "real_profiles*", "estimate*")
        shutil.copytree(repository / "models", folder, ignore=left_out)
        there = shutil.copytree(folder, folder / "own_pairs" / "0", ignore=shutil.ignore_patterns("own_pairs"))
        manifest = renamed(json.loads((there / "manifest.json").read_text()))
        # The machine's name in the folders of files too, as the reference of an anchor is found by its name.
        (there / TWIN).rename(there / NAME)
        manifest["files"] = {name.replace(TWIN, NAME): one for name, one in manifest["files"].items()}
        for row in manifest["stacks"]:
            row["file"] = row["file"].replace(TWIN, NAME)
        manifest["checksum"] = manifest_checksum(manifest)
        (there / "manifest.json").write_text(json.dumps(manifest))
        layer = LayerRecord("own_pairs/0", manifest["checksum"], (OwnMachine(NAME, gpu, tf32),), 307, 15, SHARE)
        content = {"schema_version": 1, "base_checksum": load_models(folder).manifest["checksum"]}
        content["layers"] = [asdict(layer)]
        content["checksum"] = manifest_checksum(content)
        (folder / "own_pairs.json").write_text(json.dumps(content))
        return load_models(folder)

    return write


@pytest.fixture
def catalog_of(catalog):
    """The catalog with the machine in it, with this GPU, and another one with the same GPU."""

    def with_machines(gpu: str):
        memory_gib = load_gpus()[gpu].memory_gib
        own = replace(catalog[TWIN], name=NAME, gpu=gpu, gpu_memory_gib=memory_gib, provider="own", host="")
        return catalog.with_own([own, replace(own, name="other")])

    return with_machines


def rows_of(models, catalog, sample, anchor, **asked):
    found = predict(models, catalog, sample.profile, anchor, latency_ms=sample.latency_ms, **asked)
    return {row.instance: row for row in found.predictions}


@pytest.fixture
def sample(samples):
    return samples["vgg16-224px-b16-g3s"]


def test_a_machine_is_predicted_by_analytical_and_learned_models(layered, models, catalog_of, sample):
    catalog = catalog_of(PLAIN)
    law = rows_of(models, catalog, sample, sample.anchor)
    found = rows_of(layered(PLAIN), catalog, sample, sample.anchor)
    assert law[NAME].basis == "transferred" and (found[NAME].basis, found[NAME].note) == ("measured", "")
    joined_ms = law[NAME].latency_ms ** SHARE * law[TWIN].latency_ms ** (1 - SHARE)
    assert found[NAME].latency_ms == pytest.approx(joined_ms)
    assert found[NAME].interval.log_half_width == pytest.approx(law[TWIN].interval.log_half_width)
    assert found[NAME].members.keys() == law[TWIN].members.keys()
    # The same GPU in another host: the same step, with doubt about the host.
    assert found["other"].latency_ms == found[NAME].latency_ms and found["other"].basis == "measured"
    assert found["other"].interval.log_half_width > found[NAME].interval.log_half_width
    assert found["other"].note == f"latency of {NAME}, which has the same GPU"
    for name in models.instances:
        assert found[name] == law[name], "what ships stays"


def test_profiled_instances_are_predicted_from_a_machine_the_same_way(layered, models, catalog_of, samples):
    catalog = catalog_of(PLAIN)
    sample = next(one for one in samples.values() if one.anchor == TWIN)
    law = rows_of(models, catalog, sample, NAME)
    by_models = rows_of(models, catalog, sample, TWIN)
    for anchor in (NAME, PLAIN):
        found = rows_of(layered(PLAIN), catalog, sample, anchor)
        assert law["p3.2xlarge"].basis == "carried-back"
        for name in ("g3s.xlarge", "p2.xlarge", "p3.2xlarge"):
            joined_ms = law[name].latency_ms ** SHARE * by_models[name].latency_ms ** (1 - SHARE)
            assert (found[name].basis, found[name].note) == ("measured", "")
            assert found[name].latency_ms == pytest.approx(joined_ms)
        # So are offers with a GPU of these.
        offer = found["p3.8xlarge"]
        assert offer.basis == "measured" and offer.note.startswith("latency of p3.2xlarge, which has the same GPU")
        assert offer.latency_ms == found["p3.2xlarge"].latency_ms
        # Of the twin itself there is no pair: it is carried back as before.
        assert found[TWIN].basis == "carried-back" and found[TWIN].latency_ms == law[TWIN].latency_ms
    answer = predict(layered(PLAIN), catalog, sample.profile, NAME, latency_ms=sample.latency_ms)
    assert Code.UNTRAINED_ANCHOR not in codes(answer)
    without = predict(models, catalog, sample.profile, NAME, latency_ms=sample.latency_ms)
    assert Code.UNTRAINED_ANCHOR in codes(without)


def test_only_what_ran_in_the_precision_that_is_asked_for_counts(layered, catalog_of, sample):
    catalog, models = catalog_of(WITH_TF32), layered(WITH_TF32, tf32=True)
    assert rows_of(models, catalog, sample, sample.anchor)[NAME].basis == "measured"
    in_tf32 = rows_of(models, catalog, sample, sample.anchor)[NAME]
    in_fp32 = rows_of(models, catalog, sample, sample.anchor, precision="fp32")[NAME]
    # FP32 follows from TF32, with its doubt.
    assert in_fp32.latency_ms >= in_tf32.latency_ms
    assert in_fp32.interval.log_half_width > in_tf32.interval.log_half_width
    for precision, basis in {"tf32": "measured", "fp32": "carried-back"}.items():
        profile = replace(sample.profile, meta=replace(sample.profile.meta, precision=precision))
        answer = predict(models, catalog, profile, NAME, latency_ms=sample.latency_ms)
        assert {row.instance: row.basis for row in answer.predictions}["p3.2xlarge"] == basis


def test_a_machine_of_that_name_with_another_gpu_is_another_one(layered, models, catalog_of, sample):
    catalog = catalog_of("L4")
    found, law = (rows_of(one, catalog, sample, sample.anchor)[NAME] for one in (layered(PLAIN), models))
    assert (found.basis, found.latency_ms, found.interval) == (law.basis, law.latency_ms, law.interval)
    # Lists say what a row rests on, and the documented ensemble is what it was.
    catalog = catalog_of(PLAIN)
    known = (layered(PLAIN), models)
    assert [basis_by_instance(one, catalog)[NAME] for one in known] == ["measured", "transferred"]
    documented, same = (rows_of(one, catalog, sample, sample.anchor, method="profet") for one in known)
    assert documented == same
