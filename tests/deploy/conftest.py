"""The proxy in front of the served app and endpoint; without nginx these tests skip, by name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.deploy.proxy import NGINX, Proxy, deployed


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
