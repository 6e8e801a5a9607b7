"""Compare, inside one profile: what is in it, what holds its step up, and where each operation's time goes."""

from __future__ import annotations

from profet_core.answers.predict import placements
from profet_core.prediction.checks import diagnose
from tests.pages.conftest import custom, give, go, inside, lines, listing, look_at, rows, upload
from tests.pages.expected import FIRST

LENET, VGG, ALEXNET = "lenet5-32px-b16-g3s", "vgg16-224px-b16-g3s", "alexnet-64px-b128-p2"


def facts(app) -> dict[str, str]:
    return {row[""]: row["Value"] for row in rows(app, 0)}


def test_every_sample_is_shown_with_what_holds_it_up(open_app, models, samples):
    for name in (LENET, VGG, ALEXNET):
        sample = samples[name]
        app = inside(open_app("compare", inspect=name))
        found = diagnose(sample.profile, sample.latency_ms)
        said = lines(app.warning) + lines(app.info) + lines(app.success)
        assert said == [found.sentence]
        assert facts(app)["Format"] == "PROFET JSON, version 2"
        assert facts(app)["Batch size"] == str(sample.batch_size)
        shown = app.dataframe[0].value
        assert list(shown["Operation"]) == [row.operation for row in placements(models, sample.profile)]
        assert not app.error and not app.exception
        assert dict(app.query_params) == {"view": "inside", "inspect": name}


def test_it_shows_what_predict_shows_until_another_one_is_chosen(open_app, samples):
    app = open_app(sample=VGG)
    assert listing(go(app, "compare")).value == VGG and dict(app.query_params) == {"sample": VGG}
    go(app, "predict")
    upload(app, ("mine.json", samples[LENET].data), ("other.json", samples[VGG].data))
    app.selectbox(key="chosen").set_value(next(iter(app.session_state["custom_profiles"]))).run()
    inside(go(app, "compare"))
    assert facts(app)["Pixels"] == "32"
    look_at(app, "other.json")
    assert facts(app)["Pixels"] == "224"
    go(app, "sizes")
    inside(go(app, "compare"))
    assert facts(app)["Pixels"] == "224" and dict(app.query_params) == {"view": "inside"}


def test_links_of_predict_lead_inside_what_it_shows(open_app, samples):
    app = open_app(sample=ALEXNET)
    go(app, "compare", **link_of(app, "Look inside the profile"))
    assert listing(app).value == ALEXNET and app.segmented_control(key="view").value == "inside"
    go(app, "predict")
    upload(app, ("cpu.json", b'{"Host_MatMul": 500.0, "Host_BiasAddGrad": 100.0, "Host_IDLE": 90000.0}'))
    go(app, "compare", **link_of(app, "Look inside the profile"))
    assert listing(app).value in custom(app).values()
    assert "no GPU time" in lines(app.warning)[0] and not app.exception
    app = open_app(source="upload")
    go(app, "about", **link_of(app, "How to record a profile"))
    assert app.segmented_control(key="open").value == "record"


def link_of(app, label: str) -> dict[str, str]:
    """What a link to another page asks for."""
    link = next(link.proto for link in app.get("page_link") if link.proto.label == label)
    return dict(part.split("=") for part in link.query_string.split("&"))


def test_an_upload_here_is_shown_here_and_joins_the_list(open_app, samples):
    app = open_app("compare", view="inside", inspect="<script>", compare_samples=VGG)
    assert listing(app).value == FIRST, "a senseless link is no choice"
    give(app, ("mine.json", samples[LENET].data))
    ((key, held),) = app.session_state["custom_profiles"].items()
    assert listing(app).value == key
    assert facts(inside(app))["Batch size"] == "16" and held.name == "mine.json"
    app.button(key="compare:remove").click().run()
    assert listing(app).value == FIRST
    app.multiselect(key="compare_samples").select(LENET).run()
    assert listing(app).value == LENET
    assert facts(app)["Pixels"] == "32" and not app.exception
    shown = {"view": "inside", "inspect": LENET, "compare_samples": f"{VGG},{LENET}"}
    assert dict(app.query_params) == shown
    app.multiselect(key="compare_samples").unselect(LENET).run()
    assert listing(app).value == VGG
    app.multiselect(key="compare_samples").unselect(VGG).run()
    assert listing(app).value == FIRST and dict(app.query_params) == {"view": "inside", "compare_samples": ""}
