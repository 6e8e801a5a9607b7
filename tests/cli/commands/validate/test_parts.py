"""`profet validate --PART`: what goes with one, and that its card is printed and written."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

pytestmark = pytest.mark.training


@pytest.fixture
def models(repository, tmp_path):
    return shutil.copytree(repository / "models", tmp_path / "models")


@pytest.fixture
def measured(monkeypatch, models):
    """Parts whose figures are already measured, the shipped ones; tests/lab measures them."""
    from profet_lab import reports

    def measure(name: str) -> dict:
        part = reports.PARTS[name]
        found = json.loads((models / part.report_name).read_text())
        figures = {key: value for key, value in found.items() if key != "made" and not key.endswith("checksum")}
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
        ("--manycore --method profet --gpus --real DIR", "remove --method, --manycore, --real."),
        ("--real DIR --gpus --anchor T4", "remove --anchor, --real."),
    ],
)
def test_what_does_not_go_with_a_part_is_one_line(refused, arguments, says):
    assert says in refused("validate", *arguments.split())


def test_a_damaged_file_is_said_before_the_work(refused, tmp_path):
    assert "scaleout.json" in refused("validate", "--scaleout", "--models", tmp_path)


@pytest.mark.parametrize("name", ["gpus", "scaleout"])
def test_its_json_is_the_report_and_its_text_the_card_with_tables_in_columns(run, document, measured, name):
    figures = measured(name)
    found = document("validate", f"--{name}")
    assert {key: value for key, value in found.items() if key in figures} == figures
    status, out, _ = run("validate", f"--{name}")
    assert status == 0 and "|" not in out
    lines = [line.split() for line in out.splitlines()]
    if name == "gpus":
        scores = figures["memory"]["arithmetic"]
        (row,) = (line for line in lines if line[:2] == ["layers", "known"])
        assert row[2:4] == [str(scores["cells"]), str(scores["did_not_run"])]
        assert row[8] == f"{100 * scores['strict_recall']:.1f}"


@pytest.mark.parametrize(("name", "card"), [("gpus", "GPU_CARD.md"), ("cells", "CELLS_CARD.md")])
def test_report_and_card_are_written_beside_the_models(run, measured, models, name, card):
    before = json.loads((models / f"{name}_validation.json").read_text())
    measured(name)
    (models / card).unlink()
    status, _, _ = run("validate", f"--{name}", "--card", "--models", models)
    assert status == 0
    after = json.loads((models / f"{name}_validation.json").read_text())
    changed = ("made", "checksum")
    assert {key: after[key] for key in after if key not in changed} == {
        key: before[key] for key in before if key not in changed
    }
    assert f"--{name} --card" in (models / card).read_text()
