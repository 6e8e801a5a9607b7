"""`transfer.json` and its report are what they were when written, or one line says that they are not."""

from __future__ import annotations

import json

import pytest

from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, load_transfer_accuracy, load_transfer_validation
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum
from profet_core.memory.model import load_memory
from profet_core.transfer.model import TRANSFER_NAME, load_transfer
from tests.made.transfer_report import made_transfer_report, signed


@pytest.fixture
def copied(repository, tmp_path):
    """A folder with a copy of the shipped file, and how to write it anew."""

    def write(change=None, sign=True):
        content = json.loads((repository / "models" / TRANSFER_NAME).read_bytes())
        if change:
            change(content)
        if sign:
            content["checksum"] = manifest_checksum(content)
        (tmp_path / TRANSFER_NAME).write_text(json.dumps(content))
        return tmp_path

    return write


def test_the_shipped_file_knows_the_profiled_instances_and_says_what_it_was_fitted_on(repository):
    model = load_transfer(repository / "models")
    assert set(model.instances) == {"g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"}
    assert model.reference_gpu == "Tesla V100-SXM2-16GB"
    assert set(model.derived) == {"A10G", "Tesla P100-PCIE-16GB"}
    assert {"L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB"} <= set(model.points)
    assert "L4" not in model.points
    assert "external/cloud_hw_trainpred.csv" in model.fitted_on


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(ArtifactError, match=r"transfer.json is missing: get it again"):
        load_transfer(tmp_path)


def test_a_changed_number_is_noticed(copied):
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_transfer(copied(lambda content: content["step"].update(start_ms=0.0), sign=False))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"checksum": NaN}'])
def test_what_is_no_such_file_is_one_line(tmp_path, text):
    (tmp_path / TRANSFER_NAME).write_text(text)
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_transfer(tmp_path)


def test_another_version_is_told_apart(copied):
    with pytest.raises(ArtifactError, match="has version 99, this program reads"):
        load_transfer(copied(lambda content: content.update(schema_version=99)))


@pytest.mark.parametrize("section", ["step", "spread", "points", "derived", "reference"])
def test_a_signed_file_without_a_part_is_damaged(copied, section):
    with pytest.raises(ArtifactError, match="is damaged"):
        load_transfer(copied(lambda content: content.pop(section)))


def test_a_report_belongs_to_one_transfer_file(repository, tmp_path):
    model = load_transfer(repository / "models")
    report = {"transfer_checksum": model.checksum, "made": "2026-01-01", "derived": {"routes": {}}}
    path = tmp_path / TRANSFER_REPORT_NAME
    path.write_text(json.dumps({**report, "checksum": manifest_checksum(report)}))
    assert load_transfer_validation(model, tmp_path)["made"] == "2026-01-01"
    other = {**report, "transfer_checksum": "0" * 64}
    path.write_text(json.dumps({**other, "checksum": manifest_checksum(other)}))
    with pytest.raises(ArtifactError, match=r"belong to another transfer.json"):
        load_transfer_validation(model, tmp_path)
    path.write_text(json.dumps({**report, "made": "later", "checksum": manifest_checksum(report)}))
    with pytest.raises(ArtifactError, match="is damaged"):
        load_transfer_validation(model, tmp_path)


def test_the_shipped_report_belongs_to_the_shipped_file_and_reaches_its_figures(repository):
    folder = repository / "models"
    report = load_transfer_validation(load_transfer(folder), folder)
    gpus, routes = report["left_out_gpus"], report["derived"]["routes"]
    assert len(gpus["directions"]) == 12
    assert gpus["mean"]["mape_with_latency"] <= 15
    assert gpus["worst"]["mape_with_latency"] <= 25
    assert routes["corrected"]["T4 -> V100"] <= 10
    assert routes["corrected"]["V100 -> T4"] <= 10
    assert set(report["derived"]["gpus"]) == {"A10G", "Tesla P100-PCIE-16GB"}


def test_a_report_belongs_to_one_memory_file_too(repository, tmp_path):
    model, memory = load_transfer(repository / "models"), load_memory(repository / "models")
    path = tmp_path / TRANSFER_REPORT_NAME
    for checksum in ("0" * 64, None):
        path.write_text(json.dumps(made_transfer_report(model.checksum, checksum)))
        with pytest.raises(ArtifactError, match=r"belong to another memory.json"):
            load_transfer_validation(model, tmp_path, memory=memory)
    path.write_text(json.dumps(made_transfer_report(model.checksum, memory.checksum)))
    assert load_transfer_validation(model, tmp_path, memory=memory)["memory_checksum"] == memory.checksum


def test_a_report_as_records(repository, tmp_path):
    model, memory = load_transfer(repository / "models"), load_memory(repository / "models")
    report = made_transfer_report(model.checksum, memory.checksum)
    (tmp_path / TRANSFER_REPORT_NAME).write_text(json.dumps(report))
    found = load_transfer_accuracy(model, memory, tmp_path)
    rows = report["left_out_gpus"]["directions"]
    for known, case in ((True, "with_latency"), (False, "without_latency")):
        assert [row.point[known].mape for row in found.directions] == [row[f"mape_{case}"] for row in rows]
        assert found.worst(known).point[known].mape == max(row[f"mape_{case}"] for row in rows)
        assert found.worst_sheet_only(known).sheet_only[known].mape == max(
            row[f"sheet_only_mape_{case}"] for row in rows
        )
    assert [(row.anchor, row.target) for row in found.beaten_by_constant(True)] == [("g3s.xlarge", "g4dn.xlarge")]
    assert found.worst_constant().one_constant == max(row["one_constant"] for row in rows)
    scores, given = found.memory.served["that it ran"], report["memory"]["served"]["that it ran"]
    assert scores.recall is None and scores.cant_tell == given["cant_tell"]
    # 2000 answers, of which 1000 did not run: a share of all counts twice there.
    assert scores.called_fitting == pytest.approx(2 * given["strict_false_fits"])
    assert scores.left_open == pytest.approx(1 - given["strict_recall"] - scores.called_fitting)


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report["left_out_gpus"]["directions"][3].pop("one_constant"),
        lambda report: report["left_out_gpus"]["mean"].update(mape_with_latency="11"),
        lambda report: report["derived"]["routes"].pop("raw"),
        lambda report: report["derived"]["gpus"].update(A10G=None),
        lambda report: report["memory"]["arithmetic"].update(did_not_run=0),
        lambda report: report["memory"].update(served={}),
        lambda report: report.pop("seed"),
    ],
)
def test_a_signed_report_without_a_figure_is_damaged(repository, tmp_path, change):
    model, memory = load_transfer(repository / "models"), load_memory(repository / "models")
    report = made_transfer_report(model.checksum, memory.checksum)
    change(report)
    (tmp_path / TRANSFER_REPORT_NAME).write_text(json.dumps(signed(report)))
    with pytest.raises(ArtifactError, match="is damaged"):
        load_transfer_accuracy(model, memory, tmp_path)


def test_the_shipped_report_belongs_to_the_shipped_memory_file(repository):
    folder = repository / "models"
    found = load_transfer_accuracy(load_transfer(folder), load_memory(folder), folder)
    scores = found.memory.served["profile and its meta"]
    assert scores.strict_false_fits <= 0.02 and scores.decided_accuracy > 0.98
    assert found.memory.layers_known.recall >= 0.8 and found.memory.layers_known.false_fits <= 0.02
