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
    rows_of,
    scaled_network,
    training_of,
)
from tests.pages.conftest import go, lines, link, rows, type_in


def assert_shows(app, network: ManyCoreNetwork, training: ManyCoreTraining):
    """The table is both models' answer."""
    assert not app.error and not app.exception, lines(app.error)
    shown = [tuple(row.values())[:-1] for row in rows(app, 0)]
    assert shown == rows_of(manycore(network, training, PUBLISHED_THREADS))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_network_shows_its_predictions_beside_ours_to_the_digit(open_app, name):
    app = open_app("many_core", manycore_network=name)
    assert_shows(app, PUBLISHED[name], training_of(PUBLISHED[name]))
    for row in rows(app, 0)[-4:]:
        minutes = PUBLISHED_PREDICTIONS_MIN[name][int(row["Threads"].replace(",", ""))]
        assert row["Published (min)"] == row["From operation counts (min)"] == f"{minutes:.1f}"
    assert rows(app, 0)[0]["Published (min)"] == "–"


def test_flops_and_the_link_restore_the_view(open_app):
    app = open_app("many_core")
    app.segmented_control(key="manycore_from").set_value("flops").run()
    app = type_in(app, "manycore_flops", 2.5e7)
    app = type_in(app, "manycore_test_images", 0)
    asked = scaled_network("own", 2.5e7), ManyCoreTraining(60_000, 0, 15)
    assert_shows(app, *asked)
    assert link(app) == {"manycore_from": "flops", "manycore_flops": "25000000", "manycore_test_images": "0"}
    assert_shows(open_app("many_core", **link(app)), *asked)
    assert_shows(go(go(app, "about"), "many_core"), *asked)
    # A link of before.
    old = open_app("estimate", hardware="cpus", manycore_from="flops", net="VGG16")
    assert link(old)["manycore_from"] == "flops" and old.table and not old.exception


def test_what_is_wrong_is_one_line_and_changes_nothing(open_app):
    app = open_app("many_core", manycore_from="named", manycore_network="<b>")
    assert_shows(app, PUBLISHED["large"], training_of(PUBLISHED["large"]))
    assert link(app) == {}
    assert open_app("many_core", manycore_from="flops", manycore_flops="none").session_state["manycore_flops"] == 1e9
    app = type_in(open_app("many_core", manycore_from="flops"), "manycore_flops", 1.0)
    assert len(app.error) == 1 and not app.exception and not app.table
