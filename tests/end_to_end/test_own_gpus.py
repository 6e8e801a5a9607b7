"""From machines of your own to a number in the app: collected, imported, trained, validated, priced, predicted, and
measured again.

This machine's processor stands in for two GPUs: on one thread and on two. All of it is measured; nothing is made up.
"""

from __future__ import annotations

import json
import math
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.served_app import served
from profet_core import read_profile
from profet_core.latency import Basis
from profet_core.units import format_ms, format_time, format_usd
from tests.browser.conftest import browser, page  # noqa: F401
from tests.browser.test_whole_flow import column, give_file, open_page, settle
from tests.end_to_end.conftest import Person
from tests.recorder.runs import needs

# Measured on both cores: what else runs disturbs it, and it disturbs what else runs.
pytestmark = [pytest.mark.training, needs("torch", "sklearn", "tensorflow", "pyarrow")]

ONE, TWO = "lab.one-thread", "lab.two-threads"
THREADS = {ONE: 1, TWO: 2}
USD_PER_HOUR = {ONE: 0.1, TWO: 0.15}
#: Steps of tens of milliseconds and more: in shorter ones two threads wait for each other more than they work.
NETWORKS = ("CIFAR10_CNN", "MNIST_CNN", "ResNetSmall")
BATCH_SIZES = (24, 48, 96)
CELLS = len(NETWORKS) * len(BATCH_SIZES)
SCRIPT = Path(__file__).with_name("train_own_network.py")
IMAGES, EPOCHS, OWN_BATCH_SIZE = 64_000, 10, 64
#: What a prediction may be off: more than it is, and less than a step counted twice.
WITHIN = 1.5
#: With more programs at work than cores, a prediction that is off says nothing.
DISTURBED_LOAD = (os.cpu_count() or 1) + 0.5


def variables(instance: str) -> dict[str, str]:
    """The environment that a stand-in trains in, whoever starts it."""
    threads = str(THREADS[instance])
    # A thread that waits sleeps: where one core is taken for a moment, spinning takes the other one too.
    return {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE",
            "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip


@pytest.fixture(scope="module")
def collections(person: Person) -> dict[str, dict[str, Any]]:
    """Instance -> what `profet collect` said."""
    grid = ("--models-list", ",".join(NETWORKS), "--pixels", "32", "--batch", ",".join(map(str, BATCH_SIZES)))
    found = {}
    for instance, threads in THREADS.items():
        how = ("--device", "cpu", "--threads", threads, "--frameworks", "pytorch", "--warm-up", 3, "--timed", 7)
        with person.measuring():
            found[instance] = person.document(
                "collect", "--instance", instance, *how, *grid, variables=variables(instance)
            )
    return found


@pytest.fixture(scope="module")
def data(person: Person, collections: dict[str, dict[str, Any]]) -> Path:
    """The measurements of both in one folder of the data layout."""
    for instance, said in collections.items():
        imported = person.document("data", "import", said["out"], "--out", f"data-{instance}")
        assert (imported["cells"], imported["profiled"], imported["instances"]) == (CELLS, CELLS, [instance])
    merged = person.document("data", "merge", *(f"data-{instance}" for instance in THREADS), "--out", "data")
    assert (merged["cells"], merged["instances"]) == (2 * CELLS, [ONE, TWO])
    return person.folder / "data"


@pytest.fixture(scope="module")
def trained(person: Person, data: Path) -> dict[str, Any]:
    """What `profet train` said; the models are those of `person.home`."""
    return person.document("train", "--data", data)


@pytest.fixture(scope="module")
def gpus(person: Person, collections: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Instance -> the name that its collection has of its GPU."""
    found = {}
    for instance, said in collections.items():
        manifest = json.loads((person.folder / said["out"] / "manifest.json").read_text())
        assert (manifest["instance"], manifest["threads"]) == (instance, THREADS[instance])
        assert list(manifest["frameworks"]) == ["pytorch"]
        found[instance] = manifest["gpu"]
    return found


@pytest.fixture(scope="module")
def priced(person: Person, trained: dict[str, Any], gpus: dict[str, str]) -> None:
    """Both have a price, so that they are offers."""
    for instance, usd_per_hour in USD_PER_HOUR.items():
        person.run("instances", "add", instance, "--gpu", gpus[instance], "--other-gpu", "--memory-gib", 4,
                   "--usd-per-hour", usd_per_hour)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """A step of the own network: the file of its profile on one thread, and its latency on two, measured."""

    profile: Path
    latency_ms: float
    on_two_ms: float


@pytest.fixture(scope="module")
def recorded(person: Person) -> Recorded:
    def profile_of(instance: str, name: str) -> tuple[Path, float]:
        output = person.folder / f"{name}.json"
        with person.measuring():
            person.run("profile", "--device", "cpu", "-o", output, SCRIPT, "--", THREADS[instance],
                       variables=variables(instance))  # fmt: skip
        latency_ms = read_profile(output.read_bytes(), output.name).meta.step_latency_ms
        assert latency_ms is not None
        return output, latency_ms

    # Before and after, so that a machine that changes its speed changes both.
    _, before_ms = profile_of(TWO, "before")
    profile, latency_ms = profile_of(ONE, "my-network")
    _, after_ms = profile_of(TWO, "after")
    return Recorded(profile, latency_ms, geometric_mean([before_ms, after_ms]))


@pytest.fixture(scope="module")
def predicted(person: Person, priced: None, recorded: Recorded) -> dict[str, dict[str, Any]]:
    """Instance -> its row of `profet predict`."""
    document = person.document("predict", recorded.profile, "--anchor", ONE, "--targets", TWO)
    return {row["instance"]: row for row in document["predictions"]}


@pytest.fixture(scope="module")
def app(person: Person, priced: None, repository: Path) -> Iterator[str]:
    with served(repository / "streamlit_app.py", environment=person.environment) as url:
        yield url


def test_each_stand_in_is_collected_whole(collections, gpus):
    for instance, said in collections.items():
        assert (said["instance"], said["cells"], said["ok"]) == (instance, CELLS, CELLS)
        assert (said["out_of_memory"], said["failed"]) == (0, 0)
    assert gpus[ONE].endswith(" on 1 thread") and gpus[TWO].endswith(" on 2 threads")


def test_the_data_are_complete_and_each_profile_is_of_one_step(person, data):
    found = person.document("data", "check", data)
    for instance in found["instances"]:
        assert (instance["ok"], instance["profiled"], instance["failed"]) == (CELLS, CELLS, 0)
        assert (instance["workloads"], instance["models"]) == (CELLS, sorted(NETWORKS))
        assert (instance["pixels"], instance["batch_sizes"]) == ([32], list(BATCH_SIZES))
        # Operations against latencies, which are measured apart: of two steps it would be 2.
        assert 1 / math.sqrt(2) < instance["step_ratio"] < math.sqrt(2)
    pairs = {(pair["anchor"], pair["target"]): pair for pair in found["pairs"]}
    assert pairs.keys() == {(ONE, TWO), (TWO, ONE)}
    assert all(pair["common"] == CELLS and pair["missing"] == 0 for pair in pairs.values())


def test_models_are_trained_between_both(person, trained, repository):
    assert (trained["instances"], trained["framework"], trained["precision"]) == ([ONE, TWO], "pytorch", "fp32")
    assert (trained["workloads"], trained["networks"], trained["without"]) == (CELLS, sorted(NETWORKS), [])
    assert Path(trained["out"]) == person.home
    assert json.loads((person.home / "manifest.json").read_text())["instances"].keys() >= {ONE, TWO}


def test_networks_left_out_are_judged_on_both_pairs(person, trained, data):
    found = person.document("validate", "--data", data)
    assert [one["instance"] for one in found["instances"]] == [ONE, TWO] and found["without"] == []
    pairs = {(pair["anchor"], pair["target"]): pair for pair in found["pairs"]}
    assert pairs.keys() == {(ONE, TWO), (TWO, ONE)}
    for pair in pairs.values():
        assert pair["workloads"] == CELLS
        for figures in pair["models"].values():
            assert (figures["n"], figures["networks"]) == (CELLS, len(NETWORKS))
            assert figures["by_network"].keys() == set(NETWORKS)


def test_both_are_in_the_list_with_their_prices(person, priced, gpus):
    rows = {row["name"]: row for row in person.document("instances")}
    for instance, usd_per_hour in USD_PER_HOUR.items():
        row = rows[instance]
        assert (row["usd_per_hour"], row["own"], row["status"]) == (usd_per_hour, True, "available")
        assert (row["gpu"], row["basis"]) == (gpus[instance], "measured")


def test_the_prediction_is_what_is_measured(person, recorded, predicted):
    off = predicted[TWO]["latency_ms"] / recorded.on_two_ms
    said = (
        f"{predicted[TWO]['latency_ms']:.1f} ms predicted from {recorded.latency_ms:.1f} ms, {recorded.on_two_ms:.1f} "
        f"ms measured: {off:.2f} times; the load was up to {person.load:.1f}"
    )
    print(said)
    if not 1 / WITHIN < off < WITHIN and person.load > DISTURBED_LOAD:
        pytest.skip(f"This machine is too busy to measure on: {said}.")
    assert 1 / WITHIN < off < WITHIN, said


@pytest.mark.browser
def test_the_app_its_export_and_the_endpoint_say_what_the_command_says(
    page: Page,  # noqa: F811
    app: str,
    gpus: dict[str, str],
    recorded: Recorded,
    predicted: dict[str, dict[str, Any]],
):
    page.set_default_timeout(60_000)
    open_page(
        page,
        f"{app}/?source=upload&images={IMAGES}&epochs={EPOCHS}&chart=table&predict_columns=time,cost,latency_ms,basis",
    )
    give_file(page, recorded.profile.read_bytes(), recorded.profile.name)
    expect(page.get_by_text("Shown: your upload my-network.json")).to_contain_text(
        f"batch size {OWN_BATCH_SIZE}, 32 pixels, PyTorch"
    )
    choose_anchor(page, f"{ONE} ({gpus[ONE]})")
    steps = IMAGES // OWN_BATCH_SIZE * EPOCHS
    latency_ms = {ONE: recorded.latency_ms, TWO: predicted[TWO]["latency_ms"]}
    times_s = {instance: ms * steps / 1_000 for instance, ms in latency_ms.items()}
    costs = {instance: times_s[instance] / 3_600 * USD_PER_HOUR[instance] for instance in THREADS}
    assert column(page, "Step") == {instance: format_ms(ms) for instance, ms in latency_ms.items()}
    assert column(page, "Time") == {instance: format_time(seconds) for instance, seconds in times_s.items()}
    assert column(page, "Cost") == {instance: format_usd(usd) for instance, usd in costs.items()}
    assert column(page, "Based on") == {
        ONE: Basis.GIVEN.words,
        TWO: Basis.MEASURED.words,
    }
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    exported = {row["instance"]: row for row in json.loads(Path(download.value.path()).read_text())}
    answered = {row["instance"]: row for row in asked(app, recorded.profile)["predictions"]}
    for instance, ms in latency_ms.items():
        assert exported[instance]["gpu"] == gpus[instance]
        assert exported[instance]["latency_ms"] == pytest.approx(ms, rel=1e-9)
        assert exported[instance]["training_s"] == pytest.approx(times_s[instance], rel=1e-9)
        assert answered[instance]["latency_ms"] == pytest.approx(ms, rel=1e-9)


def choose_anchor(page: Page, label: str) -> None:  # noqa: F811
    page.get_by_role("combobox", name="1 · GPU you profiled on").click()
    page.get_by_role("option", name=label).click()
    settle(page)


def asked(app: str, profile: Path) -> dict[str, Any]:
    """What the endpoint beside the app answers."""
    body = json.dumps({"profile": json.loads(profile.read_bytes()), "anchor": ONE, "targets": [TWO]}).encode()
    request = urllib.request.Request(f"{app}/v1/predict", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
