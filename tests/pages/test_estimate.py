"""No profile: estimates of a network by name or file, and many-core CPUs."""

from __future__ import annotations

import pytest

from profet_core.layers.estimate import NetworkStep, disagreement_words, disagreements, estimate
from profet_core.layers.networks import counts_of
from profet_core.layers.reading import read_network
from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_THREADS,
    PUBLISHED_TRAINING,
    Training,
    manycore,
    scaled_network,
)
from profet_profiles.units import format_ms, format_significant, format_time
from tests.pages.conftest import column, everything, give, go, has_results, lines, link, result_rows, type_in
from tests.pages.expected import FIRST
from ui.server import DROPPED_TYPE

TABLE = b"kind,channels,kernel\nconvolution,32,3\nmax pooling,,2\nconvolution,64,3\nflatten,,\ndense,10,\n"


def expected(models, catalog, network, batch_size, **more):
    found = estimate(models, catalog, NetworkStep(network, batch_size, **more))
    return {row.instance: format_ms(row.latency_ms) for row in found.rows}


def steps(app) -> dict[str, str]:
    return column(app, "Step")


def test_the_page_shows_what_the_core_estimates(open_app, models, catalog):
    app = everything(
        open_app("estimate", net="PROFET VGG16", net_pixels="128", net_batch="64", preset="all", retired="True"),
        "estimate",
    )
    assert not app.exception and not app.error, lines(app.error)
    stated = expected(models, catalog, counts_of("PROFET VGG16", 128), 64, name="PROFET VGG16")
    shown = steps(app)
    assert len(shown) > 40 and all(stated[name] == text for name, text in shown.items())
    assert set(result_rows(app)[0]) >= {"Range", "Memory", "Epoch cost"}
    assert column(app, "Case")["p3.2xlarge"] == "interpolation"


def test_a_link_restores_the_settings(open_app, models, catalog):
    app = open_app("estimate", net="resnet18", preset="original")
    app = type_in(app, "net_batch", 48)
    app = type_in(app, "net_pixels", 160)
    app.session_state["net_code"] = "channels-last"
    app.session_state["net_optimizer"] = "adam"
    app.run()
    wanted = {
        "net": "resnet18",
        "net_batch": "48",
        "net_pixels": "160",
        "net_code": "channels-last",
        "net_optimizer": "adam",
    }
    said = {key: value[0] if isinstance(value, list) else value for key, value in link(app).items()}
    assert {key: said[key] for key in wanted} == wanted
    again = open_app("estimate", preset="original", **said)
    assert steps(again) == steps(app)
    assert steps(go(go(again, "about"), "estimate")) == steps(app)
    assert (
        steps(again)["p3.2xlarge"]
        == expected(models, catalog, counts_of("resnet18", 160), 48, name="resnet18")["p3.2xlarge"]
    )


def test_a_checkpoint_s_own_size_is_kept(open_app, models, catalog):
    checkpoint = "timm/convnext_base.fb_in22k_ft_in1k_384"
    app = open_app("estimate", net=checkpoint, preset="original")
    stated = expected(models, catalog, counts_of("convnext_base", 384), 32, name="convnext_base")
    assert not app.error and steps(app)["p3.2xlarge"] == stated["p3.2xlarge"]
    assert link(app)["net"] in (checkpoint, [checkpoint])


def test_a_measured_time_that_is_none_is_an_error_above_the_estimates_without_it(open_app):
    alone = open_app("estimate", preset="original")
    app = open_app("estimate", preset="original", net_gpu="Tesla T4")
    assert any("measured" in text for text in lines(app.caption)) and steps(app) == steps(alone)
    app = app.text_input(key="net_time").set_value("fast").run()
    assert "46ms" in lines(app.error)[0] and steps(app) == steps(alone)
    app = app.text_input(key="net_time").set_value("20 it/s").run()
    assert not app.error and steps(app) != steps(alone)
    assert steps(go(go(app, "about"), "estimate")) == steps(app)


def test_runs_multiply_a_training_s_cost_and_not_an_epoch_s(open_app):
    once, often = (
        everything(open_app("estimate", preset="original", retired="True", epochs="2", runs=runs), "estimate")
        for runs in ("1", "5")
    )
    for title in ("Step", "Epoch time", "Epoch cost"):
        assert column(often, title) == column(once, title)
    one, five = (float(column(app, "Cost")["g4dn.xlarge"].removeprefix("$")) for app in (once, often))
    assert five == pytest.approx(5 * one, rel=0.01)


def test_a_file_is_counted_and_estimated(open_app, models, catalog):
    app = open_app("estimate", net_from="file", net_pixels="32", preset="all", retired="True")
    assert len(app.info) == 1 and not app.table
    app = give(app, ("mine.csv", TABLE))
    assert not app.exception and not app.error, lines(app.error)
    network = read_network(TABLE, "mine.csv", 32)
    stated = expected(models, catalog, network.counts, 32)
    assert steps(app)["g4dn.xlarge"] == stated["g4dn.xlarge"]
    assert any("mine" in line for line in lines(go(go(app, "about"), "estimate").caption))


def test_what_is_wrong_with_a_file_is_one_line_and_what_was_read_before_stays(open_app, monkeypatch):
    app = give(open_app("estimate", net_from="file", net_pixels="32"), ("mine.csv", TABLE))
    before = steps(app)
    for content in (b"", b"\x00" * 100, b"PK\x03\x04", b"{" * 10_000):
        app = give(app, ("<b>x</b>.keras", content))
        (line,) = lines(app.error)
        assert line.startswith("<b>x</b>.keras") and "\n" not in line and steps(app) == before
        assert not app.file_uploader[0].value and not app.exception
    app = app.file_uploader[0].set_value(("mine.csv", b"", DROPPED_TYPE)).run()
    assert "dropped it" in lines(app.error)[0]
    assert not give(app, ("mine.csv", TABLE)).error

    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("ui.uploads.read_network_guarded", fail)
    (line,) = lines(give(app, ("next.csv", TABLE)).error)
    assert "next.csv" in line and "our side" in line and "secret" not in line


def test_a_profile_of_the_same_step_is_shown_beside(open_app, core, samples, models, catalog):
    sample = samples[FIRST]
    sizes = {"net": f"PROFET {sample.model}", "net_pixels": str(sample.pixels), "net_batch": str(sample.batch_size)}
    app = open_app("estimate", sample=FIRST, preset="all", retired="True", **sizes)
    prediction = core.predict(sample)
    by_profile = {row.instance: row.latency_ms for row in prediction.predictions if row.latency_ms is not None}
    shown = column(app, "From profile")
    assert shown["p3.2xlarge"] == format_ms(by_profile["p3.2xlarge"])
    found = estimate(
        models, catalog, NetworkStep(counts_of(f"PROFET {sample.model}", sample.pixels), sample.batch_size)
    )
    words = disagreement_words(disagreements(found.rows, prediction))
    assert any(words in block for block in lines(app.markdown))
    # Of another step nothing is compared.
    other = type_in(app, "net_batch", sample.batch_size * 2)
    assert "From profile" not in result_rows(other)[0]


def assert_shows(app, answer):
    """The table is both models' answer."""
    assert not app.error and not app.exception, lines(app.error)
    assert [
        {name: row[name] for name in ("Threads", "Counted", "Counted speed-up", "Measured", "Measured speed-up")}
        for row in result_rows(app)
    ] == [
        {
            "Threads": f"{row.threads:,}",
            "Counted": format_time(row.a.total_s),
            "Counted speed-up": format_significant(row.speedup_a),
            "Measured": format_time(row.b.total_s),
            "Measured speed-up": format_significant(row.speedup_b),
        }
        for row in answer.rows
    ]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_network_shows_its_predictions_beside_ours_to_the_digit(open_app, name):
    app = open_app("estimate", hardware="cpus", manycore_network=name)
    assert_shows(app, manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], PUBLISHED_THREADS))
    published = {row["Threads"]: (row["Published"], row["Counted (min)"]) for row in result_rows(app)}
    for threads, minutes in PUBLISHED_PREDICTIONS_MIN[name].items():
        assert published[f"{threads:,}"] == (f"{minutes:.1f} min", f"{minutes:.1f} min")
    assert published["240"][0] == "–"


def test_flops_and_the_link_restore_the_view_and_are_not_in_that_of_an_estimate(open_app):
    app = open_app("estimate", hardware="cpus")
    app.segmented_control(key="manycore_from").set_value("flops").run()
    app = type_in(app, "manycore_flops", 2.5e7)
    app = type_in(app, "manycore_test_images", 0)
    app.segmented_control(key="manycore_shows").set_value("speedup").run()
    answer = manycore(scaled_network("own", 2.5e7), Training(60_000, 0, 15), PUBLISHED_THREADS)
    assert_shows(app, answer)
    assert link(app) == {
        "hardware": "cpus",
        "manycore_from": "flops",
        "manycore_flops": "25000000",
        "manycore_test_images": "0",
        "manycore_shows": "speedup",
    }
    again = open_app("estimate", **link(app))
    assert result_rows(again) == result_rows(app)
    assert_shows(go(go(app, "about"), "estimate"), answer)
    app = open_app("estimate", hardware="cpus", manycore_from="flops", net="VGG16")
    assert link(app) == {"hardware": "cpus", "manycore_from": "flops"}
    app.segmented_control(key="hardware").set_value("gpus").run()
    assert link(app) == {"net": "vgg16"} and not app.exception


def give_one(app, name, content):
    """Give a network's file."""
    return app.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


LAYERS = b"kind,channels,kernel\nconvolution,5,4\nflatten,,\ndense,10,\n"


def test_a_file_s_flops_are_counted_and_go_into_the_link(open_app):
    """Of three channels, twice 26 x 26 x 5 outputs x 48 multiply-adds, and 3380 x 10."""
    app = open_app("estimate", hardware="cpus", manycore_from="flops")
    app = give_one(app, "mine.csv", LAYERS)
    (line,) = lines(app.error)
    assert "the image's size is missing" in line
    app = give_one(type_in(app, "manycore_file_pixels", 29), "mine.csv", LAYERS)
    flops = 2 * (26 * 26 * 5 * 48 + 3_380 * 10)
    assert_shows(app, manycore(scaled_network("own", flops), PUBLISHED_TRAINING["small"], PUBLISHED_THREADS))
    assert [line for line in lines(app.caption) if line.startswith("FLOPs of mine.csv: 392,080.")]
    assert link(app)["manycore_flops"] == "392080"
    app = type_in(app, "manycore_flops", 1e9)
    assert not [line for line in lines(app.caption) if "mine.csv" in line]


def test_what_is_wrong_is_one_line_and_changes_nothing(open_app):
    app = open_app(
        "estimate",
        hardware="cpus",
        manycore_network="<b>",
        manycore_pixels="nan",
        manycore_threads="9" * 5_000,
        manycore_shows="all",
    )
    assert_shows(app, manycore(PUBLISHED["large"], PUBLISHED_TRAINING["large"], PUBLISHED_THREADS))
    assert link(app) == {"hardware": "cpus"}
    assert (
        open_app("estimate", hardware="cpus", manycore_from="flops", manycore_flops="none").session_state[
            "manycore_flops"
        ]
        == 1e9
    )
    app = open_app("estimate", hardware="cpus", manycore_from="named", manycore_name="InceptionV3")
    assert app.selectbox(key="manycore_name").value == "inception_v3" and has_results(app) and not app.error
    app = type_in(open_app("estimate", hardware="cpus", manycore_from="flops"), "manycore_flops", 1.0)
    assert len(app.error) == 1 and not app.exception and not has_results(app)
