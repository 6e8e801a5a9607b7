"""The answer's table on its page: the link's order, columns and open row, and the report of what is shown."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import column, has_results, lines


def drawn(app: AppTest) -> dict[str, Any]:
    """What the result table is made of."""
    tables = [one for one in app.get("bidi_component") if "result_table" in one.proto.component_name]
    return json.loads(tables[0].proto.json)


def test_a_link_opens_the_table_as_it_was(open_app):
    app = open_app(answer_sort="-usd_per_hour", answer_columns="cost,energy_kwh", answer_open="g5.xlarge", rows="gpus")
    assert not app.exception and not app.error
    table = drawn(app)
    assert [column["title"] for column in table["columns"]] == ["Instance", "Cost", "Energy"]
    names = [row["key"] for row in table["rows"]]
    assert names[0] == "verda/1B200.30V" and names[-1] == "verda/1V100.6V"
    assert [row["key"] for row in table["rows"] if row["open"]] == ["g5.xlarge"]


def test_a_damaged_link_opens_the_table_as_it_comes(open_app):
    app = open_app(answer_sort="<b>", answer_columns="no_such_column", answer_open="no such plan")
    assert not app.exception and not app.error
    table = drawn(app)
    assert [column["title"] for column in table["columns"]][:4] == ["Instance", "Time", "Range", "Cost"]
    assert {column["sorted"] for column in table["columns"]} == {"none"}
    assert not any(row["open"] for row in table["rows"])


def test_the_page_offers_exports_and_the_report(open_app):
    labels = [button.proto.label for button in open_app().get("download_button")]
    assert {"CSV", "JSON", "Report"} <= set(labels)


def test_where_nothing_is_left_to_choose_from_the_choices_stay(open_app):
    app = open_app(method="profet", latency="none")
    (line,) = lines(app.error)
    assert line.startswith("There is nothing to choose from (") and not has_results(app)
    app.toggle(key="retired").set_value(True).run()
    assert not app.error and set(column(app, "Instance")) == {"g3s.xlarge", "p2.xlarge", "p3.2xlarge"}
