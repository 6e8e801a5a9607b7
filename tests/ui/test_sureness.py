"""The mark of how sure a number is."""

from __future__ import annotations

from profet_core.advice.sureness import Sureness
from ui.sureness import sureness_cell, sureness_explained


def test_the_mark_is_read_without_colour_and_the_word_aloud():
    assert [step.mark for step in Sureness] == ["●○○", "●●○", "●●●"]
    cell = sureness_cell(Sureness.FAIR)
    assert (cell.mark, cell.text) == ("●●○", "fair")


def test_each_step_is_explained_once_with_its_measured_errors():
    text = sureness_explained()
    assert all(text.count(f"{step.mark} {step.word}") == 1 for step in Sureness)
    assert "mean error was 5 %" in text and "there 11 % and 22 %" in text
