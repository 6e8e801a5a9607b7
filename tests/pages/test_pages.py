"""Every page opens by its own link, in order; failures end as one line; nothing of one visitor reaches another."""

from __future__ import annotations

import pytest

from pages.predict.predict import TITLE
from tests.pages.conftest import PAGES, lines
from ui import frame
from ui.words import UNEXPECTED, plain


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_by_its_link(open_app, page):
    app = open_app(page)
    titles = {
        "scaler": "Scaler prediction",
        "predict": TITLE,
        "sizes": "Latency and cost by batch size and image size",
        "scale_out": "Training on 1 to 64 GPUs",
        "estimate": "Time and cost without a profile",
        "compare": "Compare profiles",
        "accuracy": "Accuracy",
        "about": "About",
    }
    assert [title.value for title in app.title] == [titles[page]]
    assert not app.exception and not app.error


@pytest.mark.parametrize("page", ["predict", "about"])
def test_an_unexpected_error_is_one_line(open_app, monkeypatch, page):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(frame, "held_in", fail)
    app = open_app(page)
    assert lines(app.error) == [UNEXPECTED] and not app.exception


def test_missing_models_are_one_line(open_app, monkeypatch, tmp_path):
    from ui.resources import load_resources

    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    load_resources.clear()
    app = open_app()
    load_resources.clear()
    assert len(app.error) == 1 and "There are no models in" in lines(app.error)[0]
    assert not app.exception


def test_plain_text_stays_plain():
    assert plain("a_b *c* <d> [e](f) `g` $h$ :red[i]") == (r"a\_b \*c\* \<d\> \[e\]\(f\) \`g\` \$h\$ \:red\[i\]")
