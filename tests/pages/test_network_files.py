"""A network's file, which two pages take by one uploader: the same errors, and the field is empty after each file."""

from __future__ import annotations

import pytest

from tests.pages.conftest import go, lines
from ui.server import DROPPED_TYPE

GOOD = b"kind,channels,kernel\nconvolution,5,4\nflatten,,\ndense,10,\n"


def give(app, name, content, kind="text/csv"):
    return app.file_uploader[0].set_value((name, content, kind)).run()


def read_lines(app) -> list[str]:
    """What says that a file was read."""
    return [line for line in lines(app.caption) if "mine.csv" in line]


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("many_core", {"manycore_from": "flops", "manycore_file_pixels": "32"}),
        ("estimate", {"net_from": "file", "net_pixels": "32"}),
    ],
)
def test_a_file_is_read_once_and_what_goes_wrong_is_one_line(open_app, monkeypatch, page, query):
    app = give(open_app(page, **query), "mine.csv", GOOD)
    assert not app.error and not app.file_uploader[0].value
    (said,) = read_lines(app)
    assert "mine.csv" in said and read_lines(go(go(app, "about"), page)) == [said]
    for content in (b"", b"\x00" * 100, b"PK\x03\x04", b"{" * 10_000):
        app = give(app, "<b>x</b>.keras", content)
        (line,) = lines(app.error)
        assert line.startswith("<b>x</b>.keras") and "\n" not in line
        assert not app.file_uploader[0].value and not app.exception
    app = give(app, "mine.csv", b"", DROPPED_TYPE)
    assert "let go of it" in lines(app.error)[0]
    assert not give(app, "mine.csv", GOOD).error

    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("ui.inputs.uploads.read_network_guarded", fail)
    app = give(app, "next.csv", GOOD)
    (line,) = lines(app.error)
    assert "next.csv" in line and "our side" in line and "secret" not in line
    assert not app.file_uploader[0].value and not app.exception
