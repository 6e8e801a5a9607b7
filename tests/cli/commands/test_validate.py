"""`profet validate --PART`: what goes with one, and that its card is printed and written."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from msgspec.structs import replace

CARD_NAME = "MODEL_CARD.md"


@pytest.fixture
def models(repository, tmp_path):
    return shutil.copytree(repository / "models", tmp_path / "models")


@pytest.fixture
def measured(monkeypatch, models):
    """Parts whose figures are already measured, the shipped ones; tests/lab measures them."""
    from profet_lab import reports

    def measure(name: str) -> dict:
        part = reports.PARTS[name]
        content = json.loads((models / part.report_name).read_text())
        figures = {key: value for key, value in content.items() if key != "made" and not key.endswith("checksum")}
        monkeypatch.setitem(reports.PARTS, name, replace(part, make=lambda task: figures))
        return figures

    return measure


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--gpus --scaler", "remove --scaler"),
        # Parts in the order of their names; one of them is what is done.
        ("--scaleout --scaler --gpus", "--gpus validates"),
        ("--scaleout --gpus --anchor g3s.xlarge", "remove --anchor, --scaleout"),
        ("--steps --method profet --gpus --real DIR", "remove --method, --real, --steps."),
        ("--real DIR --gpus --anchor T4", "remove --anchor, --real."),
    ],
)
@pytest.mark.training
def test_what_does_not_go_with_a_part_is_one_line(refused, arguments, says):
    assert says in refused("validate", *arguments.split())


@pytest.mark.training
def test_a_damaged_file_is_said_before_the_work(refused, tmp_path):
    assert "scaleout.json" in refused("validate", "--scaleout", "--models", tmp_path)


@pytest.mark.parametrize("name", ["gpus", "scaleout"])
@pytest.mark.training
def test_its_json_is_the_report_and_its_text_the_card_with_tables_in_columns(run, document, measured, name):
    figures = measured(name)
    answer = document("validate", f"--{name}")
    assert {key: value for key, value in answer.items() if key in figures} == figures
    status, out, _ = run("validate", f"--{name}")
    assert status == 0 and "|" not in out
    lines = [line.split() for line in out.splitlines()]
    if name == "gpus":
        scores = figures["memory"]["arithmetic"]
        (row,) = (line for line in lines if line[:2] == ["layers", "known"])
        assert row[2:4] == [str(scores["cells"]), str(scores["did_not_run"])]
        assert row[5] == f"{100 * scores['strict_recall']:.1f}"


@pytest.mark.parametrize("name", ["gpus", "cells"])
@pytest.mark.training
def test_report_and_card_are_written_beside_the_models(run, measured, models, name):
    before = json.loads((models / f"{name}_validation.json").read_text())
    measured(name)
    before_card = (models / CARD_NAME).read_text()
    (models / CARD_NAME).unlink()
    status, _, _ = run("validate", f"--{name}", "--card", "--models", models)
    assert status == 0
    after = json.loads((models / f"{name}_validation.json").read_text())
    changed = ("made", "checksum")
    assert {key: after[key] for key in after if key not in changed} == {
        key: before[key] for key in before if key not in changed
    }
    day = re.compile(r"^Of \d{4}-\d\d-\d\d", re.M)
    assert day.sub("", (models / CARD_NAME).read_text()) == day.sub("", before_card)


@pytest.fixture
def folder(tmp_path, samples):
    """A T4's step with a truth on V100, and one that is of no use."""
    sample = next(sample for sample in samples.values() if sample.anchor == "g4dn.xlarge")
    folder = tmp_path / "profiles"
    folder.mkdir()
    operations = dict(sample.profile.operations)
    (folder / "t4.json").write_text(json.dumps({"operations": operations, "meta": {"steps": 1}}))
    (folder / "bad.json").write_text("hello")
    entry = {"file": "t4.json", "gpu": "T4", "framework": "Keras 3.15", "kind": "a net", "steps": 2}
    truth = {"latency_ms": sample.measured_ms["p3.2xlarge"], "source": "the measurements"}
    profiles = [{**entry, "step_ms": sample.latency_ms, "elsewhere": {"V100": truth}}, {**entry, "file": "bad.json"}]
    (folder / "index.json").write_text(json.dumps({"profiles": profiles}))
    return folder


def test_one_document_and_its_tables(run, document, folder):
    answer = document("validate", "--real", folder)
    assert set(answer) >= {"pairs", "profiles", "read", "mean"}
    (check,) = answer["profiles"]
    error = 100 * abs(check["with_latency"]["latency_ms"] / check["truth_ms"] - 1)
    assert answer["mean"]["mape_with_latency"] == pytest.approx(error)
    assert answer["pairs"][0] == {
        **answer["mean"],
        "anchor": "g4dn.xlarge",
        "anchor_gpu": "T4",
        "target": "p3.2xlarge",
        "target_gpu": "V100",
        "basis": "measured",
    }
    assert [(row["profile"], row["steps_right"]) for row in answer["read"]] == [("t4.json", False), ("bad.json", None)]

    status, out, _ = run("validate", "--real", folder)
    assert status == 0
    assert f"1 predictions from 1 profiles of 1 kinds of step, MAPE {error:.2f}% with" in " ".join(out.split())


def test_the_card_s_report_is_of_the_models_and_a_bad_index_one_line(run, folder, repository, tmp_path, refused):
    models = shutil.copytree(repository / "models", tmp_path / "models")
    status, _, err = run("validate", "--real", folder, "--card", "--models", models)
    assert (status, err) == (0, "")
    assert json.loads((models / "real_profiles.json").read_text())["mean"]["n"] == 1
    assert "## Third-party profiles" in (models / "MODEL_CARD.md").read_text()
    (folder / "t4.json").unlink()
    assert "lists t4.json, which is missing" in refused("validate", "--real", folder)
