"""Words of a sentence, and one line in the log of what goes wrong on our side."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from profet_core import read_profile
from profet_core.prediction.models import EnsembleRule
from profet_core.training.plans import Confidence
from ui.words import log_failure


def test_a_method_is_named_by_its_rule_and_confidence_by_mark_and_word():
    assert [step.mark for step in Confidence] == ["●○○", "●●○", "●●●"]
    assert Confidence.FAIR.word == "fair"
    assert EnsembleRule(("line", "forest", "dense"), "median").words == "median of 3 models"
    assert EnsembleRule(("forest", "dense"), "mean").words == "mean of 2 models"
    assert EnsembleRule(("forest",), "mean").words == "one model"


ROOT = Path(__file__).resolve().parents[2]


def test_a_failure_is_logged_as_one_line_without_texts_and_places(caplog):
    class Source(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise KeyError("conv_of_my_network")

    try:
        read_profile(Source())
    except Exception as error:
        with caplog.at_level(logging.ERROR):
            log_failure(logging.getLogger("test"), "A page failed", error)
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith("A page failed: KeyError at ") and "profet_recorder/profiles/reading.py:" in line
    assert record.exc_info is None and "\n" not in line
    assert "conv_of_my_network" not in line and str(ROOT) not in line
