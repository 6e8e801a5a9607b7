"""A network's file, which two pages take by one uploader: the same errors, and the field is empty after each file."""

from __future__ import annotations

import pytest

from tests.pages.conftest import go, lines
from ui.state.uploads_held import DROPPED_TYPE

pytestmark = pytest.mark.parametrize(
    ("page", "query"),
    [
        ("many_core", {"manycore_from": "flops", "manycore_file_pixels": "32"}),
        ("estimate", {"net_from": "file", "net_pixels": "32"}),
    ],
)
GOOD = b"kind,channels,kernel\nconvolution,5,4\nflatten,,\ndense,10,\n"


def give(app, name, content, kind="text/csv"):
    return app.file_uploader[0].set_value((name, content, kind)).run()


def read_lines(app) -> list[str]:
    """What says that a file was read."""
    return [line for line in lines(app.caption) if line.startswith(("Counted in", "Read:"))]


def test_a_file_is_read_once_and_what_was_read_stays(open_app, page, query):
    app = give(open_app(page, **query), "mine.csv", GOOD)
    assert not app.error and not app.file_uploader[0].value
    (said,) = read_lines(app)
    assert "mine.csv" in said
    assert read_lines(go(go(app, "about"), page)) == [said]


def test_a_bad_file_after_a_good_one_is_one_line_and_the_field_is_empty(open_app, page, query):
    app = give(give(open_app(page, **query), "mine.csv", GOOD), "other.csv", b"\x00" * 100)
    (line,) = lines(app.error)
    assert line.startswith("other.csv: ") and "\n" not in line
    assert not app.file_uploader[0].value
    assert not give(app, "mine.csv", GOOD).error


def test_what_goes_wrong_on_our_side_names_the_file_and_the_page_goes_on(open_app, monkeypatch, page, query):
    def fail(*_):
        raise RuntimeError("secret")

    app = give(open_app(page, **query), "mine.csv", GOOD)
    monkeypatch.setattr("ui.inputs.network_file.read_network_guarded", fail)
    app = give(app, "next.csv", GOOD)
    assert lines(app.error) == ["next.csv: something went wrong on our side while reading it."]
    assert not app.file_uploader[0].value and not app.exception


def test_a_file_that_the_server_let_go_of_is_told(open_app, page, query):
    app = give(open_app(page, **query), "mine.csv", b"", DROPPED_TYPE)
    assert lines(app.error) == ["mine.csv: the server let go of it before it was read: give it again."]
