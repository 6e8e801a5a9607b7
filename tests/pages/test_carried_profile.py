"""A visitor's profile in the page's address: a reload and a link open it again; without it the page says so."""

from __future__ import annotations

from tests.pages.conftest import answer, lines, type_in, upload

VGG = "vgg16-224px-b16-g3s"


def carrying(open_app, samples):
    """The answer with an upload and a typed latency, and the address it has."""
    app = upload(open_app(anchor="g3s.xlarge"), ("net.json", samples[VGG].data))
    assert app.query_params["source"] == "upload" and "profile" not in app.query_params
    type_in(app, "latency", samples[VGG].latency_ms)
    app.toggle(key="carry_profile").set_value(True).run()
    assert not app.exception
    return app, dict(app.query_params)


def test_a_link_opens_the_same_answer_where_its_visitor_wants_the_profile_in_it(open_app, samples):
    app, query = carrying(open_app, samples)
    assert 500 < len(query["profile"]) < 1_200
    again = open_app(**query)
    assert not again.error and not again.warning and answer(again) == answer(app)
    assert again.toggle(key="carry_profile").value is True
    assert again.query_params["profile"] == query["profile"]
    for opened in (again, open_app("sizes", **query)):
        assert "the profile from the link" in " ".join(lines(opened.caption)) and not opened.error
    app.toggle(key="carry_profile").set_value(False).run()
    assert "profile" not in app.query_params
    # A sample is never carried.
    again.segmented_control(key="source").set_value("sample").run()
    assert "profile" not in again.query_params and "source" not in again.query_params
    app = open_app(**{**query, "profile": query["profile"][:-20]})
    (line,) = lines(app.error)
    assert "truncated" in line and not app.exception and app.title


def test_a_link_to_an_upload_that_is_not_in_it_says_so(open_app):
    for page in ("predict", "sizes"):
        app = open_app(page, source="upload", anchor="p2.xlarge", latency="88")
        assert [
            line for line in lines(app.warning) if line.startswith("This link is to a profile that someone uploaded")
        ]
