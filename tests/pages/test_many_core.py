"""Many-core CPUs: both published models' times, by network and link."""

from __future__ import annotations

import pytest

from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_THREADS,
    ManyCoreNetwork,
    ManyCoreTraining,
    manycore,
    scaled_network,
    training_of,
)
from tests.pages.conftest import go, lines, link, type_in


def assert_shows(app, network: ManyCoreNetwork, training: ManyCoreTraining, threads=PUBLISHED_THREADS):
    """The table is both models' answer."""
    assert not app.error and not app.exception, lines(app.error)
    shown, columns = app.dataframe[0].value, manycore(network, training, threads)
    assert shown["Threads"].tolist() == columns["threads"].tolist()
    for name, key, unit in (
        ("Counted (min)", "a_total_s", 60),
        ("Counted speed-up", "a_speedup", 1),
        ("Measured (min)", "b_total_s", 60),
        ("Measured speed-up", "b_speedup", 1),
    ):
        assert shown[name].tolist() == pytest.approx(columns[key] / unit, abs=0.051)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_network_shows_its_predictions_beside_ours_to_the_digit(open_app, name):
    app = open_app("many_core", manycore_network=name, manycore_threads="100")
    assert_shows(app, PUBLISHED[name], training_of(PUBLISHED[name]), {*PUBLISHED_THREADS, 100})
    shown = app.dataframe[0].value.set_index("Threads")
    known = shown["Published (min)"].dropna().to_dict()
    assert known == PUBLISHED_PREDICTIONS_MIN[name] == shown["Counted (min)"][[*known]].to_dict()


def test_flops_and_the_link_restore_the_view(open_app):
    app = open_app("many_core")
    app.segmented_control(key="manycore_from").set_value("flops").run()
    app = type_in(app, "manycore_flops", 2.5e7)
    app = type_in(app, "manycore_test_images", 0)
    app.segmented_control(key="manycore_shows").set_value("speedup").run()
    asked = scaled_network("own", 2.5e7), ManyCoreTraining(60_000, 0, 15)
    assert_shows(app, *asked)
    assert link(app) == {
        "manycore_from": "flops",
        "manycore_flops": "25000000",
        "manycore_test_images": "0",
        "manycore_shows": "speedup",
    }
    assert_shows(open_app("many_core", **link(app)), *asked)
    assert_shows(go(go(app, "about"), "many_core"), *asked)
    # A link of before.
    old = open_app("estimate", hardware="cpus", manycore_from="flops", net="VGG16")
    assert link(old)["manycore_from"] == "flops" and old.dataframe and not old.exception


def test_what_is_wrong_is_one_line_and_changes_nothing(open_app):
    wrong = {"manycore_network": "<b>", "manycore_threads": "9" * 5_000, "manycore_shows": "all"}
    app = open_app("many_core", manycore_from="named", **wrong)
    assert_shows(app, PUBLISHED["large"], training_of(PUBLISHED["large"]))
    assert link(app) == {}
    assert open_app("many_core", manycore_from="flops", manycore_flops="none").session_state["manycore_flops"] == 1e9
    app = type_in(open_app("many_core", manycore_from="flops"), "manycore_flops", 1.0)
    assert len(app.error) == 1 and not app.exception and not app.dataframe
