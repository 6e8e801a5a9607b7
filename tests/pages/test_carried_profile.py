"""A visitor's profile in the page's address: a reload and a link open it again; without it the page says so."""

from __future__ import annotations

from tests.pages.conftest import answer, lines, type_in, upload

VGG = "vgg16-224px-b16-g3s"


def carrying(open_app, samples):
    """The answer with an upload and a typed latency, and the address it has."""
    app = upload(open_app(anchor="g3s.xlarge"), ("net.json", samples[VGG].data))
    type_in(app, "latency", samples[VGG].latency_ms)
    app.toggle(key="carry_profile").set_value(True).run()
    assert not app.exception
    return app, dict(app.query_params)


def test_a_profile_stays_out_of_the_address_until_its_visitor_wants_it_there(open_app, samples):
    app = upload(open_app(), ("net.json", samples[VGG].data))
    assert app.query_params["source"] == "upload" and "profile" not in app.query_params
    app, query = carrying(open_app, samples)
    assert 500 < len(query["profile"]) < 1_200
    app.toggle(key="carry_profile").set_value(False).run()
    assert "profile" not in app.query_params


def test_a_link_opens_the_same_answer(open_app, samples):
    app, query = carrying(open_app, samples)
    again = open_app(**query)
    assert not again.error and not again.warning
    assert answer(again) == answer(app)
    assert "the profile from the link" in " ".join(lines(again.caption))
    assert again.toggle(key="carry_profile").value is True
    assert again.query_params["profile"] == query["profile"]
    # Every page of the session has it.
    sizes = open_app("sizes", **query)
    assert "the profile from the link" in " ".join(lines(sizes.caption)) and not sizes.error


def test_a_sample_is_never_carried(open_app, samples):
    app, _ = carrying(open_app, samples)
    app.segmented_control(key="source").set_value("sample").run()
    assert "profile" not in app.query_params and "source" not in app.query_params


def test_a_link_to_an_upload_that_is_not_in_it_says_so(open_app):
    for page in ("answer", "sizes"):
        app = open_app(page, source="upload", anchor="p2.xlarge", latency="88")
        assert [
            line for line in lines(app.warning) if line.startswith("This link is to a profile that someone uploaded")
        ]


def test_a_link_that_was_cut_short_gets_one_line(open_app, samples):
    _, query = carrying(open_app, samples)
    app = open_app(**{**query, "profile": query["profile"][:-20]})
    assert lines(app.error) == [
        "The profile in this link can't be read: the link was cut short or changed. Ask for it again."
    ]
    assert not app.exception and app.title
