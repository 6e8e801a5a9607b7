"""`profet validate --real`: one JSON document or tables, and one line for what does not go."""

from __future__ import annotations

import json
import shutil

import pytest


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
    found = document("validate", "--real", folder)
    assert set(found) >= {"pairs", "profiles", "read", "mean"}
    (check,) = found["profiles"]
    error = 100 * abs(check["with_latency"]["latency_ms"] / check["truth_ms"] - 1)
    assert found["mean"]["mape_with_latency"] == pytest.approx(error)
    assert found["pairs"][0] == {
        **found["mean"],
        "anchor": "g4dn.xlarge",
        "anchor_gpu": "T4",
        "target": "p3.2xlarge",
        "target_gpu": "V100",
        "basis": "measured",
    }
    assert [(row["profile"], row["steps_right"]) for row in found["read"]] == [("t4.json", False), ("bad.json", None)]

    status, out, _ = run("validate", "--real", folder)
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    (row,) = (line for line in lines if line[:3] == ["T4", "V100", "measured"])
    said = [f"{check['truth_ms']:.1f}", f"{check['with_latency']['latency_ms']:.1f}", f"{error:.2f}"]
    assert row[8:11] == said
    assert f"1 predictions, MAPE {error:.2f}% with the latency" in out
    assert any(line[0:1] == ["t4.json"] and "1 (stated)" in " ".join(line) for line in lines)
    assert any(line.startswith("bad.json") and "bad.json:" in line for line in out.splitlines())


def test_the_card_s_report_is_of_the_models_and_a_bad_index_one_line(run, folder, repository, tmp_path, refused):
    models = shutil.copytree(repository / "models", tmp_path / "models")
    status, _, err = run("validate", "--real", folder, "--card", "--models", models)
    assert (status, err) == (0, "")
    assert json.loads((models / "real_profiles.json").read_text())["mean"]["n"] == 1
    assert "## Third-party profiles" in (models / "MODEL_CARD.md").read_text()
    (folder / "t4.json").unlink()
    assert "lists t4.json, which is missing" in refused("validate", "--real", folder)
