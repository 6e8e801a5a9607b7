"""The app without a proxy: its own headers, its own endpoint, and no session for another site's page."""

from __future__ import annotations

import json

from tests.deploy.conftest import ask
from ui.recorder import recorder_wheel


def test_its_pages_say_what_a_browser_may_do_with_them(address):
    for path in ("/", "/sizes", "/_stcore/health", "/_stcore/host-config", "/favicon.png"):
        status, headers, _ = ask(address, path)
        assert status == 200
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "same-origin"
        assert "frame-ancestors 'self'" in headers["content-security-policy"]


def test_the_recorder_s_wheel_comes_from_it(address):
    path = f"/recorder/{recorder_wheel().name}"
    status, headers, body = ask(address, path)
    assert (status, body) == (200, recorder_wheel().data)
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-cache"
    assert "sandbox" in headers["content-security-policy"]


def test_there_is_nothing_else_where_the_recorder_is(address):
    for name in ("nothing", "profet_recorder-9.9.9-py3-none-any.whl", "..%2f..%2fpyproject.toml", "%00"):
        status, _, body = ask(address, f"/recorder/{name}")
        assert status in (400, 404) and b"hatchling" not in body


def test_the_endpoint_is_on_its_port_and_its_health_means_something(address):
    status, _, body = ask(address, "/v1/health")
    assert status == 200 and json.loads(body)["status"] == "ok"
    status, headers, body = ask(address, "/v1/nothing")
    assert status == 404 and list(json.loads(body)) == ["error", "code"]
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_metrics_are_not_for_everybody(address):
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
