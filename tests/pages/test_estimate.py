"""No profile: a network by its name or a file, told on every offer; beside a profile where there is one."""

from __future__ import annotations

import pytest

from pages.about.accuracy.percents import format_percent
from profet_core.accuracy.estimate_report import load_estimate_accuracy
from profet_core.estimate.disagreement import disagreement_words, disagreements
from profet_core.estimate.estimate import estimate
from profet_core.estimate.model import load_estimate
from profet_core.layers.networks import counts_of
from profet_core.layers.reading import read_network
from profet_core.units import format_ms
from tests.pages.conftest import ALL_COLUMNS, column, everything, give, go, lines, link, result_rows, rows, type_in
from tests.pages.expected import FIRST

TABLE = b"kind,channels,kernel\nconvolution,32,3\nmax pooling,,2\nconvolution,64,3\nflatten,,\ndense,10,\n"


def expected(models, catalog, network, batch_size, **more):
    found = estimate(models, catalog, network, batch_size=batch_size, **more)
    return {row.instance: format_ms(row.latency_ms) for row in found.rows}


def steps(app) -> dict[str, str]:
    return column(app, "Step")


def test_the_page_shows_what_the_core_estimates(open_app, models, catalog):
    app = everything(
        open_app("estimate", net="VGG16", net_pixels="128", net_batch="64", rows="all", retired="True"), "estimate"
    )
    assert not app.exception and not app.error, lines(app.error)
    told = expected(models, catalog, counts_of("VGG16", 128), 64, name="VGG16")
    shown = steps(app)
    assert len(shown) > 50 and all(told[name] == text for name, text in shown.items())
    assert set(result_rows(app)[0]) >= {"Range", "Memory", "Epoch", "Cost of an epoch", "By law", "By log-linear"}
    assert column(app, "Beyond what was measured")["p3.2xlarge"] == "interpolation"


def test_a_link_restores_the_settings(open_app, models, catalog):
    app = open_app("estimate", net="ResNet18", retired="True")
    app = type_in(app, "net_batch", 48)
    app = type_in(app, "net_pixels", 160)
    app.session_state["net_method"] = "law"
    app.session_state["net_optimiser"] = "adam"
    app.run()
    wanted = {"net": "ResNet18", "net_batch": "48", "net_pixels": "160", "net_method": "law", "net_optimiser": "adam"}
    said = {key: value[0] if isinstance(value, list) else value for key, value in link(app).items()}
    assert {key: said[key] for key in wanted} == wanted
    again = open_app("estimate", retired="True", **said)
    assert steps(again) == steps(app)
    assert (
        steps(again)["p3.2xlarge"]
        == expected(models, catalog, counts_of("ResNet18", 160), 48, method="law")["p3.2xlarge"]
    )


@pytest.mark.parametrize(
    ("key", "value"), [("net", "NoSuchNet"), ("net_batch", "0"), ("net_batch", "x"), ("net_pixels", "5000")]
)
def test_a_link_that_makes_no_sense_counts_as_none(open_app, key, value):
    app = open_app("estimate", **{key: value})
    assert not app.exception and not app.error
    assert steps(app) == steps(open_app("estimate"))


def test_an_image_too_small_is_one_line(open_app):
    app = open_app("estimate", net="InceptionV3", net_pixels="32")
    assert not app.exception
    (line,) = lines(app.error)
    assert "InceptionV3" in line and "\n" not in line


def test_a_file_is_counted_and_estimated(open_app, models, catalog):
    app = open_app("estimate", net_from="file", net_pixels="32", rows="all", retired="True")
    assert [block for block in lines(app.info) if "Give a network's file" in block]
    app = give(app, ("mine.csv", TABLE))
    assert not app.exception and not app.error, lines(app.error)
    network = read_network(TABLE, "mine.csv", 32)
    told = expected(models, catalog, network.counts, 32)
    assert steps(app)["g4dn.xlarge"] == told["g4dn.xlarge"]
    # A file that is none says so in one line; what was read before stays.
    app = give(app, ("bad.keras", b"not a network"))
    (line,) = lines(app.error)
    assert line.startswith("bad.keras") and "\n" not in line
    assert steps(app)["g4dn.xlarge"] == told["g4dn.xlarge"]


def test_a_profile_of_the_same_step_is_shown_beside(open_app, core, samples, models, catalog):
    sample = samples[FIRST]
    sizes = {"net": sample.model, "net_pixels": str(sample.pixels), "net_batch": str(sample.batch_size)}
    app = open_app("estimate", sample=FIRST, rows="all", retired="True", **sizes)
    prediction = core.predict(sample)
    by_profile = {row.instance: row.latency_ms for row in prediction.predictions if row.latency_ms is not None}
    shown = column(app, "By profile")
    assert shown["p3.2xlarge"] == format_ms(by_profile["p3.2xlarge"])
    found = estimate(models, catalog, counts_of(sample.model, sample.pixels), batch_size=sample.batch_size)
    words = disagreement_words(disagreements(found.rows, prediction))
    assert any(words in block for block in lines(app.markdown))
    # Of another step nothing is compared.
    other = type_in(app, "net_batch", sample.batch_size * 2)
    assert "By profile" not in result_rows(other)[0]


def test_features_and_weights_are_shown_when_they_are_asked_for(open_app, models):
    app = open_app("estimate")
    assert not app.table
    app.session_state["estimate:weights"] = True
    app.run()
    assert not app.exception
    work = rows(app, 0)
    assert [row["Work"] for row in work][-2:] == ["launches by the host", "copy and start"]
    assert set(work[0]) == {"Work", "Amount", *models.transfer.instances}
    assert "ms by the law" in [row["Feature"] for row in rows(app, 1)]


def test_coming_from_another_page_keeps_the_network(open_app):
    app = open_app("estimate", net="VGG11")
    before = steps(app)
    assert steps(go(go(app, "about"), "estimate")) == before
    assert ALL_COLUMNS["estimate"][0] == "latency_ms"


def test_about_shows_the_shipped_report(open_app, models):
    accuracy = load_estimate_accuracy(load_estimate(models.folder), models.folder)
    app = open_app("about", open="accuracy", part="estimate")
    assert not app.exception and not app.error, lines(app.error)
    shown = {row["Left out"]: row for row in rows(app, 0)}
    assert len(shown) == len(accuracy.regimes)
    for told, row in zip(shown.values(), accuracy.regimes.values(), strict=True):
        assert told["lightgbm"] == format_percent(row.mape["lightgbm"])
        assert told["Held"] == format_percent(row.coverage_90[accuracy.default])
    by_network = {row["Network"]: row for row in rows(app, 1)}
    assert len(by_network) == accuracy.networks and by_network["ResNet50"]["A GPU"] == "–"
