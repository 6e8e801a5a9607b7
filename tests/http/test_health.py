"""Models load once, few requests run at a time, and healthy means: models are whole and predict what was measured."""

from __future__ import annotations

import asyncio
import json
import shutil
from threading import Event

import pytest

from benchmarks.served_app import served_endpoint
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.custom_gpus import GPU_COLUMNS
from profet_core.catalog.instance import FILE_COLUMNS
from profet_core.errors import ArtifactError, ProfetError
from profet_core.files import manifest_checksum
from profet_core.prediction.models import load_models
from profet_http.app import Health, SharedContext, Workers, check
from profet_http.requests import RequestError
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


def test_a_whole_server_is_healthy(get):
    answer = get("/v1/health")
    assert (answer.status, answer.document["status"]) == (200, "ok")
    assert answer.document["predicted"] >= 4


def test_models_that_are_damaged_while_they_are_served_are_found(folder, catalog):
    served = context(folder, catalog)
    assert check(served)["status"] == "ok"
    damage(folder)
    with pytest.raises(ArtifactError):
        check(served)


def test_models_that_predict_something_else_are_found_though_every_checksum_is_right(folder, catalog):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for row in manifest["stacks"]:
        row["targets"].reverse()
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    load_models(folder).verify()
    with pytest.raises(ProfetError):
        check(context(folder, catalog))


def test_a_server_with_damaged_models_starts_says_so_and_answers_nothing(folder, asked):
    damage(folder)
    with served_endpoint(PROFET_HOME=str(folder)) as port:
        for answer in (
            send(port, "GET", "/v1/health"),
            send(port, "POST", "/v1/predict", json.dumps(asked).encode(), "application/json"),
        ):
            assert answer.status == 503 and str(folder) not in answer.error and answer.headers["retry-after"]
        assert send(port, "GET", "/v1/openapi.json").status == 200


def test_models_are_checked_once_and_a_failed_loading_is_not_repeated(catalog, models):
    loads = []

    def load() -> Context:
        loads.append(1)
        return Context(models, catalog, load_gpus())

    async def asked_often() -> list:
        health = Health(load)
        return await asyncio.gather(*(health.document() for _ in range(50)))

    found = asyncio.run(asked_often())
    assert len(loads) == 1 and all(document == found[0] and document["status"] == "ok" for document in found)

    def fail() -> Context:
        loads.append(1)
        raise ArtifactError("There are no models.")

    shared = SharedContext(fail)
    for _ in range(50):
        with pytest.raises(ArtifactError, match="no models"):
            shared.get()
    assert len(loads) == 2


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    """The file of who runs the server."""
    path = tmp_path / "instances.csv"
    path.write_text(f"{','.join(FILE_COLUMNS)}\nmy.l4,L4,1,24,8,0.5,us-east-1,linux,on-demand,available,2026,mine\n")
    monkeypatch.setenv("PROFET_INSTANCES", str(path))
    monkeypatch.delenv("PROFET_APP_INSTANCES", raising=False)
    return str(path)


def test_own_instances_are_not_shown_unless_they_are_for_everyone(own, tmp_path, monkeypatch, caplog):
    assert list(SharedContext().get().catalog) == list(load_shipped())
    for shown in ("own", own):
        monkeypatch.setenv("PROFET_APP_INSTANCES", shown)
        assert "my.l4" in SharedContext().get().catalog
    # A damaged one is skipped, and the log doesn't say where it is.
    path = tmp_path / "broken.csv"
    path.write_text("instance,gpu\nmy.l4,none\n")
    monkeypatch.setenv("PROFET_APP_INSTANCES", str(path))
    assert list(SharedContext().get().catalog) == list(load_shipped())
    (line,) = caplog.messages
    assert "broken" not in line


@pytest.mark.parametrize(("like", "is_shown"), [("GeForce RTX 2080 Ti", True), ("no such GPU", False)])
def test_gpus_of_one_s_own_are_shown_with_the_instances_beside_them(own, tmp_path, monkeypatch, caplog, like, is_shown):
    row = dict.fromkeys(GPU_COLUMNS, "") | {"gpu": "Quadro RTX 4000", "like": like, "memory_gib": "16"}
    (tmp_path / "gpus.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    assert "quadro-rtx-4000" not in SharedContext().get().catalog
    monkeypatch.setenv("PROFET_APP_INSTANCES", own)
    known = SharedContext().get()
    assert "my.l4" in known.catalog
    assert ("quadro-rtx-4000" in known.catalog) == is_shown == ("Quadro RTX 4000" in known.models.transfer.gpus)
    assert len(caplog.messages) == (not is_shown)


def test_who_finds_no_place_comes_back_and_what_takes_too_long_keeps_its_place():
    ended = Event()

    async def hang() -> None:
        workers = Workers("test", threads=1, places=2, limit_s=0.05)
        for work in (ended.wait, lambda: None):
            # The second waits in the queue, and leaves it.
            with pytest.raises(RequestError, match="too long"):
                await workers.run(work)
        waiting = asyncio.create_task(workers.run(lambda: None))
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="busy") as refused:
            await workers.run(lambda: None)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "2")
        ended.set()
        await waiting
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)

    try:
        asyncio.run(hang())
    finally:
        ended.set()
