"""What can't be answered: a status and one line, whatever is sent; every field, alone and in pairs."""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import ExitStack
from itertools import combinations

import pytest
from msgspec import inspect

from profet_core.questions import OFFER_FIELDS, QuestionField, fields_of
from profet_http.app import MAX_FILES
from profet_http.bodies import MAX_FILE_BYTES, MAX_JSON_BYTES, PAUSE_LIMIT_S
from profet_http.endpoints import QUESTIONS
from tests.http.conftest import FILE, JSON, send

TRAINING = {"images": 1000}


@pytest.mark.parametrize(
    "path, values, line",
    [
        ("predict", {"anchors": "g3s.xlarge"}, "Unknown field 'anchors'"),
        ("predict", {"a\n\x1b[31m" + "b" * 200: 1}, "Unknown field 'a\\n\\x1b[31mbbb"),
        ("predict", {"anchor": "p9.xlarge"}, "Unknown anchor 'p9.xlarge'"),
        ("predict", {"anchor": "a" * 101}, "at most 100 characters"),
        ("predict", {"latency_ms": 1e300}, "latency_ms must be a number"),
        ("predict", {"latency_ms": True}, "latency_ms must be a number"),
        ("predict", {"latency_ms": 122400}, "trust_latency"),
        ("predict", {"steps": 1.5}, "steps must be a whole number"),
        ("predict", {"steps": 10**17}, "steps must be a whole number"),
        ("predict", {"targets": ["g5.xlarge"] * 101}, "at most 100 names"),
        ("predict", {"custom_gpus": [{"gpu": "mine"}]}, "name a similar GPU"),
        ("predict", {"custom_gpus": [{"gpu": "mine", "like": "L4"}] * 2}, "mine is listed twice"),
        ("predict", {"custom_gpus": [{"name": "mine"}]}, "custom_gpus must be a list of at most 20"),
        ("predict", {"custom_gpus": [{"gpu": "mine", "like": "L4", "times_reference": 1e9}]}, "times_log_sd"),
        ("predict", {"profile": {"Device_Conv2D": -1}}, "profile: 'Device_Conv2D' is negative"),
        ("predict", {"profile": "x"}, "Unknown network"),
        ("cost", {}, "images is missing"),
        ("cost", {**TRAINING, "price": {"g4dn.xlarge": -1}}, "price must be"),
        ("advise", {**TRAINING, "market": "black"}, "Unknown market 'black'"),
        ("advise", {**TRAINING, "compare": ["g4dn.xlarge"]}, "compare takes two of"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_by_name(path, values, line, post, asked):
    answer = post(f"/v1/{path}", {**asked, **values})
    assert answer.status == 422 and line in answer.error, answer


def test_each_kind_of_error_has_a_code(post, get, asked):
    for values, code in (
        ({"anchor": "p9.xlarge"}, "input"),
        ({"latency_ms": 122400}, "latency_doubt"),
        ({"region": "Mars"}, "no_offers"),
        ({"profile": {"Host_Conv2D": 5}}, "no_prediction"),
        ({"profile": {"Device_Conv2D": -1}}, "profile"),
    ):
        assert post("/v1/predict", {**asked, **values}).document["code"] == code
    assert get("/v1/nothing").document["code"] == "not_found"


@pytest.mark.parametrize(
    "body, line",
    [
        (b"", "truncated"),
        (b'{"latency_ms": -Infinity}', "invalid character"),
        (b'{"steps": ' + b"9" * 5000 + b"}", "out of range"),
        (b'{"targets": ' + b"[" * 100_000, "recursion"),
        (b'{"anchor": "\xff"}', "utf-8"),
        (b'{"profile": "\xff"}', "utf-8"),
        (b'{"anchor": "\\ud800"}', "truncated"),
    ],
)
def test_a_body_that_is_no_json_is_malformed(body, line, port):
    answer = send(port, "POST", "/v1/predict", body, JSON)
    assert answer.status == 400 and line in answer.error and "can't be read" in answer.error, answer
    answer = send(port, "POST", "/v1/predict", b"[1]", JSON)
    assert answer.status == 422 and "must be a JSON object" in answer.error


def test_numbers_of_a_query_that_make_no_sense_are_refused_as_on_the_command_line(post_file, sample):
    answer = post_file("/v1/predict", sample.data, anchor=sample.anchor, latency_ms="nan")
    assert answer.status == 422 and answer.error.startswith("latency_ms must be")
    wrong = {"steps": "9" * 5000, "latency_ms": "x", "price": "g4dn.xlarge", "trust_latency": "perhaps"}
    for name, value in wrong.items():
        path = "/v1/cost" if name == "price" else "/v1/predict"
        answer = post_file(path, sample.data, anchor=sample.anchor, **{name: value})
        assert answer.status == 422 and answer.error.startswith(f"{name} must be")
    answer = post_file("/v1/predict", sample.data, anchor=[sample.anchor, "p2.xlarge"])
    assert answer.status == 422 and answer.error.startswith("anchor must be")


def test_types_paths_and_methods_that_are_not_taken_and_what_comes_back_runs_nowhere(port, get, sample, post):
    for content_type in (None, "text/plain", "application/x-www-form-urlencoded", "text/html; charset=x"):
        answer = send(port, "POST", "/v1/predict", b"{}", content_type)
        assert answer.status == 415 and answer.error.startswith("Send application/json")
    answer = send(port, "POST", "/v1/predict", b"{}", JSON, **{"Content-Encoding": "gzip"})
    assert answer.status == 415 and "Content-Encoding" in answer.error
    answer = send(port, "POST", "/v1/predict", b"x", "multipart/form-data")
    assert answer.status == 400 and "boundary" in answer.error
    for path in ("/v1/nothing", "/v1/predict/", "/v1/../etc/passwd", "/v1/predict/x", "/elsewhere"):
        assert get(path).status == 404 and get(path).error.startswith("Not found: ")
    answer = get("/v1/predict")
    assert (answer.status, answer.headers["allow"], answer.error) == (405, "POST", "Use POST here.")
    assert send(port, "DELETE", "/v1/instances").status == 405
    assert get("/v1/instances?regions=x").status == 422
    answer = send(port, "OPTIONS", "/v1/predict", None, None, Origin="https://elsewhere.example")
    assert answer.status == 405 and "access-control-allow-origin" not in answer.headers
    assert get("/v1").status == 404
    assert send(port, "POST", "/v1", b"{}", JSON, Host="elsewhere.example").status == 404
    for answer in (get("/v1/instances"), post("/v1/predict", {"<script>alert(1)</script>": 1})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cache-control"] == "no-store"
        assert json.loads(answer.body) is not None and "server" not in answer.headers


def test_a_form_takes_files_for_profiles_and_nothing_else(port, sample):
    def part(disposition: str, text: bytes) -> bytes:
        return b"--X\r\nContent-Disposition: form-data; " + disposition.encode() + b"\r\n\r\n" + text + b"\r\n"

    anchor = part('name="anchor"', b"g3s.xlarge")
    for body, line in {
        anchor + part('name="profile"', b"{}"): "profile must be sent as a file",
        anchor + part('name="anchor"; filename="a"', b"x"): "Send one file in each of",
        anchor + part('name="profile"; filename="a"', b"x") * 2: "Send one file in each of",
        anchor + part('name="elsewhere"', b"x"): "Unknown field 'elsewhere'",
        anchor: "profile is missing",
        anchor + part('name="profile"; filename="../../etc/passwd"', b"\x7fELF"): "passwd: this is",
    }.items():
        answer = send(port, "POST", "/v1/predict", body + b"--X--\r\n", "multipart/form-data; boundary=X")
        assert answer.status == 422 and line in answer.error, (line, answer)
    many = part('name="anchor"', b"x") * 1000
    assert send(port, "POST", "/v1/predict", many + b"--X--\r\n", "multipart/form-data; boundary=X").status == 400


def begun(port: int, content_type: str, length: int, query: str = "") -> socket.socket:
    """A request whose head is sent, and nothing of its body."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    head = f"POST /v1/predict{query} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {length}"
    connection.sendall(head.encode() + b"\r\n\r\n")
    return connection


@pytest.mark.parametrize("content_type, most", [(JSON, MAX_JSON_BYTES), (FILE, MAX_FILE_BYTES)])
def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(content_type, most, port):
    with begun(port, content_type, most + 1) as connection:
        answer = b""
        # The server waits some seconds for a body that nobody sends before it hangs up.
        while b"can have" not in answer and (more := connection.recv(2**16)):
            answer += more
    assert answer.startswith(b"HTTP/1.1 413") and b"can have" in answer


def test_a_body_that_does_not_say_how_large_it_is_ends_at_the_limit(port):
    sent = 0

    def endless():
        nonlocal sent
        while sent < 8 * MAX_JSON_BYTES:
            sent += 2**16
            yield b" " * 2**16

    try:
        answer = send(port, "POST", "/v1/predict", endless(), JSON)
        assert answer.status == 413 and "A JSON body can have at most 1 MB" in answer.error
    except (BrokenPipeError, ConnectionResetError):
        pass  # The server closed before all was sent.
    assert send(port, "GET", "/v1/health").status == 200


def test_bodies_that_nobody_finishes_keep_nobody_from_an_answer(port, post, post_file, asked, sample):
    names = {f"Device_{'x' * 90}{number}": 1000.0 for number in range(900)}
    large = {**asked, "profile": {**asked["profile"]["operations"], **names}}
    with ExitStack() as stack:
        for _ in range(2 * MAX_FILES):
            stack.enter_context(begun(port, FILE, 1000, "?anchor=g3s.xlarge"))
        for _ in range(128):
            stack.enter_context(begun(port, JSON, 1000))
        assert post_file("/v1/predict", sample.data, anchor=sample.anchor).status == 200
        assert post("/v1/predict", asked).status == 200
        assert post("/v1/predict", large).status in (200, 422)


def test_a_body_that_stops_coming_is_refused_soon(port):
    """Each says that more follows, and sends no more."""
    head = b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for rest, status in {
        b"Content-Length: 50\r\n\r\n{}": b"408",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n": b"408",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}": b"400",
    }.items():
        started = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=3 * PAUSE_LIMIT_S) as connection:
            connection.sendall(head + rest)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 " + status)
        assert time.monotonic() - started < 2 * PAUSE_LIMIT_S


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


def values(name: str, field: QuestionField, profile: object) -> list[object]:
    """Values of a field that its schema has: an ordinary one first."""
    if field.is_file:
        return [profile]
    if name == "custom_gpus":
        return [[{"gpu": "mine", "like": "L4", "memory_gib": 24}]]
    if field.choices:
        return list(field.choices)
    if name in MEANT:
        return [MEANT[name]]
    match field.kinds:
        case [inspect.BoolType()]:
            return [True, False]
        case [inspect.DictType()]:
            return [{"g4dn.xlarge": 40.5}, {}]
        case [inspect.StrType()]:
            return ["x"]
        case [inspect.CollectionType(), *_]:
            return [[1, 2], []]
        case [inspect.IntType()]:
            return [64, 0, -1, 10**15]
    return [64.5, 0.0, -1.0, 1e15]


@pytest.mark.parametrize("path", QUESTIONS)
def test_every_field_alone_and_in_pairs(path, port, asked):
    fields = fields_of(QUESTIONS[path].question)
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
