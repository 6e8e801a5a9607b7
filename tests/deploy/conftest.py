"""The proxy in front of the served app and endpoint; without nginx these tests skip, by name."""

from __future__ import annotations

import http.client
import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from benchmarks.served_app import served
from tests.deploy.proxy import NGINX, Proxy, deployed


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
