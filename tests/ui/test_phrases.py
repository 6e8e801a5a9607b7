"""How things are named in a sentence."""

from __future__ import annotations

from profet_core.artifacts.methods import EnsembleRule
from ui.phrases import rule_phrase


def test_a_method_is_named_by_its_rule():
    assert rule_phrase(EnsembleRule(("line", "forest", "dense"), "median")) == "median of three models"
    assert rule_phrase(EnsembleRule(("forest", "dense"), "mean")) == "mean of two models"
    assert rule_phrase(EnsembleRule(("forest",), "mean")) == "one model"
