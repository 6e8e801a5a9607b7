"""`profet validate --manycore`: what it prints and writes."""

from __future__ import annotations

import pytest

from profet_core.training.many_core import check_rows

pytestmark = pytest.mark.training


def test_it_prints_the_card_and_writes_it(document, run, tmp_path):
    found = document("validate", "--manycore")
    assert [row["a_min"] for row in found["rows"]] == [row.a_min for row in check_rows()]
    status, out, _ = run("validate", "--manycore", "--card", "--models", tmp_path)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["large", "480", "92.9", "82.6", "+12.5%", "166.2", "214.7"] in rows
    assert "103.5; (a) says 99.5, (b) 115.1" in " ".join(out.split())
    card = (tmp_path / "MANYCORE_CARD.md").read_text(encoding="utf-8")
    assert card.startswith("# Many-core processors\n") and "| large | 3840 | 36.8 | 36.773 | yes |" in card
