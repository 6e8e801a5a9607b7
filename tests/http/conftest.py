"""Serves the endpoint from a process of its own, and asks it as any client would."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest

from benchmarks import REPOSITORY
from benchmarks.served_app import served_endpoint
from profet_core.prediction.models import Sample

JSON, FILE = "application/json", "application/octet-stream"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self):
        assert self.headers["content-type"] == JSON
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The line of an error, which has a code beside it and no more."""
        assert list(self.document) == ["error", "code"] and self.document["code"].replace("_", "").isalpha()
        line = self.document["error"]
        assert line and line.isprintable() and str(REPOSITORY) not in line and sys.prefix not in line
        return line


def send(port: int, method: str, path: str, body=None, content_type: str | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = dict(headers) if content_type is None else {"Content-Type": content_type, **headers}
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    """A healthy endpoint."""
    with served_endpoint() as port:
        yield port


@pytest.fixture
def post(port) -> Callable[..., Answer]:
    """`post("/v1/predict", {...})`: a JSON body."""
    return lambda path, document: send(port, "POST", path, json.dumps(document).encode(), JSON)


@pytest.fixture
def post_file(port) -> Callable[..., Answer]:
    """`post_file("/v1/predict", data, anchor=...)`: a file, its fields in the query."""
    return lambda path, data, **fields: send(port, "POST", f"{path}?{urlencode(fields, doseq=True)}", data, FILE)


@pytest.fixture
def get(port) -> Callable[..., Answer]:
    return lambda path: send(port, "GET", path)


@pytest.fixture
def sample(samples) -> Sample:
    return samples["vgg16-224px-b16-g3s"]


@pytest.fixture
def asked(sample) -> dict:
    """What every question needs: a profile and its anchor."""
    return {"profile": json.loads(sample.data), "anchor": sample.anchor}
