"""From a machine of your own to a number in the app: collected, imported, described, trained, predicted, and measured.

One thread of this machine's processor stands in for a GPU. All of it is measured; nothing is made up.
"""

from __future__ import annotations

import json
import math
import os
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from benchmarks.served_app import served
from profet_lab.measurements.tables import PROFILES_FILE, data_folder
from profet_profiles.units import format_ms, format_usd
from tests.browser.conftest import browser, page  # noqa: F401
from tests.browser.test_whole_flow import column, give_file, open_page, settle
from tests.end_to_end.conftest import Person
from tests.recorder.runs import needs

# It measures the processor: what else runs disturbs it, and it disturbs what else runs.
pytestmark = [pytest.mark.training, needs("torch", "sklearn", "tensorflow", "pyarrow")]

INSTANCE, THREADS, USD_PER_HOUR = "lab.one-thread", 1, 0.1
#: Small ones of those that the published GPUs were measured with.
NETWORKS = ("CIFAR10_CNN", "MNIST_CNN", "ResNetSmall")
PIXELS, BATCH_SIZES = 32, (16, 32, 64)
CELLS = len(NETWORKS) * len(BATCH_SIZES)
#: Where the profiles are from that steps on the stand-in are predicted from.
PROFILED = "g4dn.xlarge"
#: The GPU's offers at the lowest price; the page shows the cheapest one, which depends on the hosts' part of a step.
SAME_GPU = (PROFILED, "azure/Standard_NC4as_T4_v3")
SCRIPT = Path(__file__).with_name("train_own_network.py")
IMAGES, EPOCHS, OWN_BATCH_SIZE = 64_000, 10, 64
#: What predictions of measured cells may be off on average: more than they are, and less than a step counted twice.
WITHIN = 1.5
#: With more programs at work than cores, a prediction that is off says nothing.
DISTURBED_LOAD = (os.cpu_count() or 1) + 0.5
#: A thread that waits sleeps: where one core is taken for a moment, spinning takes the other one too.
VARIABLES = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "PASSIVE",
             "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip


@pytest.fixture(scope="module")
def collection(person: Person) -> dict[str, Any]:
    """What `profet collect` said."""
    grid = ("--models-list", ",".join(NETWORKS), "--pixels", PIXELS, "--batch", ",".join(map(str, BATCH_SIZES)))
    how = ("--device", "cpu", "--threads", THREADS, "--frameworks", "pytorch", "--warm-up", 3, "--timed", 7)
    with person.measuring():
        return person.document("collect", "--instance", INSTANCE, *how, *grid, variables=VARIABLES)


@pytest.fixture(scope="module")
def data(person: Person, collection: dict[str, Any]) -> Path:
    """The measurements in the data layout."""
    imported = person.document("data", "import", collection["out"], "--out", "data")
    assert (imported["cells"], imported["profiled"], imported["instances"]) == (CELLS, CELLS, [INSTANCE])
    return person.folder / "data"


@pytest.fixture(scope="module")
def gpu(person: Person, collection: dict[str, Any]) -> dict[str, Any]:
    """The stand-in with specs and a price: its name is the one that its collection has."""
    manifest = json.loads((person.folder / collection["out"] / "manifest.json").read_text())
    assert (manifest["instance"], manifest["threads"], list(manifest["frameworks"])) == (INSTANCE, THREADS, ["pytorch"])
    specs = ("--fp32-tflops", 0.1, "--memory-gib", 4, "--bandwidth-gb-per-s", 20, "--tdp-w", 60)
    return person.document(
        "gpus", "add", manifest["gpu"], "--like", "Tesla K80", *specs, "--usd-per-hour", USD_PER_HOUR
    )["gpu"]


@pytest.fixture(scope="module")
def trained(person: Person, data: Path, gpu: dict[str, Any]) -> dict[str, Any]:
    """What `profet train` said; the models are those of `person.home`."""
    return person.document("train", "--data", data_folder(), "--data", data)


@pytest.fixture(scope="module")
def recorded(person: Person) -> Path:
    """A step of the own network on the stand-in."""
    output = person.folder / "my-network.json"
    person.run("profile", "--device", "cpu", "-o", output, SCRIPT, "--", THREADS, variables=VARIABLES)
    return output


@pytest.fixture(scope="module")
def predicted(person: Person, trained: dict[str, Any], gpu: dict[str, Any], recorded: Path) -> dict[str, Any]:
    """Instance -> its row of `profet predict`, from the stand-in: of itself and of another GPU's offers."""
    targets = ",".join((gpu["instance"], *SAME_GPU))
    document = person.document("predict", recorded, "--anchor", gpu["gpu"], "--targets", targets)
    return {row["instance"]: row for row in document["predictions"]}


@pytest.fixture(scope="module")
def app(person: Person, trained: dict[str, Any], repository: Path) -> Iterator[str]:
    with served(repository / "streamlit_app.py", environment=person.environment) as url:
        yield url


def test_the_stand_in_is_collected_whole_and_each_profile_is_of_one_step(collection, gpu, person, data):
    assert (collection["instance"], collection["cells"], collection["ok"]) == (INSTANCE, CELLS, CELLS)
    assert (collection["out_of_memory"], collection["failed"]) == (0, 0)
    assert gpu["gpu"].endswith(" on 1 thread")
    (facts,) = person.document("data", "check", data)["instances"]
    assert (facts["ok"], facts["profiled"], facts["failed"], facts["workloads"]) == (CELLS, CELLS, 0, CELLS)
    assert (facts["models"], facts["pixels"]) == (sorted(NETWORKS), [PIXELS])
    assert facts["batch_sizes"] == list(BATCH_SIZES)
    # Operations against latencies, which are measured apart: of two steps it would be 2.
    assert 1 / math.sqrt(2) < facts["step_ratio"] < math.sqrt(2)


def test_its_cells_calibrate_it_and_it_is_in_the_list_with_its_price(person, trained, gpu):
    assert Path(trained["out"]) == person.home and trained["without"] == []
    (row,) = trained["gpus"]
    assert (row["instance"], row["gpu"]) == (INSTANCE, gpu["gpu"])
    assert (row["cells"], row["networks"]) == (CELLS, len(NETWORKS))
    row = {row["name"]: row for row in person.document("instances")}[gpu["instance"]]
    assert (row["usd_per_hour"], row["custom"], row["status"]) == (USD_PER_HOUR, True, "available")
    assert (row["gpu"], row["basis"]) == (gpu["gpu"], "calibrated")


def test_predictions_are_what_is_measured(person, trained, data, gpu):
    """Of each network at the largest batch size: what PROFET profiled on T4, and what was measured here."""
    profiles = pd.read_parquet(data_folder() / PROFILES_FILE)
    cells = pd.read_parquet(data / "cells.parquet").set_index(["model", "batch_size"])["batch_latency_ms"]
    off = {}
    for network in NETWORKS:
        at = {"instance": PROFILED, "model": network, "pixels": PIXELS, "batch_size": BATCH_SIZES[-1], "repeat": 1}
        (row,) = profiles[(profiles[list(at)] == pd.Series(at)).all(axis=1)].to_dict("records")
        profile = person.folder / f"{network}.json"
        profile.write_text(
            json.dumps({key: us for key, us in row.items() if key.startswith(("Device_", "Host_")) and us})
        )
        document = person.document(
            "predict", profile, "--anchor", PROFILED, "--latency-ms", row["batch_latency_ms"],
            "--targets", gpu["instance"],
        )  # fmt: skip
        row = next(one for one in document["predictions"] if one["instance"] == gpu["instance"])
        assert row["basis"] == "calibrated" and row["low_ms"] < row["latency_ms"] < row["high_ms"]
        off[network] = math.log(row["latency_ms"] / cells[network, BATCH_SIZES[-1]])
    mean = math.exp(sum(map(abs, off.values())) / len(off))
    line = f"{mean:.2f} times off, by network {off} (logarithms); the load was up to {person.load:.1f}"
    print(line)
    if mean > WITHIN and person.load > DISTURBED_LOAD:
        pytest.skip(f"This machine is too busy to measure on: {line}.")
    assert mean < WITHIN, line


@pytest.mark.browser
def test_the_app_its_export_and_the_endpoint_say_what_the_command_says(
    page: Page,  # noqa: F811
    app: str,
    gpu: dict[str, Any],
    recorded: Path,
    predicted: dict[str, Any],
):
    page.set_default_timeout(60_000)
    open_page(
        page,
        f"{app}/?source=upload&images={IMAGES}&epochs={EPOCHS}&chart=table&predict_columns=time,cost,latency_ms,basis",
    )
    give_file(page, recorded.read_bytes(), recorded.name)
    choose_anchor(page, gpu["instance"])
    expect(page.locator(".st-key-shown")).to_contain_text(f"32 px · batch {OWN_BATCH_SIZE} · profiled on")
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON", exact=True).click()
    exported = {row["instance"]: row for row in json.loads(Path(download.value.path()).read_text())}
    steps = IMAGES // OWN_BATCH_SIZE * EPOCHS
    times_s = {instance: row["latency_ms"] * steps / 1_000 for instance, row in predicted.items()}
    shown = {name: column(page, name) for name in ("Step", "Training cost")}
    (other,) = exported.keys() & {*SAME_GPU}
    for instance, start in {gpu["instance"]: gpu["gpu"], other: "T4"}.items():
        row = predicted[instance]
        (label,) = (one for one in shown["Step"] if one.startswith(start))
        assert shown["Step"][label] == format_ms(row["latency_ms"])
        assert shown["Training cost"][label] == format_usd(times_s[instance] / 3_600 * row["usd_per_hour"])
    answered = {row["instance"]: row for row in asked(app, recorded, gpu["gpu"], [*predicted])["predictions"]}
    assert predicted.keys() == answered.keys() == {gpu["instance"], *SAME_GPU}
    for instance in (gpu["instance"], other):
        row = predicted[instance]
        assert exported[instance]["step_ms"] == pytest.approx(row["latency_ms"], rel=1e-9)
        assert exported[instance]["training_s"] == pytest.approx(times_s[instance], rel=1e-9)
    assert answered == predicted


def choose_anchor(page: Page, instance: str) -> None:  # noqa: F811
    page.get_by_role("combobox", name="1 · GPU you measured on (anchor)").click()
    page.get_by_role("option", name=re.compile(re.escape(instance))).click()
    settle(page)


def asked(app: str, profile: Path, anchor: str, targets: list[str]) -> dict[str, Any]:
    """What the endpoint beside the app answers."""
    body = json.dumps({"profile": json.loads(profile.read_bytes()), "anchor": anchor, "targets": targets}).encode()
    request = urllib.request.Request(f"{app}/v1/predict", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
