"""The app without a proxy: its headers, its endpoint, its files compressed, and nothing for another site's page."""

from __future__ import annotations

import asyncio
import gzip
import json
import re

import pytest
from starlette.responses import PlainTextResponse

from profet_http.app import SameOrigin
from tests.deploy.conftest import ask
from ui.server import STATIC


def test_its_pages_say_what_a_browser_may_do_with_them(address):
    for path in ("/", "/sizes", "/_stcore/health", "/_stcore/host-config", "/favicon.png"):
        status, headers, _ = ask(address, path)
        assert status == 200
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "same-origin"
        assert "frame-ancestors 'self'" in headers["content-security-policy"]


def test_the_recorder_s_wheel_comes_from_it_and_there_is_nothing_else(address, recorder_wheel):
    status, headers, body = ask(address, f"/recorder/{recorder_wheel.name}")
    assert (status, body) == (200, recorder_wheel.read_bytes())
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-cache"
    assert "sandbox" in headers["content-security-policy"]
    for name in ("nothing", "profet_recorder-9.9.9-py3-none-any.whl", "..%2f..%2fpyproject.toml", "%00"):
        status, _, body = ask(address, f"/recorder/{name}")
        assert status in (400, 404) and b"hatchling" not in body


def test_the_endpoint_is_on_its_port_its_documents_left_alone_and_metrics_are_not_for_everybody(address):
    status, _, body = ask(address, "/v1/health")
    assert status == 200 and json.loads(body)["status"] == "ok"
    status, headers, body = ask(address, "/v1/nothing")
    assert status == 404 and list(json.loads(body)) == ["error", "code"]
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    for path in ("/_stcore/metrics", "/_stcore/metrics/", "//_stcore/metrics"):
        status, _, body = ask(address, path)
        assert b"cache_memory_bytes" not in body and b"# TYPE" not in body and status in (400, 404)


def test_another_site_s_page_gets_nothing(address):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for origin in ("https://elsewhere.example", "null", f"http://{address}.elsewhere.example", "http://["):
        assert ask(address, "/_stcore/stream", Origin=origin, **upgrade)[0] == 403
        assert ask(address, "/_stcore/health", Origin=origin)[0] == 403
    assert ask(address, "/_stcore/health", Origin=f"http://{address}")[0] == 200
    # Its name was changed to our address: to a browser it is its own site.
    other = f"elsewhere.example:{address.rpartition(':')[2]}"
    for path, more in (("/_stcore/stream", upgrade), ("/_stcore/health", {}), ("/v1/health", {})):
        assert ask(address, path, Host=other, Origin=f"http://{other}", **more)[0] == 403


@pytest.mark.parametrize(
    ("host", "hosts", "is_served"),
    [
        ("localhost:8501", (), True),
        ("127.0.0.1:8501", (), True),
        ("192.168.1.5", (), True),
        ("[::1]:8501", (), True),
        ("LOCALHOST", (), True),
        ("gpu-box:8501", (), False),
        ("gpu-box:8501", ("GPU-box",), True),
        ("gpu-box.elsewhere.example", ("gpu-box",), False),
        ("localhost.elsewhere.example", (), False),
        ("elsewhere.example", ("*",), True),
        ("[::1", (), False),
        ("", (), False),
        ("1.2.3.4.5", (), False),
    ],
)
def test_a_name_is_served_if_it_is_this_machine_s_or_was_given(host, hosts, is_served):
    async def ask() -> int:
        sent = []

        async def send(message) -> None:
            sent.append(message)

        app = SameOrigin(PlainTextResponse("ok"), hosts=hosts)
        await app({"type": "http", "headers": [(b"host", host.encode())]}, None, send)
        return sent[0]["status"]

    assert asyncio.run(ask()) == (200 if is_served else 403)


#: The largest: the charts' code.
(CHARTS,) = (STATIC / "static" / "js").glob("PlotlyChart.*.js")
KEPT = "public, immutable, max-age=31536000"


def fetched(address: str, path: str, method: str = "GET", encoding: str = "gzip, deflate, br"):
    status, headers, body = ask(address, path, method, Accept_Encoding=encoding)
    assert status == 200
    return headers, body


def test_a_file_is_compressed_for_who_can_read_that_unless_it_is_already(address):
    original = CHARTS.read_bytes()
    path = f"/static/js/{CHARTS.name}"
    headers, body = fetched(address, path)
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(headers["content-length"]) == len(body) < len(original) / 3
    assert gzip.decompress(body) == original
    assert headers["cache-control"] == KEPT and "javascript" in headers["content-type"]
    assert "default-src 'self'" in headers["content-security-policy"]
    head, nothing = fetched(address, path, "HEAD")
    assert nothing == b"" and head["content-length"] == headers["content-length"]
    plain, body = fetched(address, path, encoding="identity")
    assert "content-encoding" not in plain and body == original
    font = next((STATIC / "static" / "media").glob("MaterialSymbols*.woff2"))
    headers, body = fetched(address, f"/static/media/{font.name}")
    assert "content-encoding" not in headers and body == font.read_bytes() and headers["cache-control"] == KEPT


def test_every_page_hints_at_what_it_needs_and_its_script_is_allowed(address):
    # The first page has bars of its own, the others Plotly's.
    for path, hints in (("/", 3), ("/sizes", 1), ("/sizes?epochs=3", 1)):
        headers, page = fetched(address, path, encoding="identity")
        for name in re.findall(r"<\./(\S+)>", headers["link"]):
            assert ask(address, f"/{name}", "HEAD")[0] == 200
        assert headers["link"].count("rel=") == hints
        assert page.count(b"<script>") == headers["content-security-policy"].count("'sha256-")
