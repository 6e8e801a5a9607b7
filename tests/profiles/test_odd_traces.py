"""Traces that mislead: lost and impossible times, copies beside computation, in every format that has kernels."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from profet_core import Catalog, Models, NoPredictionError, ProfileError, predict, read_profile
from profet_core.errors import Code
from profet_profiles.profet_json import write_profile
from profet_profiles.record import Profile
from tests.made import odd_traces as odd
from tests.made.refused import refusal

FORMATS = sorted(odd.FORMATS)
#: Damage -> share of the kernels that it hits.
SMALL = {
    "at zero": (odd.every(9, odd.at_zero), 1 / 9),
    "starts at zero": (odd.every(9, odd.starts_at_zero), 0.0),
    "negative": (odd.every(9, odd.negative), 1 / 9),
    "no duration": (odd.every(9, odd.without_duration), 1 / 9),
    "two seconds": (odd.every(10_000, odd.never_ending, first=61), 1 / 255),
    "two of two seconds": (odd.every(100, odd.never_ending, first=20), 3 / 255),
    "two seconds at the end": (odd.last_never_ends, 1 / 255),
    "most of a name": (odd.every(9, odd.never_ending, first=84), 1 / 9),
    "begins days later": (odd.every(9, lambda kernel: replace(kernel, begin_us=1.5e11)), 0.0),
    "first lost": (odd.every(10_000, odd.at_zero, first=0), 1 / 255),
}


def read(name: str, kernels: list[odd.Kernel]) -> Profile:
    return read_profile(odd.FORMATS[name](kernels), name)


def gpu_us(profile: Profile) -> dict[str, float]:
    return {name: us for name, us in profile.operations.items() if name.startswith("Device_")}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("damage", SMALL)
def test_a_few_kernels_without_a_possible_time_are_estimated_and_widen_the_interval(
    models: Models, catalog: Catalog, name, damage
):
    change, share = SMALL[damage]
    sound, damaged = read(name, odd.sound_kernels()), read(name, change(odd.sound_kernels()))
    assert (damaged.steps, damaged.refusal) == (3, "")
    expected = gpu_us(sound)
    idle_us = expected.pop("Device_IDLE")
    times_us = gpu_us(damaged)
    assert times_us.pop("Device_IDLE") == pytest.approx(idle_us, abs=0.02 * sound.device_total_us)
    assert times_us == pytest.approx(expected, rel=0.03)
    answers = [predict(models, catalog, profile, "g4dn.xlarge", targets=["p3.2xlarge"]) for profile in (sound, damaged)]
    one, other = (answer.predictions[1] for answer in answers)
    assert other.latency_ms == pytest.approx(one.latency_ms, rel=0.02)
    notes = [note for note in answers[1].warnings if getattr(note, "code", None) == Code.ESTIMATED_TIMES]
    if not share:
        assert damaged.meta.estimated_share is None and not notes
        return
    assert damaged.meta.estimated_share == pytest.approx(share, abs=0.1)
    assert notes[0].values["share"] == damaged.meta.estimated_share
    assert other.interval.low_ms < one.latency_ms < other.interval.high_ms
    assert other.interval.high_ms / other.interval.low_ms > one.interval.high_ms / one.interval.low_ms
    # What was replaced is known of the profile that is saved too.
    assert read_profile(write_profile(damaged)).meta == damaged.meta


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("change", [odd.at_zero, odd.negative, odd.never_ending])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_where_many_kernels_have_no_possible_time_there_is_no_number(models, catalog, name, change, number):
    try:
        profile = read(name, odd.every(number, change)(odd.sound_kernels()))
    except ProfileError as error:
        assert "impossible" in str(error)
        return
    assert "are missing or impossible in this trace" in profile.refusal
    with pytest.raises(NoPredictionError):
        predict(models, catalog, profile, "g4dn.xlarge")


@pytest.mark.parametrize("name", FORMATS)
def test_a_smaller_last_batch_is_left_out_or_said(name):
    sound, smaller = (
        read(name, kernels) for kernels in (odd.sound_kernels(), odd.smaller_last_step(odd.sound_kernels()))
    )
    notes = [line for line in (*smaller.warnings, *smaller.ignored) if "more or less work than the others" in line]
    assert (
        len(notes) == 1
        and "1 of 3 steps" in notes[0]
        and not [warning for warning in sound.warnings if "steps" in warning]
    )
    if name.endswith(".pt.trace.json"):
        assert smaller.device_busy_us == pytest.approx(sound.device_busy_us)


@pytest.mark.parametrize("marked", [True, False])
def test_steps_that_are_not_marked_lose_as_little(marked):
    sound = read_profile(odd.pytorch_trace(odd.sound_kernels(), marked=marked))
    for change, _ in SMALL.values():
        damaged = read_profile(odd.pytorch_trace(change(odd.sound_kernels()), marked=marked))
        assert damaged.device_busy_us == pytest.approx(sound.device_busy_us, rel=0.03)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ms", [5.0, 30.0, 80.0])
def test_a_copy_beside_computation_takes_no_time_from_the_step(models, catalog, name, ms):
    sound, copied = (
        read(name, kernels) for kernels in (odd.sound_kernels(), odd.copies_beside(ms)(odd.sound_kernels()))
    )
    times = [
        predict(models, catalog, profile, "g4dn.xlarge", targets=["p3.2xlarge"]).predictions[1].latency_ms
        for profile in (sound, copied)
    ]
    assert times[1] == pytest.approx(times[0], rel=0.02)
    assert copied.operations.get("Device__Send", 0.0) < 0.05 * ms * 1000
    (note,) = set(copied.warnings) - set(sound.warnings)
    assert note.startswith(f"{ms:.3g} ms per step") and "%" in note


def test_a_copy_that_the_step_waits_for_counts():
    kernels = odd.sound_kernels()
    waiting = [replace(kernel, begin_us=kernel.begin_us + 8_000) for kernel in kernels]
    copies = [replace(copy, begin_us=copy.begin_us - 1000) for copy in odd.copies_beside(8)(kernels)[len(kernels) :]]
    profile = read_profile(odd.pytorch_trace([*waiting, *copies]))
    assert profile.operations["Device__Send"] == pytest.approx(8_000, rel=0.05)


def test_times_as_text_and_traces_too_large_for_their_stacks_are_refused(monkeypatch):
    document = json.loads(odd.pytorch_trace(odd.sound_kernels()))
    for event in document["traceEvents"]:
        event.update(ts=str(event["ts"]), dur=str(event["dur"]))
    assert "times as text" in refusal(json.dumps(document).encode())
    monkeypatch.setattr("profet_profiles.chrome_trace.MAX_EVENTS", 50)
    document = json.loads(odd.pytorch_trace(odd.sound_kernels()))
    assert "more than 50 events: record fewer steps" in refusal(json.dumps(document).encode())
    with_stack = json.dumps({"schemaVersion": 1, "with_stack": 1, **document}).encode()
    assert "more than 50 events: record it without with_stack" in refusal(with_stack)


def test_names_that_take_long_to_search_end_at_the_limit(monkeypatch):
    monkeypatch.setattr("profet_profiles.unpacking.MAX_SMALL_SECONDS", 0.5)
    kernels = [
        replace(kernel, name=f"{number}{'batch_norm' * 50}") for number, kernel in enumerate(odd.sound_kernels() * 12)
    ]
    for name in FORMATS:
        started = time.thread_time()
        with pytest.raises(ProfileError, match="more than 0 s of processor time"):
            read(name, kernels)
        assert time.thread_time() - started < 1.0
