"""Templates are packaged and name nothing that is missing; numbers are written as the cards have them."""

from __future__ import annotations

from importlib import resources

import jinja2
import pytest

from profet_lab.cards.cards import fixed, render


def test_a_value_that_is_missing_is_an_error():
    templates = [path.name for path in resources.files("profet_lab.cards").joinpath("templates").iterdir()]
    assert len(templates) >= 9
    for name in ("model_card.md.j2", "transfer_card.md.j2"):
        with pytest.raises(jinja2.UndefinedError):
            render(name, report={})


def test_two_decimals_below_20_and_one_above():
    assert [fixed(value) for value in (3.14159, 19.994, 20.04, -25.55, 0)] == ["3.14", "19.99", "20.0", "-25.6", "0.00"]
