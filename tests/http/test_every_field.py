"""Every field of every schema, alone and in pairs: an answer or one line, and never a fault of the server."""

from __future__ import annotations

import http.client
import json
from itertools import combinations

import pytest

from profet_core.answers.fields import FLAG, NUMBERS, OFFER_FIELDS, PROFILE, TEXT, Field
from profet_http.endpoints import CUSTOM_GPUS, QUESTIONS

#: Texts that mean something; other fields have a value by their kind.
MEANT = {
    "anchor": "g3s.xlarge",
    "network": "VGG16",
    "instance": "p3.8xlarge",
    "region": "us-east-1",
    "method": "profet",
    "provider": ["aws"],
    "gpu": ["V100"],
    "targets": ["p3.2xlarge", "H100"],
    "compare": ["g4dn.xlarge", "p3.2xlarge"],
    "certainty": 0.8,
    "spot_discount": 0.5,
    "gpu_count": 1,
    "steps": 1,
    "latency_ms": 323.0,
}


def values(name: str, field: Field, profile: object) -> list[object]:
    """Values of a field that its schema has: an ordinary one first."""
    if field.kind is PROFILE:
        return [profile]
    if field.kind is CUSTOM_GPUS:
        return [[{"gpu": "mine", "like": "L4", "memory_gib": 24}]]
    if field.choices:
        return list(field.choices)
    if name in MEANT:
        return [MEANT[name]]
    if field.kind is FLAG:
        return [True, False]
    if field.kind is NUMBERS:
        return [{"g4dn.xlarge": 40.5}, {}]
    if field.kind is TEXT:
        return ["x"]
    types = field.kind.schema["type"]
    if "array" in types:
        return [[1, 2], []]
    return [64, 0, -1, 10**15] if "integer" in types else [64.5, 0.0, -1.0, 1e15]


@pytest.mark.parametrize("path", QUESTIONS)
def test_every_field_alone_and_in_pairs(path, port, asked):
    fields = QUESTIONS[path].fields
    every = {name: values(name, field, asked["profile"]) for name, field in fields.items()}
    needed = {name: every[name][0] for name, field in fields.items() if field.required}
    # Answers on few offers come sooner.
    needed |= {"gpu": ["T4", "V100"], "provider": ["aws"]}
    alone = [{name: value} for name, several in every.items() for value in several]
    # All questions filter offers by the same code; two filters are a pair of none of them.
    pairs = [
        {one: every[one][0], other: every[other][0]}
        for one, other in combinations(every, 2)
        if not {one, other} <= {*OFFER_FIELDS} or path == "/predict"
    ]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers, statuses = {"Content-Type": "application/json"}, set()
    for given in ({}, *alone, *pairs):
        connection.request("POST", f"/v1{path}", json.dumps({**needed, **given}), headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        assert answer.status in (200, 422), (given, document)
        assert answer.status == 200 or (list(document) == ["error", "code"] and document["error"].isprintable())
        statuses.add(answer.status)
    connection.close()
    assert statuses == {200, 422}
