"""A machine with many cells beside the published four: models of its own pairs, shown by every channel.

Its cells are g4dn.xlarge's measurements, under another name and the name of an unprofiled GPU. VGG11 is none
of them: its steps check the predictions. The shipped models behind the analytical model know g4dn.xlarge and VGG11; the
models of the pairs have not seen VGG11.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.served_app import served_endpoint
from profet_cli.main import main
from profet_core import predict
from profet_core.answers.questions import load_served
from profet_core.profiles import read_profile
from profet_lab.datasets.dataset import Dataset, InstanceFacts
from profet_lab.datasets.write import write_dataset
from tests.cli.own_data import published_of, write_own
from tests.made.uncompiled import without_compiling
from tests.recorder.runs import needs

pytestmark = needs("sklearn", "tensorflow")
NAME, GPU, TWIN = "desk.2080ti", "GeForce RTX 2080 Ti", "g4dn.xlarge"
NETWORKS = ("AlexNet", "MobileNetV2", "ResNet18", "ResNet50", "VGG13")
LEFT_OUT = "VGG11"
OTHERS = ("g3s.xlarge", "p2.xlarge", "p3.2xlarge")
#: Enough for these networks: what is asserted is an error far below a guess, not the best there is.
STEPS = 60


@pytest.fixture(scope="module")
def published() -> Dataset:
    """One run of each workload of six networks."""
    return published_of([*NETWORKS, LEFT_OUT])


@pytest.fixture(scope="module")
def folders(published, tmp_path_factory):
    """The published data, and `own(cells)`: a folder with so many of the new machine's."""
    room = tmp_path_factory.mktemp("data")
    table = published.cells
    profiled = table[(table["instance"] == TWIN) & table["steps_profiled"].notna() & (table["model"] != LEFT_OUT)]
    write_dataset(published, room / "published")

    def own(count: int) -> Path:
        cells = profiled.sample(count, random_state=1)
        facts = InstanceFacts(GPU, "", "cascade-lake")
        return write_own(room / f"own-{count}", cells, published.operations, NAME, facts)

    return SimpleNamespace(published=room / "published", own=own, most=len(profiled))


@pytest.fixture(scope="module")
def trained(folders, tmp_path_factory) -> Iterator[SimpleNamespace]:
    """Trained once; the machine has a price, and is in the catalog of the command line and of the server."""
    room = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        from profet_lab.own_gpus import pair_models

        without_compiling(patch)
        patch.setattr(pair_models, "write_pairs", partial(pair_models.write_pairs, steps=STEPS, quiet=True))
        patch.setenv("PROFET_INSTANCES", str(room / "instances.csv"))
        assert main(["instances", "add", NAME, "--gpu", GPU, "--usd-per-hour", "0.2"]) == 0
        data = ["--data", str(folders.published), "--data", str(folders.own(folders.most))]
        assert main(["train", *data, "--out", str(room / "models")]) == 0
        yield SimpleNamespace(models=room / "models", catalog=room / "instances.csv")


@pytest.fixture
def profiles(published, tmp_path):
    """`profiles(instance)`: the held-out network's larger steps there, each a file, its latency and its workload."""
    table = published.cells

    def files(instance: str):
        own = table[(table["instance"] == instance) & (table["model"] == LEFT_OUT) & (table["pixels"] >= 64)]
        for row in own[own["steps_profiled"].notna()].itertuples():
            times = published.operations[published.operations["cell"] == row.cell]
            meta = {"batch_size": int(row.batch_size), "pixels": int(row.pixels), "steps": 1}
            profile = {"operations": dict(zip(times["operation"], times["time_us"], strict=True)), "meta": meta}
            path = tmp_path / f"{instance}-{row.pixels}-{row.batch_size}.json"
            path.write_text(json.dumps(profile))
            yield path, row.batch_latency_ms, (row.pixels, row.batch_size)

    return lambda instance: list(files(instance))


@pytest.fixture
def steps_ms(published):
    """Instance -> workload -> its measured step of the held-out network."""
    table = published.cells[published.cells["model"] == LEFT_OUT]
    return {
        name: {(row.pixels, row.batch_size): row.batch_latency_ms for row in own.itertuples()}
        for name, own in table.groupby("instance")
    }


def error_percent(found_ms, true_ms) -> float:
    return 100 * float(np.mean(np.abs(np.array(found_ms) / np.array(true_ms) - 1)))


@pytest.fixture
def known(trained, monkeypatch):
    """Models and catalog that know the machine, as a server loads them."""
    for name in ("PROFET_INSTANCES", "PROFET_APP_INSTANCES"):
        monkeypatch.setenv(name, str(trained.catalog))
    monkeypatch.setenv("PROFET_HOME", str(trained.models))
    context = load_served().context
    return context.models, context.catalog


def test_a_held_out_network_is_predicted_to_and_from_the_machine(known, profiles, steps_ms):
    found = {"to": [], "from": []}
    for anchor in OTHERS:
        for path, latency_ms, workload in profiles(anchor):
            profile = read_profile(path.read_bytes(), path.name)
            answer = predict(*known, profile, anchor, latency_ms=latency_ms)
            row = next(row for row in answer.predictions if row.instance == NAME)
            assert (row.basis, row.note) == ("measured", "") and row.interval.low_ms < row.latency_ms
            found["to"].append((row.latency_ms, steps_ms[TWIN][workload]))
    for path, latency_ms, workload in profiles(TWIN):
        profile = read_profile(path.read_bytes(), path.name)
        answer = predict(*known, profile, NAME, latency_ms=latency_ms)
        rows = {row.instance: row for row in answer.predictions}
        assert rows[NAME].basis == "given" and {rows[name].basis for name in OTHERS} == {"measured"}
        assert not any("no profiles of" in text for text in answer.warnings)
        found["from"] += [(rows[name].latency_ms, steps_ms[name][workload]) for name in OTHERS]
    errors = {way: error_percent(*zip(*pairs, strict=True)) for way, pairs in found.items()}
    assert len(found["to"]) > 30 and len(found["from"]) > 30
    assert errors["to"] < 12 and errors["from"] < 12, errors


def test_every_channel_shows_it_as_target_and_as_anchor(trained, known, document, profiles, tmp_path):
    (to, to_ms, _), (back, back_ms, _) = profiles("p3.2xlarge")[-1], profiles(TWIN)[-1]
    asked = [(to, "p3.2xlarge", to_ms, NAME), (back, NAME, back_ms, "g3s.xlarge"), (back, GPU, back_ms, "p2.xlarge")]
    with served_endpoint(PROFET_HOME=str(trained.models), PROFET_APP_INSTANCES=str(trained.catalog)) as port:
        for path, anchor, latency_ms, target in asked:
            options = ["--anchor", anchor, "--latency-ms", latency_ms, "--models", trained.models]
            printed = document("predict", path, *options)
            row = next(row for row in printed["predictions"] if row["instance"] == target)
            assert row["basis"] == "measured"
            body = {"profile": json.loads(path.read_text()), "anchor": anchor, "latency_ms": latency_ms}
            sent = urllib.request.Request(
                f"http://127.0.0.1:{port}/v1/predict", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(sent, timeout=60) as reply:
                assert row in json.load(reply)["predictions"]
            profile = read_profile(path.read_bytes(), path.name)
            shown = predict(*known, profile, anchor, latency_ms=latency_ms)
            assert {one.instance: one.latency_ms for one in shown.predictions}[target] == row["latency_ms"]
    advised = ["--images", 50_000, "--epochs", 1, "--profiled-batch", 64, "--report", tmp_path / "report.html"]
    advice = document("advise", to, "--anchor", "p3.2xlarge", "--models", trained.models, *advised)
    assert NAME in json.dumps(advice) and NAME in (tmp_path / "report.html").read_text()


def test_too_few_cells_calibrate_and_say_why(folders, tmp_path, document, profiles, known):
    data = ["--data", folders.published, "--data", folders.own(20), "--out", tmp_path / "few"]
    found = document("train", *data)
    assert found["pairs"] == [] and [row["cells"] for row in found["gpus"]] == [20]
    without = {(row["anchor"], row["target"]): row["why"] for row in found["pairs_without"]}
    assert len(without) == 8 and "models need 50 of 5" in without[NAME, "p3.2xlarge"]
    assert "models need 100 of 5" in without["p3.2xlarge", NAME]
    path, latency_ms, _ = profiles("p3.2xlarge")[0]
    models = ["--models", tmp_path / "few"]
    rows = document("predict", path, "--anchor", "p3.2xlarge", "--latency-ms", latency_ms, *models)["predictions"]
    assert {row["instance"]: row["basis"] for row in rows}[NAME] == "calibrated"
