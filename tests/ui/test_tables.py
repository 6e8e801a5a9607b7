"""Cells and files as pure functions of records."""

from __future__ import annotations

import csv
import io
import json

from ui.tables import as_csv, as_json, format_range_ms

ROWS = [
    {"instance": "g4dn.xlarge", "latency_ms": 203.295, "speedup": None, "anchor": True},
    {"instance": "p3.2xlarge", "latency_ms": 0.1 + 0.2, "speedup": 2.5, "anchor": False},
]


def test_ranges_name_the_unit_once():
    assert format_range_ms(190.2, 205.4) == "190–205 ms"


def test_downloads_keep_every_digit():
    assert json.loads(as_json(ROWS)) == ROWS
    read = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert [row["latency_ms"] for row in read] == ["203.295", repr(0.1 + 0.2)]
    assert read[0]["speedup"] == ""


def test_no_text_is_a_formula_to_a_spreadsheet():
    rows = [{"name": text, "usd": -1.5} for text in ("=1+1", "+1", "-1", "@a", "a=1")]
    read = [row["name"] for row in csv.DictReader(io.StringIO(as_csv(rows)))]
    assert read == ["'=1+1", "'+1", "'-1", "'@a", "a=1"] and ",-1.5" in as_csv(rows)
