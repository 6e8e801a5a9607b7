"""What pages ask of a reader: figures of before belong to pages of today, and the newcomer's way has three inputs."""

from __future__ import annotations

import pytest

from benchmarks.newcomer import EPOCHS, IMAGES, MOST_INPUTS, newcomer
from benchmarks.pages import FIRST_PAGE, WIDE, before, measure, paths
from profet_core.advice.headline import headline
from tests.pages.expected import FIRST, Core

pytestmark = pytest.mark.browser


def test_each_page_of_before_became_one_of_today(browser, app_url):
    became = {name for name, _ in before()}
    assert became <= {path or FIRST_PAGE for path in paths(browser, app_url)}
    assert [old.words for _, old in before() if old.name == "guide"] == [2316]


def test_the_first_page_has_at_most_200_words(browser, app_url):
    assert measure(browser, app_url, "", repeats=1).words <= 200


def test_a_newcomer_s_answer_is_the_core_s_and_takes_three_inputs(browser, app_url, models, catalog, samples):
    sample, core = samples[FIRST], Core(models, catalog)
    way = newcomer(browser, app_url, sample.path, WIDE)
    assert way.inputs == MOST_INPUTS
    expected = headline(core.advise(sample, core.predict(sample), images=IMAGES, epochs=EPOCHS))
    assert way.answer.replace("\N{NO-BREAK SPACE}", " ") == expected
