"""Every page opens by its own link, in order; failures end as one line; nothing of one visitor reaches another."""

from __future__ import annotations

import json

import pytest

from tests.pages.conftest import PAGES, answer, go, lines, type_in, upload
from ui import frame
from ui.errors import UNEXPECTED
from ui.texts import plain


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_by_its_link(open_app, page):
    app = open_app(page)
    titles = {
        "answer": "Which cloud GPU should train it?",
        "sizes": "What do batch and pixel size do?",
        "scale_out": "What do more GPUs do?",
        "estimate": "No profile yet?",
        "profiles": "Profiles",
        "many_core": "How long on a many-core processor?",
        "about": "How good is it?",
    }
    assert [title.value for title in app.title] == [titles[page]]
    assert not app.exception
    # Without its reports About says so in one line each; tests/pages/test_about_accuracy.py has the rest.
    assert not app.error or page == "about"


def test_about_maps_every_command_of_the_original(open_app):
    app = open_app("about", open="credits")
    (commands,) = [table.value for table in app.table if "Original" in table.value]
    original = " ".join(commands["Original"])
    for name in (
        "anchor_preprocessing",
        "train_anchor_model",
        "train_scaler_model",
        "anchor_prediction",
        "scaler_prediction",
        "anchor_validaiton",
        "train_scaler.py",
        "scaler_validation",
    ):
        assert name in original
    assert any("2208.05130" in element.value for element in app.markdown)


def test_every_format_is_named(open_app):
    app = open_app("about", open="files")
    assert "profet convert TRACE -o profile.json" in [element.value for element in app.code]
    profiles, networks = [table.value for table in app.table if "Format" in table.value]
    assert (len(profiles), len(networks)) == (10, 4)


def test_the_example_files_are_read(open_app):
    from profet_core import read_profile

    examples = [code.value for code in open_app("about", open="files").code if code.value.startswith("{")]
    first, second = (read_profile(text.encode()) for text in examples)
    assert first.operations == second.operations
    assert first.operations == {name: value / 2 for name, value in sorted(json.loads(examples[0]).items())}
    assert (first.steps, second.steps) == (2, 1)
    assert second.meta.batch_size == 64 and not second.ignored


@pytest.mark.parametrize("page", PAGES)
def test_an_unexpected_error_is_one_line(open_app, monkeypatch, page):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(frame, "held_in", fail)
    app = open_app(page)
    assert lines(app.error) == [UNEXPECTED]
    assert not app.exception


def test_missing_models_are_one_line(open_app, monkeypatch, tmp_path):
    from ui.state.resources import load_resources

    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    load_resources.clear()
    app = open_app()
    load_resources.clear()
    assert len(app.error) == 1 and "There are no models in" in lines(app.error)[0]
    assert not app.exception


def test_nothing_of_one_visitor_reaches_another(open_app, samples):
    mine, fresh = open_app(), open_app()
    upload(mine, ("secret.json", samples["vgg16-224px-b16-g3s"].data))
    assert any("secret.json" in line for line in lines(mine.caption))
    other = open_app(source="upload")
    assert not any("secret.json" in line for line in lines(other.caption))
    assert answer(other) == answer(fresh)


def test_plain_text_stays_plain():
    assert plain("a_b *c* <d> [e](f) `g` $h$ :red[i]") == (r"a\_b \*c\* \<d\> \[e\]\(f\) \`g\` \$h\$ \:red\[i\]")


def test_unknown_parameters_of_a_link_are_left_alone(open_app):
    app = open_app(utm_source="mail")
    type_in(app, "latency", 210.0)
    assert dict(app.query_params) == {"utm_source": "mail", "latency": "210"}
    assert dict(go(app, "about").query_params) == {"utm_source": "mail"}
