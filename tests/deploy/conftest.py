"""The app, the endpoint and deploy/'s proxy for real; without nginx these tests skip, by name."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.served_app import START_TIMEOUT_S, free_port, served, served_endpoint

ROOT = Path(__file__).resolve().parents[2]
HOST = "localhost"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@dataclass(frozen=True)
class Proxy:
    """Where it listens, and its log, in which a test also finds who answered."""

    http_port: int
    https_port: int
    log: Path

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.https_port}"


@contextmanager
def proxied(folder: Path, apps: Sequence[str] = ("127.0.0.1:1",), endpoint: str = "127.0.0.1:1") -> Iterator[Proxy]:
    """The proxy before processes of the app and the endpoint; `folder` takes what the container's /tmp takes."""
    proxy = Proxy(free_port(), free_port(), folder / "access.log")
    values = {
        "PROFET_HOST": HOST,
        # A name of several addresses is as many servers.
        "PROFET_APP": "; server ".join(apps),
        "PROFET_ENDPOINT": endpoint,
        "PROFET_TLS": str(folder),
        "PROFET_HTTP_PORT": f"127.0.0.1:{proxy.http_port}",
        "PROFET_HTTPS_PORT": f"127.0.0.1:{proxy.https_port}",
    }
    make_certificate(folder)
    template = (ROOT / "deploy" / "profet.conf.template").read_text(encoding="utf-8")
    site = re.sub(r"\$\{(PROFET_\w+)\}", lambda match: values[match[1]], template)
    main = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8").replace("/tmp/", f"{folder}/")
    site = site.replace("$request_time';", "$request_time $upstream_addr';")
    (folder / "profet.conf").write_text(site.replace("/dev/stdout", str(proxy.log)))
    (folder / "nginx.conf").write_text(main.replace("/dev/stderr", str(folder / "error.log")))
    assert NGINX is not None
    command = [NGINX, "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with (folder / "start.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(proxy.https_port, server, folder / "start.log")
        yield proxy
    finally:
        server.terminate()
        server.wait(timeout=20)


@contextmanager
def deployed(folder: Path) -> Iterator[Proxy]:
    """The whole: two processes of the app, the endpoint, and the proxy before them."""
    with (
        served() as url,
        served() as other,
        served_endpoint() as port,
        proxied(folder, [urlsplit(one).netloc for one in (url, other)], f"127.0.0.1:{port}") as proxy,
    ):
        yield proxy


def make_certificate(folder: Path) -> None:
    subject = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    key = ["-newkey", "rsa:2048", "-nodes", *files]
    subprocess.run(["openssl", "req", "-x509", *key, "-days", "1", *subject], check=True, capture_output=True)


def wait_for(port: int, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the proxy did not start")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the app is served without a proxy."""
    with served() as url:
        yield urlsplit(url).netloc


@pytest.fixture(scope="session")
def proxy(tmp_path_factory) -> Iterator[Proxy]:
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("needs nginx and openssl: sudo apt-get install nginx-light openssl")
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    for parent in folder.parents:
        # nginx's workers are another user where root starts it.
        if parent.is_relative_to(tmp_path_factory.getbasetemp().parent):
            parent.chmod(0o755)
    with deployed(folder) as proxy:
        yield proxy


def ask(address: str, path: str, method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request(method, path, None, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()
