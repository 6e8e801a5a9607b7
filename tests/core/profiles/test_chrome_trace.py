"""Streaming events: whatever the window cuts in two, the same events come out."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import ProfileError
from profet_core.profiles import chrome_trace
from profet_core.profiles.chrome_trace import ChromeTrace, Event
from profet_core.profiles.unpacking import Content


def events_of(data: bytes, keep: tuple[str, ...] = ()) -> tuple[list[Event], dict]:
    trace = ChromeTrace(Content(data), dict, keep)
    found = [event for some in trace.events() for event in some]
    return [Event(*(getattr(event, each.name) for each in fields(Event))) for event in found], trace.entries


def event_of(record: dict) -> Event:
    """What of a record is kept, by the rules and not by a parser."""
    texts = {key: record.get(key) if isinstance(record.get(key), str) else None for key in ("ph", "cat", "name")}
    threads = {key: record.get(key) if type(record.get(key)) in (int, str) else None for key in ("pid", "tid")}
    times = {
        key: float(record[key]) if type(record[key]) in (int, float) else math.nan
        for key in {"ts", "dur"} & set(record)
    }
    return Event(**texts, **threads, **times, args=record.get("args") if isinstance(record.get("args"), dict) else None)


texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers(-(10**17), 10**17) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
made_events = st.lists(
    st.dictionaries(texts, values, max_size=4)
    | st.fixed_dictionaries(
        {"ph": st.just("X")},
        optional={
            "name": texts | values,
            "cat": texts,
            "pid": texts | st.integers(-5, 5) | values,
            "ts": st.integers(0, 10**9) | st.floats(0, 1e9) | values,
            "dur": st.integers(0, 10**9) | values,
            "args": st.dictionaries(texts, values, max_size=2) | values,
            "other": values,
        },
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(
    window=st.sampled_from([1, 7, 1000]),
    events=made_events,
    installed=st.booleans(),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 2]),
    entry=values,
)
def test_windows_of_any_size_give_the_same_events(window, events, installed, ascii_only, indent, entry):
    document = {"before": entry, "traceEvents": events, "after": entry}
    data = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chrome_trace, "_WINDOW_BYTES", window)
        if not installed:
            patch.setitem(sys.modules, "msgspec.json", None)
        found, entries = events_of(data, keep=("before", "after"))
    assert repr(found) == repr([event_of(event) for event in events]), "NaN is not equal to itself"
    assert entries == {"before": entry, "after": entry}


@settings(max_examples=40)
@given(events=made_events.filter(bool), data=st.data())
def test_every_cut_of_a_trace_is_noticed(events, data):
    whole = json.dumps({"displayTimeUnit": "ms", "traceEvents": events}).encode()
    cut = data.draw(st.integers(whole.index(b"["), len(whole) - 1))
    with pytest.raises(ProfileError, match="truncated"):
        events_of(whole[:cut])


@pytest.mark.parametrize("number", [-5.0771532157509976e16, 12345678])
def test_a_number_that_a_window_cuts_is_read_whole(number, monkeypatch):
    for window in range(1, 30):
        monkeypatch.setattr(chrome_trace, "_WINDOW_BYTES", window)
        assert events_of(b'{"a": %s, "traceEvents": []}' % repr(number).encode(), keep=("a",)) == ([], {"a": number})


def test_what_pytorch_and_others_write_beside_the_standard_is_read():
    data = b'{"a": 1, "b": 2, "traceEvents": [{"x": NaN, "y": -Infinity,\n "name": "a\nb\t"},, {"ph": "i"}, 5,]}'
    (first, second), entries = events_of(b"\xef\xbb\xbf" + data, ("b", "c"))
    assert (first.name, second.ph, entries) == ("a\nb\t", "i", {"b": 2})


@pytest.mark.parametrize(
    "data",
    [
        b'{"traceEvents": [{"a": tru }]}' + b" " * 100,
        b'{"traceEvents": [{"a": "\\x"}]}' + b" " * 100,
        b'{5: 1, "traceEvents": []}',
        b'{"traceEvents": {}}',
        b'{"traceEvents": [' + b"9" * 5000 + b"]}",
    ],
)
def test_damage_is_told_from_a_cut(data):
    with pytest.raises(ProfileError, match="not valid JSON"):
        events_of(data)
