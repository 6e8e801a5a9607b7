"""A reading process is not believed: anything but an answer is refused."""

from __future__ import annotations

import json

import pytest

from profet_core.profiles.guarded.answers import Answer, read_answer, write_answer
from profet_core.profiles.record import Profile, ProfileMeta

PROFILE = Profile(
    {"Device_Conv2D": 1 / 3, "Host_IDLE": 2.0},
    meta=ProfileMeta(gpu="Tesla T4", compiled=True, batch_size=32, step_latency_ms=0.1),
    source_format="PyTorch trace",
    ignored=("2 events",),
    steps=3,
    warnings=("one", "two"),
    steps_basis="marked",
    refusal="no",
    may_be_cut=False,
)


@pytest.mark.parametrize(
    "answer", [Answer(share=0.25), Answer(error="bad"), Answer(limit="time"), Answer(profile=PROFILE)]
)
def test_an_answer_comes_back_to_the_last_digit(answer):
    again = read_answer(write_answer(answer))
    assert again == answer
    if answer.profile and again.profile:
        assert again.profile.with_steps(1) == answer.profile.with_steps(1)


def test_what_is_no_answer_is_refused():
    record = json.loads(write_answer(Answer(profile=PROFILE)))["profile"]
    changes = (
        {"operations": {"a": -1.0}},
        {"operations": {"a": float("inf")}},
        {"operations": {"a": "1"}},
        {"operations": {f"a{number}": 1.0 for number in range(1_001)}},
        {"operations": {"a\n": 1.0}},
        {"meta": {}},
        {"meta": record["meta"] | {"gpu": ["T4"]}},
        {"meta": record["meta"] | {"gpu": "x" * 2_000}},
        {"steps": 0},
        {"steps": "3"},
        {"steps_basis": "guessed"},
        {"warnings": [1]},
        {"ignored": "text"},
        {"refusal": "two\nlines"},
    )
    lines = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"share": 2.0}',
        b'{"share": "1"}',
        b'{"error": "a\\nb"}',
        b'{"limit": 1}',
    ]
    lines += [json.dumps({"profile": record | change}).encode() for change in changes]
    lines += [
        json.dumps({"profile": {key: record[key] for key in record if key != left_out}}).encode() for left_out in record
    ]
    for line in lines:
        with pytest.raises(ValueError):
            read_answer(line)
