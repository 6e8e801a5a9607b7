"""Links: every setting survives a reload; of 1.1 they are read; what makes no sense is one line."""

from __future__ import annotations

import pytest

from profet_profiles.profet_json import profile_to_link_text
from tests.pages.conftest import answer, lines
from ui.resources import load_resources
from ui.session import LINKED, RENAMED, Part, session

#: Key -> a value of a setting that is any text, or of what the resources have.
TEXTS = {
    "sample": "vgg16-224px-b16-g3s",
    "anchor": "p2.xlarge",
    "latency": "131 ms",
    "second_latency": "310 ms",
    "measured": "700",
    "network": "25.6M",
    "against": "p2.xlarge",
    "region": "us-east-1",
    "provider": "aws,gcp",
    "net": "resnet18",
    "compare_samples": "vgg16-224px-b16-g3s,alexnet-64px-b128-p2",
    "compare_networks": "resnet18,vit_b_16",
    "inspect": "predict",
    "price": "0.25",
}
#: Page -> what its link has, and what stays as it is there.
LINKS: dict[str, tuple[tuple[Part, ...], dict[str, str]]] = {
    "predict": (
        (*session.slots, session.network, session.how, session.training, session.offers, session.predict),
        {"source": "upload", "second_source": "sample"},
    ),
    "sizes": ((session.file, session.sizes, session.sizes_table), {"source": "name", "net_from": "name"}),
    "scaler": ((session.scaler,), {}),
    "compare": ((session.compare, session.compare_table), {}),
    "scale_out": ((session.scale_out, session.scale_out_table), {}),
    "about": ((session.texts,), {}),
    "many_core": ((session.manycore,), {}),
}


def another(key: str) -> str:
    """A value that isn't the default, as a link has it."""
    setting = LINKED[key]
    if key in TEXTS:
        return TEXTS[key]
    if setting.bounds is not None:
        low, high = setting.bounds
        return str(max(low, min(high, 48)) + (1 if isinstance(low, int) else 0.5))
    if setting.among is not None:
        return max(setting.among(load_resources()))
    return next((option for option in reversed(setting.options) if option != setting.default), "True")


@pytest.mark.parametrize("page", LINKS)
def test_every_setting_survives_a_reload(open_app, samples, page):
    parts, fixed = LINKS[page]
    settings = {key: one for part in parts for key, one in part.settings.items() if key in LINKED}
    query = {f"{key}_p2.xlarge" if one.is_mapping else key: another(key) for key, one in settings.items()} | fixed
    if page == "predict":
        # A sample has its own number of steps.
        del query["second_steps"], query["sample"]
        query["profile"] = profile_to_link_text(samples["vgg16-224px-b16-g3s"].profile)
    app = open_app(page, **query)
    shown = {key: value[0] if isinstance(value, list) else value for key, value in dict(app.query_params).items()}
    assert shown == {key: value for key, value in query.items() if key not in LINKED or value != LINKED[key].default}
    assert not app.exception and not any("Ignored" in line for line in lines(app.info))


def test_upper_case_is_read(open_app):
    app = open_app(preset="ALL", gpu="t4", provider="AWS,gcp", chart="Table", include_retired="true", images="1e6")
    assert not app.info and dict(app.query_params) == {
        **{"preset": "all", "gpu": "T4", "provider": "aws,gcp", "chart": "table"},
        **{"include_retired": "True", "images": "1000000"},
    }


def test_every_setting_is_in_one_of_these_links_and_those_of_1_1_are_still_read():
    tables = ("predict_", "sizes_", "scale_out_", "compare_")
    listed = {key for parts, _ in LINKS.values() for part in parts for key in part.settings}
    assert {key for key in LINKED if not key.startswith(tables)} <= listed
    assert RENAMED.keys().isdisjoint(LINKED) and LINKED.keys() >= {*RENAMED.values()}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("one_gpu_on", "RTX 3090", "GeForce RTX 3090"),
        ("drawn", "v100 16GB sxm2,L4", ["Tesla V100-SXM2-16GB", "L4"]),
        ("gpu", "Tesla T4,RTX 4090", ["T4", "GeForce RTX 4090"]),
        ("gpu", "A100 80GB", None),
        ("one_gpu_on", "A100", None),
        ("provider", "T4", None),
    ],
)
def test_a_gpu_is_read_however_it_is_written(key, text, value):
    if value is not None:
        assert LINKED[key].parse(text, load_resources()) == value
        return
    with pytest.raises(ValueError):
        LINKED[key].parse(text, load_resources())


@pytest.mark.parametrize(
    ("query", "ignored"),
    [
        ({"batch": "1e9", "images": "-3"}, 2),
        ({"preset": "nine", "sort": "", "per": "1000_steps"}, 3),
        ({"runs": "nan", "deadline_hours": "inf", "whole_nodes": "yes", "gpu": "Voodoo"}, 4),
        ({"price_no.such": "2", "price_p2.xlarge": "-1", "at_pixels": "31", "latency": "soon"}, 4),
        ({"predict_open": "x" * 500, "unknown": "7"}, 0),
    ],
)
def test_a_senseless_link_opens_the_first_view_and_one_line_names_what_is_ignored(open_app, first_view, query, ignored):
    app = open_app(**query)
    assert not app.error and answer(app) == first_view()
    assert sum(name in line for line in lines(app.info) for name in query) == ignored
    assert len(app.info) == bool(ignored) and (not ignored or not query.keys() & {*dict(app.query_params)})
