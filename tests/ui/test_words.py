"""Marks and words of a sentence."""

from __future__ import annotations

from profet_core.advice.plans import Confidence
from profet_core.artifacts.models import EnsembleRule
from ui.words import rule_phrase


def test_the_mark_is_read_without_color_and_the_word_aloud():
    assert [step.mark for step in Confidence] == ["●○○", "●●○", "●●●"]
    assert Confidence.FAIR.word == "fair"


def test_a_method_is_named_by_its_rule():
    assert rule_phrase(EnsembleRule(("line", "forest", "dense"), "median")) == "median of 3 models"
    assert rule_phrase(EnsembleRule(("forest", "dense"), "mean")) == "mean of 2 models"
    assert rule_phrase(EnsembleRule(("forest",), "mean")) == "one model"
