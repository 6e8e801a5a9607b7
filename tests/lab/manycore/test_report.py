"""The report and the card hold what was computed and measured."""

from __future__ import annotations

import json

import pytest

from profet_core.files import manifest_checksum
from profet_lab.cards.manycore import MANYCORE_CARD_NAME, manycore_card
from profet_lab.manycore.report import MANYCORE_REPORT_NAME, write_manycore_report
from tests.made.manycore_report import made_report


def test_the_report_is_signed_and_has_its_card(tmp_path):
    write_manycore_report(made_report(), tmp_path)
    report = json.loads((tmp_path / MANYCORE_REPORT_NAME).read_text())
    assert report["checksum"] == manifest_checksum(report)
    assert (tmp_path / MANYCORE_CARD_NAME).read_text(encoding="utf-8") == manycore_card(made_report())


def test_all_twelve_predictions_have_the_published_digits():
    report = made_report()
    assert len(report.predictions) == 12 and all(row.same_digits for row in report.predictions)
    assert [f"{row.published_min:.1f}" for row in report.predictions[:4]] == ["6.6", "5.4", "4.9", "4.6"]


def test_how_far_the_models_are_apart():
    """By hand, of the small network at 480 to 3,840 threads: 2.6, 1.6, 1.0 and 0.6 %."""
    report = made_report()
    found = [row.apart_percent for row in report.models if row.network == "small" and row.threads > 240]
    assert [f"{each:.1f}" for each in found] == ["-2.6", "-1.6", "-1.0", "-0.6"]
    assert report.mean_apart_percent("small", extrapolated=True) == pytest.approx(-sum(found) / 4)
    assert report.mean_apart_percent("large", extrapolated=False) == pytest.approx(5.9, abs=0.05)
    assert (report.speedup.threads, report.speedup.published) == (244, 103.5)
    assert (report.speedup.speedup_a, report.speedup.speedup_b) == pytest.approx((99.5, 115.1), abs=0.05)
    card = manycore_card(report)
    assert "| large | 3840 | 36.8 | 36.773 | yes |" in card
    assert "| own images | 2 | 14 | no | 0.260 s | 0.250, 0.310 s | 0.251 s | -3.6% | 1.92 | 2.00 |" in card
