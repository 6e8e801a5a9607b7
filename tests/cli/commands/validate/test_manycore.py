"""`profet validate --manycore`: what goes with it, what it prints and writes."""

from __future__ import annotations

import json

import pytest

from tests.made.manycore_report import made_report

pytestmark = pytest.mark.training


@pytest.fixture
def measured(monkeypatch):
    """This machine's cores as already measured; tests/lab/manycore measures them."""
    import profet_lab.manycore.own_cores as module

    monkeypatch.setattr(module, "own_cores", lambda **_: made_report().own_cores)


def test_what_does_not_go_with_it_is_refused(refused):
    line = refused("validate", "--manycore", "--method", "profet", "--transfer", "--sizes", "--real", "DIR")
    assert line.endswith("remove --method, --real, --sizes, --transfer.")


def test_it_prints_the_published_predictions_both_models_and_own_cores(run, measured):
    status, out, _ = run("validate", "--manycore")
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["large", "3,840", "36.8", "36.773", "yes"] in rows
    assert sum(row[-1:] == ["yes"] for row in rows) == 12
    assert ["large", "480", "92.9", "82.6", "+12.5", "166.2", "214.7"] in rows
    assert ["own", "images", "2", "14", "no", "0.260", "0.251", "-3.6", "1.92", "2.00"] in rows
    assert "103.5; (a) 99.5, (b) 115.1" in out


def test_json_is_the_report_and_card_writes_it(document, run, measured, tmp_path):
    found = document("validate", "--manycore")
    assert [row["published_min"] for row in found["predictions"][:4]] == [6.6, 5.4, 4.9, 4.6]
    status, _, _ = run("validate", "--manycore", "--card", "--models", tmp_path)
    assert status == 0
    written = json.loads((tmp_path / "manycore_validation.json").read_text())
    del written["checksum"]
    assert written == found
    assert (tmp_path / "MANYCORE_CARD.md").read_text(encoding="utf-8").startswith("# Many-core processors\n")
