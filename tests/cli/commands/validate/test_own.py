"""`profet validate` on your own measurements, networks held out."""

from __future__ import annotations

from functools import partial

import pytest

from profet_lab.datasets.dataset import Dataset, InstanceFacts
from profet_lab.datasets.files import write_dataset
from tests.cli.own_data import published_of, write_own
from tests.made.uncompiled import without_compiling
from tests.recorder.runs import needs

pytestmark = needs("sklearn", "tensorflow")
NETWORKS = ("AlexNet", "ResNet50", "VGG11")
GPU = "GeForce RTX 2080 Ti"


@pytest.fixture(scope="module")
def published() -> Dataset:
    return published_of(NETWORKS, repeats=2)


@pytest.fixture
def own(published, tmp_path):
    """`own(name, of, each)`: a folder with so many workloads of each network, measured on a machine of that name."""

    def write(name: str, of: str, each: int):
        table = published.cells[(published.cells["instance"] == of) & published.cells["steps_profiled"].notna()]
        sizes = table[["model", "pixels", "batch_size"]].drop_duplicates().groupby("model").tail(each)
        return write_own(tmp_path / name, table.merge(sizes), published.operations, name, InstanceFacts(GPU))

    return write


@pytest.fixture
def quick(monkeypatch):
    """Few steps: how well models learn is not the point."""
    from profet_lab.validation import own_report

    without_compiling(monkeypatch)
    monkeypatch.setattr(own_report, "own_report", partial(own_report.own_report, steps=4))


def test_machines_of_one_s_own_alone_are_judged_by_pair(run, document, own, quick):
    data = ["--data", own("one", "g4dn.xlarge", 3), "--data", own("two", "p3.2xlarge", 3)]
    report = document("validate", *data)
    assert [(row["anchor"], row["target"], row["workloads"]) for row in report["pairs"]] == [
        ("one", "two", 9),
        ("two", "one", 9),
    ]
    for row in report["pairs"]:
        assert set(row["models"]) == {"with_latency", "without_latency"}
        for figures in row["models"].values():
            assert (figures["n"], figures["networks"], set(figures["by_network"])) == (18, 3, set(NETWORKS))
            assert 0 < figures["mape"] < 500 and 0 <= figures["missed_90"] <= 100 < 100 + figures["median_interval_pct"]
    noise = {row["instance"]: row["noise_percent"] for row in report["instances"]}
    assert set(noise) == {"one", "two"} and 0 < noise["one"] < 5
    assert report["without"] == []


def test_beside_the_published_ones_pairs_without_models_say_why(run, published, own, quick, tmp_path):
    write_dataset(published, tmp_path / "published")
    status, out, err = run("validate", "--data", tmp_path / "published", "--data", own("desk", "g4dn.xlarge", 6))
    assert (status, err) == (0, "")
    assert "g3s.xlarge to desk: not judged: 18 workloads of 3 networks have a profile on both" in out


def test_too_few_and_other_parts_are_one_line(refused, own):
    one = own("one", "g4dn.xlarge", 3)
    assert "9 profiled workloads of 3 networks" in refused(
        "validate", "--data", one, "--data", own("two", "p2.xlarge", 2)
    )
    assert "remove --cells, --card" in refused("validate", "--data", one, "--cells", "--card")
