"""Links to the answer: they reopen the view, what makes no sense in them counts as not given, old ones still lead."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from tests.pages.conftest import answer, assert_says, go, lines, link, type_in
from tests.pages.expected import FIRST
from ui.old_addresses import new_address

VGG = "vgg16-224px-b16-g3s"


def test_a_link_reopens_the_view(open_app):
    app = open_app()
    app.selectbox(key="sample").set_value(VGG).run()
    app.selectbox(key="unit").set_value("us")
    type_in(app, "latency", 330_000.0)
    assert dict(app.query_params) == {"sample": VGG, "latency": "330000", "unit": "us"}
    again = open_app(**dict(app.query_params))
    assert answer(again) == answer(app)
    assert dict(again.query_params) == dict(app.query_params)


def test_a_link_keeps_an_empty_latency_and_another_anchor(open_app):
    app = open_app(anchor="p2.xlarge", latency="none")
    assert app.session_state["latency"] is None
    assert app.selectbox(key="anchor").value == "p2.xlarge"
    assert dict(app.query_params) == {"anchor": "p2.xlarge", "latency": "none"}


@pytest.mark.parametrize(
    "query",
    [
        {"sample": "../../etc/passwd"},
        {"anchor": "p9.huge"},
        {"latency": "nan"},
        {"latency": "-5"},
        {"unit": "fortnight"},
        {"method": "oracle"},
        {"source": "<script>"},
        {"second_sample": "<b>"},
        {"answer_columns": "<b>"},
        {"answer_columns": "nothing,of_that"},
        {"answer_sort": "-<b>"},
        {"answer_sort": "nothing"},
        {"answer_open": "x" * 500},
        {"against": "x" * 5000},
        {"batch": "1e2"},
        {"images": "9" * 400},
    ],
    ids=str,
)
def test_a_senseless_link_opens_the_first_view(open_app, query):
    app = open_app(**query)
    assert answer(app) == answer(open_app())
    assert not app.error and not app.exception and not app.subheader


def test_a_link_to_an_upload_says_that_the_file_is_missing(open_app):
    app = open_app(source="upload", latency="9999")
    assert any("the page still shows the sample" in line for line in lines(app.caption))
    assert answer(app) == answer(open_app())


def test_a_link_sorts_and_chooses_columns(open_app):
    app = open_app(answer_sort="-time", answer_columns="cost,latency_ms", retired="True")
    rows = answer(app)
    assert list(rows[0]) == ["Instance", "Cost", "Step", "GPU"]
    assert (rows[0]["Instance"], rows[-1]["Instance"]) != (rows[-1]["Instance"], rows[0]["Instance"])
    assert [row["Instance"] for row in rows][:2] == ["p2.xlarge", "g3s.xlarge"], "the slowest first"
    assert dict(app.query_params) == {
        "answer_sort": "-time",
        "answer_columns": "cost,latency_ms",
        "retired": "True",
    }


def test_settings_of_the_answer_are_in_the_link_of_sizes_too(open_app):
    app = open_app(sample=VGG, epochs="7", tf32="False", **{"price_g5.xlarge": "0.4"})
    go(app, "sizes")
    assert link(app) == {"sample": VGG, "epochs": "7", "tf32": "False", "price_g5.xlarge": "0.4"}


# --- links of before ------------------------------------------------------------------------------------------------


def opened(open_app, path: str, query: str):
    """Follow an old link as the server's redirect leads it."""
    led, _, settings = new_address(path, query).partition("?")
    page = {"./": "answer", "./sizes": "sizes"}[led]
    return open_app(page, **dict(parse_qsl(settings)))


@pytest.mark.parametrize(
    ("path", "query", "choices"),
    [
        ("/predict", f"sample={VGG}&latency=none", {}),
        ("/cost", f"sample={VGG}&images=12345&epochs=7&price_g4dn.xlarge=0.4", {"images": 12_345, "epochs": 7}),
        ("/advise", f"sample={VGG}&epochs=90&retired=in", {"epochs": 90, "retired": True}),
        ("/cost", f"sample={FIRST}&batch_from=scaled&batch=200", {}),
    ],
)
def test_an_old_link_to_prices_and_times_opens_the_answer_with_its_settings(
    open_app, core, samples, path, query, choices
):
    app = opened(open_app, path, query)
    given = dict(parse_qsl(query))
    sample = samples[given["sample"]]
    prices = {"g4dn.xlarge": 0.4} if "price_g4dn.xlarge" in given else None
    found = core.predict(sample, **({"latency_ms": None} if "latency" in given else {}))
    if "batch" in given:
        choices = {**choices, "batch_size": 200, "steps": core.steps_at(sample, batch_size=200)}
    assert_says(app, core.advise(sample, found, prices=prices, **choices))


def test_an_old_link_to_scale_opens_the_sizes(open_app):
    app = opened(open_app, "/scale", "axis=pixels&pixels=200&shows=cost")
    assert not app.error and app.slider(key="slider:pixels").value == 200
    assert dict(app.query_params) == {"axis": "pixels", "pixels": "200", "shows": "cost"}
