"""Accuracy: every card is drawn whole, the chosen one is in the link, and a missing one is one line."""

from __future__ import annotations

import re

import pytest

from tests.pages.conftest import link
from ui.state.session import Texts

CARDS = tuple(Texts.part.options)


@pytest.mark.parametrize("part", CARDS)
def test_every_card_is_drawn_with_its_tables(open_app, repository, part):
    card = (repository / "models" / f"{part.upper()}_CARD.md").read_text()
    app = open_app("accuracy", part=part)
    assert not app.error and not app.exception
    shown = "\n".join(element.value for element in app.markdown)
    for line in re.findall(r"^(?:##+ .*|\|[^](]*\|)$", card, re.M):
        assert line in shown
    assert not re.search(r"\]\((?!https?:|\?part=)", shown), "a link that leads nowhere"


def test_the_chosen_card_is_in_the_link(open_app):
    app = open_app("accuracy")
    assert link(app) == {}
    app.segmented_control(key="part").set_value("scaleout").run()
    assert link(app) == {"part": "scaleout"}
    assert open_app("accuracy", part="nothing").session_state["part"] == CARDS[0]


def test_a_missing_card_is_one_line(open_app, serve_report):
    serve_report("CELLS_CARD.md", None)
    app = open_app("accuracy", part="cells")
    assert len(app.info) == 1 and not app.error and not app.exception
