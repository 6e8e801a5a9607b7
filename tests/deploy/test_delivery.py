"""The page and Streamlit's files arrive compressed, as they are, and to be kept where they never change."""

from __future__ import annotations

import gzip

import pytest

from tests.deploy.conftest import ask
from ui.server import STATIC

#: The largest: the charts' code.
(CHARTS,) = (STATIC / "static" / "js").glob("PlotlyChart.*.js")
KEPT = "public, immutable, max-age=31536000"


def found(address: str, path: str, method: str = "GET", encoding: str = "gzip, deflate, br"):
    status, headers, body = ask(address, path, method, Accept_Encoding=encoding)
    assert status == 200
    return headers, body


def test_a_file_is_compressed_for_who_can_read_that(address):
    original = CHARTS.read_bytes()
    path = f"/static/js/{CHARTS.name}"
    headers, body = found(address, path)
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(headers["content-length"]) == len(body) < len(original) / 3
    assert gzip.decompress(body) == original
    assert headers["cache-control"] == KEPT and "javascript" in headers["content-type"]
    assert "default-src 'self'" in headers["content-security-policy"]
    head, nothing = found(address, path, "HEAD")
    assert nothing == b"" and head["content-length"] == headers["content-length"]
    plain, body = found(address, path, encoding="identity")
    assert "content-encoding" not in plain and body == original


def test_what_is_compressed_already_is_sent_as_it_is(address):
    font = next((STATIC / "static" / "media").glob("MaterialSymbols*.woff2"))
    headers, body = found(address, f"/static/media/{font.name}")
    assert "content-encoding" not in headers and body == font.read_bytes() and headers["cache-control"] == KEPT


@pytest.mark.parametrize("path", ["/", "/sizes", "/sizes?epochs=3"])
def test_every_page_has_our_script_before_streamlit_s(address, path):
    headers, packed = found(address, path)
    assert (headers["content-encoding"], headers["cache-control"]) == ("gzip", "no-cache")
    assert "etag" not in headers and "last-modified" not in headers
    page = gzip.decompress(packed)
    plain, body = found(address, path, encoding="identity")
    assert body == page and int(plain["content-length"]) == len(page)
    head, nothing = found(address, path, "HEAD", "identity")
    assert nothing == b"" and head["content-length"] == plain["content-length"]
    assert b"history.replaceState" in page.partition(b"</head>")[0]
    assert page.count(b"<script>") == headers["content-security-policy"].count("'sha256-") == 2


def test_other_documents_are_left_alone(address):
    _, body = found(address, "/v1/docs", encoding="identity")
    assert b"history.replaceState" not in body
