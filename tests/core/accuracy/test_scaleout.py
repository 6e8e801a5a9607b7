"""The report on several GPUs is read whole, for the law it was made of, or refused in one line."""

from __future__ import annotations

import json

import pytest

from profet_core.accuracy.scaleout_report import SCALEOUT_REPORT_NAME, load_scaleout_accuracy
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.scaleout.model import load_scaleout

MODELS = shipped_folder("models")


@pytest.fixture
def law():
    return load_scaleout(MODELS)


@pytest.fixture
def report() -> dict:
    return json.loads((MODELS / SCALEOUT_REPORT_NAME).read_text())


@pytest.fixture
def read(tmp_path, law):
    """`read(report)`: what is read of it, signed anew."""

    def write_and_read(content: dict):
        signed = {**content, "checksum": manifest_checksum(content)}
        (tmp_path / SCALEOUT_REPORT_NAME).write_text(json.dumps(signed))
        return load_scaleout_accuracy(law, tmp_path)

    return write_and_read


def test_every_figure_is_there(read, report):
    found = read(report)
    data = report["data_sets"]["throughputs"]
    assert found.data_sets["throughputs"].networks.every.mape == data["networks"]["every"]["mape"]
    assert found.data_sets["throughputs"].gpus.by_fold["V100"].n == data["gpus"]["by_fold"]["V100"]["n"]
    assert dict(found.network_64) == report["network_64"]
    assert sum(found.data_sets["throughputs"].excluded.values()) + data["n"] == 1988


def test_of_another_law_or_changed_it_is_refused(read, report, tmp_path, law):
    with pytest.raises(ArtifactError, match=r"belong to another scaleout.json than that loaded"):
        read({**report, "scaleout_checksum": "0" * 64})
    (tmp_path / SCALEOUT_REPORT_NAME).write_text(json.dumps({**report, "made": "2020-01-01"}))
    with pytest.raises(ArtifactError, match="is damaged"):
        load_scaleout_accuracy(law, tmp_path)
    with pytest.raises(ArtifactError, match="is missing"):
        load_scaleout_accuracy(law, tmp_path / "nowhere")


@pytest.mark.parametrize("part", ["data_sets", "on_64", "network_64"])
@pytest.mark.parametrize("value", [{}, [], None, {"a": "much"}])
def test_a_report_without_a_figure_is_damaged(read, report, part, value):
    with pytest.raises(ArtifactError, match="is damaged"):
        read({**report, part: value})
