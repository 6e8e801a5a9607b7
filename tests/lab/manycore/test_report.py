"""The report and the card hold what was computed and measured; a changed or damaged report is refused."""

from __future__ import annotations

import json

import pytest

from profet_core.accuracy.manycore_report import MANYCORE_REPORT_NAME, load_manycore_accuracy
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum
from profet_lab.cards.manycore import MANYCORE_CARD_NAME, manycore_card
from profet_lab.manycore.report import write_manycore_report
from tests.made.manycore_report import made_report


@pytest.fixture
def folder(tmp_path):
    write_manycore_report(made_report(), tmp_path)
    return tmp_path


def test_what_is_written_is_read_again(folder):
    assert load_manycore_accuracy(folder) == made_report()
    assert (folder / MANYCORE_CARD_NAME).read_text() == manycore_card(made_report())


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
    assert report.mean_apart_percent("large", extrapolated=True) == pytest.approx(53.6, abs=0.05)
    speedup = report.speedup
    assert (speedup.threads, speedup.published) == (244, 103.5)
    assert (speedup.speedup_a, speedup.speedup_b) == pytest.approx((99.5, 115.1), abs=0.05)


def test_the_card_names_every_figure():
    card = manycore_card(made_report())
    assert "| large | 3840 | 36.8 | 36.773 | yes |" in card
    assert "| own images | 2 | 14 | no | 0.260 s | 0.250, 0.310 s | 0.251 s | -3.6 % | 1.92 | 2.00 |" in card
    assert "(a) gives its preparation 20 minutes" in " ".join(card.split())
    assert "103.5; (a) says 99.5, (b) 115.1." in " ".join(card.split())


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.pop("speedup"),
        lambda report: report["predictions"].pop(),
        lambda report: report["predictions"][0].update(a_min="6.5"),
        lambda report: report["models"][0].update(b_min=-1),
        lambda report: report["models"].reverse(),
        lambda report: report["own_cores"]["ways"].clear(),
        lambda report: report["own_cores"]["ways"][0]["rows"].pop(),
        lambda report: report["own_cores"].update(processor=None),
    ],
)
def test_a_damaged_report_is_refused(folder, change):
    path = folder / MANYCORE_REPORT_NAME
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps({**report, "checksum": manifest_checksum(report)}))
    with pytest.raises(
        ArtifactError, match=r"manycore_validation\.json is damaged: .*profet validate --manycore --card"
    ):
        load_manycore_accuracy(folder)


def test_a_changed_or_missing_report_is_refused(folder):
    path = folder / MANYCORE_REPORT_NAME
    path.write_text(path.read_text().replace('"threads": 960', '"threads": 961'))
    with pytest.raises(ArtifactError, match="is damaged"):
        load_manycore_accuracy(folder)
    path.unlink()
    with pytest.raises(ArtifactError, match="is missing"):
        load_manycore_accuracy(folder)
