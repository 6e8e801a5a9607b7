"""Reads the chrome trace of TensorFlow 1's `Timeline`: one `session.run` with `RunMetadata`, so one step.

A process is a device: "/job:.../device:GPU:0/stream:all Compute" holds every kernel of a GPU, ".../memcpy Compute" its
copies, each named "name:Type"; processes of a device without a stream hold the operations as the host ran them. Events
tell their operation in `args.op`.
"""

from __future__ import annotations

import re

from profet_core.profiles.chrome_trace import ChromeTrace, Event, is_chrome_trace
from profet_core.profiles.limits import NamesKept, check_operations
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.operation_names import (
    MAX_NAME_CHARACTERS,
    kernel_operation,
    operation_type,
    public_type,
)
from profet_core.profiles.tensorflow.trace import Gpu, Trace, has_gradient, widest
from profet_core.profiles.tensorflow.trace_json import Args, times_of
from profet_core.profiles.unpacking import Content

NAME = "TensorFlow 1 Timeline"

MAX_PROCESSES = 1_000
_PROCESS = re.compile(rb'"[^"]{0,200}/(?:device:)?(?:gpu|cpu):\d{1,4}(?:/[a-z0-9:]{1,40})? Compute"', re.IGNORECASE)
_DEVICE = re.compile(r"/(?:device:)?(gpu|cpu):(\d{1,4})(/[a-z0-9:]{1,40})? compute", re.IGNORECASE)
#: Streams of their own numbers repeat what stands in "all".
_GPU_WORK = ("/stream:all", "/memcpy")
_NOTHING = "This is a TensorFlow 1 Timeline trace without operation times: run the session with trace_level=FULL_TRACE."


def looks_like(head: bytes) -> bool:
    """True if `head` opens as a chrome trace with processes named as `Timeline` names them."""
    return is_chrome_trace(head) and _PROCESS.search(head) is not None


def read(content: Content) -> Profile:
    """Read a trace of one step."""
    found, untimed = Trace(marked=1, framework="TensorFlow 1"), 0
    gpus: dict[str, Gpu] = {}
    devices: dict[object, tuple[str, ...]] = {}
    names_kept = NamesKept()
    for event in (event for some in ChromeTrace(content, Args).events() for event in some):
        if event.ph == "M" and event.name == "process_name" and event.pid is not None:
            name = (event.args or {}).get("name")
            device = _DEVICE.search(name[-100:].lower()) if isinstance(name, str) else None
            if device and len(devices) < MAX_PROCESSES:
                # Processes are named before their events.
                names_kept.add(str(event.pid))
                devices[event.pid] = device.groups("")
        elif event.ph == "X" and event.pid in devices and event.args is not None:
            untimed += not _add(found, gpus, event, *devices[event.pid])
            check_operations(len(found.host_us) + sum(len(gpu.operations_us) for gpu in gpus.values()))
    found.gpus = list(gpus.values())
    found.ignored = [f"{untimed} events without a valid time"] if untimed else []
    return found.profile(NAME, _NOTHING)


def _add(found: Trace, gpus: dict[str, Gpu], event: Event[Args], kind: str, number: str, part: str) -> bool:
    """Add an event of a device; False if it has no valid time."""
    if (times_us := times_of(event)) is None:
        return False
    begin_us, duration_us = times_us
    name, operation = (str((event.args or {}).get(key, ""))[:MAX_NAME_CHARACTERS] for key in ("name", "op"))
    found.has_gradient |= has_gradient(name)
    if not part:
        found.host_us[public_type(operation)] += duration_us
    elif kind == "gpu" and part in _GPU_WORK:
        gpu = gpus.setdefault(number, Gpu(number))
        gpu.kernels_span_us = widest(gpu.kernels_span_us, (begin_us, begin_us + duration_us))
        # Copies are named by what they are.
        type_ = operation_type(operation) or kernel_operation(f"{name}:{operation}")
        gpu.add(type_, type_, 0, duration_us)
    return True
