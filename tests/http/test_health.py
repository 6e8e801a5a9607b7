"""Healthy means: the models load, are whole, and predict what was measured."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from benchmarks.served_app import served_endpoint
from profet_core.answers.questions import Context
from profet_core.artifacts.models import load_models
from profet_core.catalog import load_gpus
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum
from profet_http.context import Health, SharedContext, UnhealthyError, check
from tests.http.conftest import send


@pytest.fixture
def folder(repository, tmp_path):
    """A copy of the shipped models."""
    return shutil.copytree(repository / "models", tmp_path / "models")


def context(folder, catalog) -> Context:
    return Context(load_models(folder), catalog, load_gpus())


def damage(folder) -> None:
    """One bit of one network."""
    path = folder / next(iter(json.loads((folder / "manifest.json").read_bytes())["files"]))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_whole_server_is_healthy(get, port):
    answer = get("/v1/health")
    assert (answer.status, answer.document["status"]) == (200, "ok")
    assert answer.document["predicted"] >= 4


def test_models_that_are_damaged_while_they_are_served_are_found(folder, catalog):
    served = context(folder, catalog)
    assert check(served)["status"] == "ok"
    damage(folder)
    with pytest.raises(ArtifactError, match="damaged"):
        check(served)


def test_models_that_predict_something_else_are_found_though_every_checksum_is_right(folder, catalog):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for row in manifest["stacks"]:
        row["targets"].reverse()
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    load_models(folder).verify()
    with pytest.raises(UnhealthyError, match="predicted"):
        check(context(folder, catalog))


def test_a_server_with_damaged_models_starts_says_so_and_answers_nothing(folder, asked):
    damage(folder)
    with served_endpoint(PROFET_HOME=str(folder)) as port:
        for answer in (
            send(port, "GET", "/v1/health"),
            send(port, "POST", "/v1/predict", json.dumps(asked).encode(), "application/json"),
        ):
            assert answer.status == 503 and "models" in answer.error and str(folder) not in answer.error
            assert answer.headers["retry-after"]
        assert send(port, "GET", "/v1/openapi.json").status == 200


def test_however_often_it_is_asked_it_is_checked_once(catalog, models):
    loads = 0

    def load() -> Context:
        nonlocal loads
        loads += 1
        return Context(models, catalog, load_gpus())

    async def asked_often() -> list:
        health = Health(load)
        return await asyncio.gather(*(health.document() for _ in range(50)))

    found = asyncio.run(asked_often())
    assert loads == 1 and all(document == found[0] and document["status"] == "ok" for document in found)


def test_models_that_failed_to_load_are_not_loaded_for_every_request():
    tries = 0

    def fail() -> Context:
        nonlocal tries
        tries += 1
        raise ArtifactError("There are no models.")

    shared = SharedContext(fail)
    for _ in range(50):
        with pytest.raises(ArtifactError, match="no models"):
            shared.get()
    assert tries == 1
