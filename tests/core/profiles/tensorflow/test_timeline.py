"""TensorFlow 1's Timeline: one step, kernels of "stream:all", copies, and the host's own times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from profet_core import ProfileError, read_profile

SAVED = Path(__file__).parent / "xprof_views" / "timeline-1.json"
JOB = "/job:localhost/replica:0/task:0/device:"
PROCESSES = {
    1: f"{JOB}CPU:0 Compute",
    2: f"{JOB}CPU:0 Tensors",
    3: f"{JOB}GPU:0 Compute",
    5: f"{JOB}GPU:0/stream:all Compute",
    7: f"{JOB}GPU:0/stream:14 Compute",
    9: f"{JOB}GPU:0/memcpy Compute",
}


def op(pid: int, kind: str, begin_us: float, duration_us: float, name: str = "") -> dict:
    args = {"name": name or f"secret/{kind}", "op": kind}
    return {
        "ph": "X",
        "cat": "Op",
        "name": kind,
        "pid": pid,
        "tid": 0,
        "ts": begin_us,
        "dur": duration_us,
        "args": args,
    }


def timeline(*events: dict, processes: dict[int, str] = PROCESSES) -> bytes:
    named = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}} for pid, name in processes.items()]
    return json.dumps({"traceEvents": [*named, *events]}, indent=4).encode()


STEP = (
    op(1, "Conv2D", 0, 5),
    op(3, "Conv2D", 5, 20),
    op(5, "Conv2D", 100, 40),
    op(5, "Conv2DBackpropFilter", 140, 60, "gradients/secret/Conv2D_grad"),
    op(5, "Conv2D#id=1#", 200, 10, "secret/again"),
    op(7, "Conv2D", 100, 40),
    op(9, "MEMCPYHtoD", 0, 30, "edge_5_secret"),
    {"ph": "O", "pid": 2, "name": "tensor", "args": {}},
)


def test_a_step_adds_up_as_by_hand():
    data = timeline(*STEP)
    assert SAVED.read_bytes() == data, "what the fuzzer damages"
    profile = read_profile(data)
    assert dict(profile.operations) == {
        "Device_Conv2D": 50,
        "Device_Conv2DBackpropFilter": 60,
        "Device_MemcpyHToD": 30,
        # From 0 to 210.
        "Device_IDLE": 70,
        "Host_Conv2D": 25,
    }
    assert (profile.steps, profile.steps_basis, profile.warnings, profile.refusal) == (1, "marked", (), "")
    assert (profile.source_format, profile.meta.framework) == ("TensorFlow 1 Timeline", "TensorFlow 1")
    assert "secret" not in repr(profile)


def test_odd_events_break_nothing():
    odd = ({"ts": None}, {"dur": -1}, {"args": 5}, {"pid": [5]}, {"args": {"op": [1]}})
    found = read_profile(timeline(*STEP, *(op(5, "Relu", 0, 0) | change for change in odd))).operations
    assert found["Device_Conv2D"] == 50


def test_none_and_endless_types_are_refused():
    with pytest.raises(ProfileError, match="run the session with trace_level=FULL_TRACE"):
        read_profile(timeline())
    with pytest.raises(ProfileError, match="More than 1,000 operation types"):
        read_profile(timeline(*(op(1, f"T{number}", 0, 1) for number in range(1_001))))
