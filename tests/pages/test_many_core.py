"""Many-core CPUs: both published models' times, by network, file and link."""

from __future__ import annotations

import pytest

from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_THREADS,
    PUBLISHED_TRAINING,
    Training,
    manycore,
    scaled_network,
)
from profet_profiles.units import format_significant, format_time
from tests.pages.conftest import go, has_results, lines, link, result_rows, type_in


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
    app = open_app("many_core", manycore_network=name)
    assert_shows(app, manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], PUBLISHED_THREADS))
    published = {row["Threads"]: (row["Published"], row["Counted (min)"]) for row in result_rows(app)}
    for threads, minutes in PUBLISHED_PREDICTIONS_MIN[name].items():
        assert published[f"{threads:,}"] == (f"{minutes:.1f} min", f"{minutes:.1f} min")
    assert published["240"][0] == "–"


def test_flops_and_the_link_restore_the_view(open_app):
    app = open_app("many_core")
    app.segmented_control(key="manycore_from").set_value("flops").run()
    app = type_in(app, "manycore_flops", 2.5e7)
    app = type_in(app, "manycore_test_images", 0)
    app.segmented_control(key="manycore_shows").set_value("speedup").run()
    answer = manycore(scaled_network("own", 2.5e7), Training(60_000, 0, 15), PUBLISHED_THREADS)
    assert_shows(app, answer)
    assert link(app) == {
        "manycore_from": "flops",
        "manycore_flops": "25000000",
        "manycore_test_images": "0",
        "manycore_shows": "speedup",
    }
    again = open_app("many_core", **link(app))
    assert result_rows(again) == result_rows(app)
    assert_shows(go(go(app, "about"), "many_core"), answer)
    # A link of before.
    old = open_app("estimate", hardware="cpus", manycore_from="flops", net="VGG16")
    assert link(old)["manycore_from"] == "flops" and has_results(old) and not old.exception


def give_one(app, name, content):
    """Give a network's file."""
    return app.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


LAYERS = b"kind,channels,kernel\nconvolution,5,4\nflatten,,\ndense,10,\n"


def test_a_file_s_flops_are_counted_and_go_into_the_link(open_app):
    """Of three channels, twice 26 x 26 x 5 outputs x 48 multiply-adds, and 3380 x 10."""
    app = open_app("many_core", manycore_from="flops")
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
        "many_core",
        manycore_network="<b>",
        manycore_pixels="nan",
        manycore_threads="9" * 5_000,
        manycore_shows="all",
    )
    assert_shows(app, manycore(PUBLISHED["large"], PUBLISHED_TRAINING["large"], PUBLISHED_THREADS))
    assert link(app) == {}
    assert open_app("many_core", manycore_from="flops", manycore_flops="none").session_state["manycore_flops"] == 1e9
    app = open_app("many_core", manycore_from="named", manycore_name="InceptionV3")
    assert app.selectbox(key="manycore_name").value == "inception_v3" and has_results(app) and not app.error
    app = type_in(open_app("many_core", manycore_from="flops"), "manycore_flops", 1.0)
    assert len(app.error) == 1 and not app.exception and not has_results(app)
