"""The report on GPUs nobody profiled belongs to one `transfer.json` and one `memory.json`; every figure is read."""

from __future__ import annotations

import json

import pytest

from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, load_transfer_accuracy
from profet_core.errors import ArtifactError
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer
from tests.made.transfer_report import made_transfer_report, signed


@pytest.fixture
def coefficients(repository):
    """The shipped `transfer.json` and `memory.json`."""
    return load_transfer(repository / "models"), load_memory(repository / "models")


@pytest.fixture
def report(coefficients):
    return made_transfer_report(*(one.checksum for one in coefficients))


def loaded(folder, coefficients, report):
    (folder / TRANSFER_REPORT_NAME).write_text(json.dumps(report))
    return load_transfer_accuracy(*coefficients, folder)


def test_a_missing_report_is_one_line(tmp_path, coefficients):
    with pytest.raises(ArtifactError, match=r"transfer_validation.json is missing: get it again .* --transfer --card"):
        load_transfer_accuracy(*coefficients, tmp_path)


@pytest.mark.parametrize("name", ["transfer", "memory"])
@pytest.mark.parametrize("checksum", ["0" * 64, None])
def test_a_report_belongs_to_one_transfer_file_and_one_memory_file(tmp_path, coefficients, report, name, checksum):
    assert loaded(tmp_path, coefficients, report).transfer_checksum == coefficients[0].checksum
    other = {**report, f"{name}_checksum": checksum}
    with pytest.raises(ArtifactError, match=rf"belong to another {name}.json than that loaded"):
        loaded(tmp_path, coefficients, signed({key: value for key, value in other.items() if key != "checksum"}))


def test_a_report_that_was_changed_is_damaged(tmp_path, coefficients, report):
    with pytest.raises(ArtifactError, match="is damaged"):
        loaded(tmp_path, coefficients, {**report, "made": "later"})
    for text in ("", "[]", "{", "[" * 100_000):
        (tmp_path / TRANSFER_REPORT_NAME).write_text(text)
        with pytest.raises(ArtifactError, match="is damaged"):
            load_transfer_accuracy(*coefficients, tmp_path)


def test_the_shipped_report_reaches_its_figures(repository, coefficients):
    found = load_transfer_accuracy(*coefficients, repository / "models")
    assert len(found.directions) == 12
    assert found.mean.point[True].mape <= 15
    assert found.worst(True).point[True].mape <= 25
    assert found.routes["corrected"].t4_to_v100 <= 10
    assert found.routes["corrected"].v100_to_t4 <= 10
    assert set(found.derived) == {"A10G", "Tesla P100-PCIE-16GB"}


def test_the_shipped_report_on_memory_reaches_its_figures(repository, coefficients):
    memory = load_transfer_accuracy(*coefficients, repository / "models").memory
    scores = memory.served["profile and its meta"]
    assert scores.strict_false_fits <= 0.02 and scores.decided_accuracy > 0.98
    assert memory.layers_known.recall >= 0.8 and memory.layers_known.false_fits <= 0.02
    for known in ("recorded peak", "recorded peak of all that ran", "peaks at batch 16 and 64"):
        assert memory.recorded[known].strict_recall >= 0.8 and memory.recorded[known].strict_false_fits <= 0.02
        assert memory.recorded[known].recall >= 0.8 and memory.recorded[known].false_fits <= 0.02
    peak = memory.recorded["recorded peak"]
    assert (peak.cells, peak.did_not_run) == (scores.cells, scores.did_not_run), "the same questions"


def test_a_report_as_records(tmp_path, coefficients, report):
    found = loaded(tmp_path, coefficients, report)
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
    recorded = report["memory"]["recorded"]
    assert {known: row.recall for known, row in found.memory.recorded.items()} == {
        known: row["recall"] for known, row in recorded.items()
    }
    # 2000 answers, of which 1000 did not run: a share of all counts twice there.
    assert scores.called_fitting == pytest.approx(2 * given["strict_false_fits"])
    assert scores.left_open == pytest.approx(1 - given["strict_recall"] - scores.called_fitting)


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report["left_out_gpus"]["directions"][3].pop("one_constant"),
        lambda report: report["left_out_gpus"]["mean"].update(mape_with_latency="11"),
        lambda report: report.pop("left_out_anchors"),
        lambda report: report["left_out_anchors"]["directions"][2].pop("mape_law_alone_without_latency"),
        lambda report: report["left_out_anchors"].update(directions=[]),
        lambda report: report["left_out_anchors"]["by_anchor"]["p2.xlarge"].update(bias_with_latency=None),
        lambda report: report["published"]["tables"][0].update(held_back="yes"),
        lambda report: report["published"]["tables"][0].update(networks=["VGG16", None]),
        lambda report: report["published"]["tables"][1].update(n=0),
        lambda report: report["published"]["tables"][1].update(bias=-100.0),
        lambda report: report["published"]["self_checks"][0].pop("below_unsaid"),
        lambda report: report["published"]["self_checks"][0].update(own_point=-100),
        lambda report: report["published"].update(tables=[]),
        lambda report: report["derived"]["routes"].pop("raw"),
        lambda report: report["derived"]["gpus"].update(A10G=None),
        lambda report: report["memory"]["arithmetic"].update(did_not_run=0),
        lambda report: report["memory"].update(served={}),
        lambda report: report.pop("seed"),
    ],
)
def test_a_signed_report_without_a_figure_is_damaged(tmp_path, coefficients, report, change):
    change(report)
    with pytest.raises(ArtifactError, match="is damaged"):
        loaded(tmp_path, coefficients, signed(report))
