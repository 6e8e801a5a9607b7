"""What the proxy in deploy/ lets through, what it adds, and what it refuses: nginx itself, as it would be deployed."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path
from tests.deploy.conftest import HOST, Proxy

#: The certificate is a test's own.
TRUSTING = ssl._create_unverified_context()
PAGES = ("", "sizes", "compare")


def ask(proxy: Proxy, method: str, path: str, body: bytes | None = None, **headers: str):
    connection = http.client.HTTPSConnection(HOST, proxy.https_port, timeout=60, context=TRUSTING)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def sent(proxy: Proxy, request: str, *headers: str) -> str:
    """First line of the answer to a request without a body."""
    with (
        socket.create_connection((HOST, proxy.https_port), timeout=30) as plain,
        TRUSTING.wrap_socket(plain, server_hostname=HOST) as connection,
    ):
        head = (request, f"Host: {HOST}:{proxy.https_port}", *headers, "", "")
        connection.sendall("\r\n".join(head).encode())
        return connection.recv(2**16).split(b"\r\n")[0].decode()


def test_page_and_endpoint_come_through_it_with_every_header_and_compressed(proxy, samples):
    status, headers, body = ask(proxy, "GET", "/")
    assert status == 200 and b"Streamlit" in body
    assert headers["strict-transport-security"] == "max-age=31536000"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["frame-ancestors"] == "'self'" and policy["object-src"] == "'none'"
    assert "unsafe" not in policy["script-src"] and "*" not in headers["content-security-policy"]
    assert headers.get("server") == "nginx", "no version"
    cookie = headers["set-cookie"]
    assert re.fullmatch(r"profet_replica=[0-9a-f]{32}; Path=/; Secure; HttpOnly; SameSite=Lax", cookie)
    _, headers, _ = ask(proxy, "GET", "/", Cookie=cookie.partition(";")[0])
    assert "set-cookie" not in headers, "who has a replica keeps it"
    _, _, page = ask(proxy, "GET", "/")
    script = re.search(rb'src="\./(static/js/index[^"]+)"', page)[1].decode()
    _, headers, body = ask(proxy, "GET", f"/{script}", Accept_Encoding="gzip")
    assert headers["content-encoding"] == "gzip" and len(gzip.decompress(body)) > 2 * len(body)
    sample = next(iter(samples.values()))
    body = json.dumps({"profile": json.loads(sample.data), "anchor": sample.anchor}).encode()
    status, headers, answer = ask(proxy, "POST", "/v1/predict", body, Content_Type="application/json")
    assert status == 200 and json.loads(answer)["anchor"] == sample.anchor
    assert headers["strict-transport-security"] and headers["x-content-type-options"] == "nosniff"
    assert ask(proxy, "GET", "/v1/health")[0] == 200


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/", "/_stcore/agent/openapi.json"])
def test_what_is_for_the_operator_is_not_public(path, proxy):
    status, headers, body = ask(proxy, "GET", path)
    assert status == 404 and json.loads(body) == {"error": "There is nothing here.", "code": "not_found"}
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "method, path, most", [("POST", "/v1/predict", 31), ("PUT", "/_stcore/upload_file/a/b", 31), ("POST", "/", 1)]
)
def test_a_body_that_is_too_large_is_refused_before_it_is_sent(method, path, most, proxy):
    assert sent(proxy, f"{method} {path} HTTP/1.1", f"Content-Length: {most * 2**20 + 1}").startswith("HTTP/1.1 413")


def test_who_asks_too_often_is_told_to_wait(proxy):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(proxy, "GET", "/v1/openapi.json"), range(120)))
    refused = [answer for answer in answers if answer[0] == 429]
    assert {answer[0] for answer in answers} == {200, 429}
    assert refused[0][1]["retry-after"] == "2" and "Too many requests" in json.loads(refused[0][2])["error"]


def test_other_hosts_get_nothing_and_plain_http_is_sent_to_tls(proxy):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        socket_ = socket.create_connection((HOST, proxy.https_port), timeout=30)
        TRUSTING.wrap_socket(socket_, server_hostname="elsewhere.example")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(proxy, "GET", "/", Host="elsewhere.example")
    plain = http.client.HTTPConnection(HOST, proxy.http_port, timeout=30)
    plain.request("GET", "/sizes?x=1")
    answer = plain.getresponse()
    assert (answer.status, answer.getheader("location")) == (308, f"https://{HOST}/sizes?x=1")
    plain.close()


UPGRADE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")


def websocket_status(proxy: Proxy, origin: str) -> str:
    """How a handshake of a page at some origin is answered."""
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    return sent(proxy, "GET /_stcore/stream HTTP/1.1", f"Origin: {origin}", *UPGRADE, key)


def test_a_visitor_stays_with_one_process_and_visitors_are_shared(proxy):
    def asked() -> list[str]:
        """The process that answered each request for its health, in the test's own column of the log."""
        lines = proxy.log.read_text().splitlines()
        return [line.split()[-1] for line in lines if " /_stcore/health " in line]

    places = []
    for _ in range(12):
        _, headers, _ = ask(proxy, "GET", "/")
        cookie, before = headers["set-cookie"].partition(";")[0], len(asked())
        for _ in range(3):
            assert ask(proxy, "GET", "/_stcore/health", Cookie=cookie)[0] == 200
        while len(asked()) < before + 3:
            time.sleep(0.01)
        places.append(set(asked()[before:]))
    assert all(len(each) == 1 for each in places), "a visitor's page, uploads and websocket meet"
    assert len(set.union(*places)) == 2


def test_another_site_s_page_gets_no_session(proxy):
    assert " 101 " in websocket_status(proxy, proxy.url)
    for origin in ("https://elsewhere.example", "null", f"https://{HOST}.elsewhere.example", "http://[", ""):
        assert " 403 " in websocket_status(proxy, origin), origin
    assert ask(proxy, "GET", "/_stcore/health", Origin="https://elsewhere.example")[0] == 403


def test_every_page_works_under_the_policy_and_loads_nothing_from_elsewhere(proxy):
    path = chromium_path()
    if path is None:
        if os.environ.get("PROFET_REQUIRE_ALL") == "1":
            pytest.fail("no Chromium is installed")
        pytest.skip("no Chromium is installed: sudo apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_context(ignore_https_errors=True).new_page()
        console_lines: list[str] = []
        sockets: list[str] = []
        elsewhere: set[str] = set()
        page.on("console", lambda message: console_lines.append(message.text))
        page.on("websocket", lambda opened: opened.on("close", lambda closed: sockets.append(closed.url)))
        page.on("request", lambda sent: elsewhere.add(urlsplit(sent.url).netloc))
        page.set_default_timeout(60_000)
        page.goto(proxy.url)
        for name in PAGES:
            if name:
                page.get_by_test_id("stTopNavLink").filter(has_text=name.capitalize()).first.click()
            expect(page.get_by_test_id("stHeading").first).to_be_visible(timeout=60_000)
            expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=60_000)
            assert not page.get_by_test_id("stException").count()
        assert sockets == [], "the websocket stayed"
        assert [line for line in console_lines if "Content Security Policy" in line or "violates" in line] == []
        assert elsewhere - {""} == {urlsplit(proxy.url).netloc}
        browser.close()
