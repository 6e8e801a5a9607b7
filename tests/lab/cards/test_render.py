"""Templates are packaged and name nothing that is missing; numbers are written as the cards have them."""

from __future__ import annotations

from importlib import resources

import jinja2
import pytest

from profet_lab.cards.render import fixed, render

pytestmark = pytest.mark.training

TEMPLATES = sorted(
    path.name for path in resources.files("profet_lab.cards").joinpath("templates").iterdir() if path.is_file()
)


def test_the_package_holds_the_templates():
    assert TEMPLATES == [
        "cells_card.md.j2",
        "derived_gpus.md.j2",
        "estimate_card.md.j2",
        "manycore_card.md.j2",
        "memory.md.j2",
        "model_card.md.j2",
        "real_profiles.md.j2",
        "scaleout_card.md.j2",
        "transfer_card.md.j2",
    ]


@pytest.mark.parametrize("name", ["model_card.md.j2", "transfer_card.md.j2"])
def test_a_value_that_is_missing_is_an_error(name):
    with pytest.raises(jinja2.UndefinedError):
        render(name, card={})


@pytest.mark.parametrize(
    ("value", "written"), [(3.14159, "3.14"), (19.994, "19.99"), (20.04, "20.0"), (-25.55, "-25.6"), (0, "0.00")]
)
def test_two_decimals_below_20_and_one_above(value, written):
    assert fixed(value) == written
