"""`profet train` on measurements of your own: a GPU of which few cells were measured becomes a target."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from profet_lab.dataset import InstanceFacts
from profet_lab.dataset_files import read_tables
from profet_lab.measurements.tables import data_folder
from tests.cli.custom_data import write_custom_data
from tests.recorder.runs import needs

pytestmark = needs("sklearn", "tensorflow")
#: The new GPU is this many times V100's speed in everything.
FASTER = 2.5
NAME, GPU = "lab-h100", "H100-SXM5-80GB"


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A folder of 20 cells of a new machine."""
    table = read_tables(data_folder() / "profet").cells
    cells = table[(table["instance"] == "p3.2xlarge") & (table["repeat"] == 1) & (table["model"] != "VGG16")]
    cells = cells[cells["steps_profiled"].notna()].sample(20, random_state=1)
    latency_ms = cells["batch_latency_ms"] / FASTER
    cells = cells.assign(batch_latency_ms=latency_ms, precision="tf32", steps_profiled=pd.NA)
    operations = pd.DataFrame({"cell": [], "operation": [], "time_us": []})
    return write_custom_data(tmp_path_factory.mktemp("room") / "own", cells, operations, NAME, InstanceFacts(GPU))


def h100_ms(document, models):
    sample = "sample_traces/vgg16-224px-b16-g3s.json"
    answer = document("predict", sample, "--anchor", "g3s.xlarge", "--latency-ms", 366, "--models", models)
    rows = {row["instance"]: row for row in answer["predictions"]}
    return next(row for row in rows.values() if row["gpu"] == GPU), rows["p3.2xlarge"]


def test_twenty_cells_make_a_gpu_a_target(document, own, tmp_path, repository, monkeypatch):
    monkeypatch.chdir(repository)
    out = tmp_path / "models"
    shipped = (repository / "models" / "transfer.json").read_bytes()
    trained = document("train", "--data", data_folder(), "--data", own, "--out", out)
    assert trained["without"] == []
    (row,) = trained["gpus"]
    assert (row["instance"], row["gpu"], row["cells"]) == (NAME, GPU, 20)
    assert 0.01 < row["log_sd"] < 0.2
    h100, v100 = h100_ms(document, out)
    assert h100["basis"] == "calibrated"
    # VGG16 was none of the cells.
    assert h100["latency_ms"] == pytest.approx(v100["latency_ms"] / FASTER, rel=0.12)
    assert h100["low_ms"] < v100["latency_ms"] / FASTER < h100["high_ms"]
    assert h100_ms(document, repository / "models")[0]["basis"] == "transferred"
    assert (repository / "models" / "transfer.json").read_bytes() == shipped


def test_the_shipped_models_are_not_written_over_and_a_folder_must_be_named(refused, own, repository):
    data = ("train", "--data", data_folder(), "--data", own)
    assert "can't be overwritten" in refused(*data, "--out", repository / "models")
    assert "with --out or PROFET_HOME" in refused(*data)
