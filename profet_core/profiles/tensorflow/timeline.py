"""Reads the chrome trace of TensorFlow 1's `Timeline`: one `session.run` with `RunMetadata`, so one step.

A process is a device: "/job:.../device:GPU:0/stream:all Compute" holds every kernel of a GPU, ".../memcpy Compute" its
copies, each named "name:Type"; processes of a device without a stream hold the operations as the host ran them. Events
tell their operation in `args.op`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TypeAlias

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.chrome_trace import MAX_TIME_US, NO_DURATION, ChromeTrace, Event, is_chrome_trace
from profet_core.profiles.limits import NamesKept, check_operations
from profet_core.profiles.record import HOST_PREFIX, Profile, ProfileMeta
from profet_core.profiles.tensorflow.gpu_work import GpuWork, busiest_gpu, gpu_report, widest
from profet_core.profiles.tensorflow.operation_names import (
    MAX_NAME_CHARACTERS,
    kernel_operation,
    operation_type,
    public_type,
)
from profet_core.profiles.tensorflow.training_check import has_gradient, training_refusal
from profet_core.profiles.totals import no_times, profile_from_totals

NAME = "TensorFlow 1 Timeline"

MAX_PROCESSES = 1_000
Args: TypeAlias = dict[str, object]
_PROCESS = re.compile(rb'"[^"]{0,200}/(?:device:)?(?:gpu|cpu):\d{1,4}(?:/[a-z0-9:]{1,40})? Compute"', re.IGNORECASE)
_DEVICE = re.compile(r"/(?:device:)?(gpu|cpu):(\d{1,4})(/[a-z0-9:]{1,40})? compute", re.IGNORECASE)
#: Streams of their own numbers repeat what stands in "all".
_GPU_WORK = ("/stream:all", "/memcpy")


def looks_like(head: bytes) -> bool:
    """True if `head` opens as a chrome trace with processes named as `Timeline` names them."""
    return is_chrome_trace(head) and _PROCESS.search(head) is not None


def read(content: Content) -> Profile:
    """Read a trace of one step.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    events = _Events()
    for some in ChromeTrace(content, Args).events():
        for event in some:
            events.add(event)
    return events.profile()


class _Events:
    """Adds up a trace while its events pass by; processes are named before their events."""

    def __init__(self) -> None:
        self._devices: dict[object, tuple[str, str, str]] = {}
        self._host_us = no_times()
        self._gpus: defaultdict[str, GpuWork] = defaultdict(GpuWork)
        self._names_kept = NamesKept()
        self._gradient_seen = False
        self._untimed = 0

    def add(self, event: Event[Args]) -> None:
        args, process = event.args, event.pid
        if args is None or process is None:
            return
        if event.ph == "M" and event.name == "process_name":
            self._name(process, args.get("name"))
        elif event.ph == "X" and process in self._devices:
            self._add(self._devices[process], event, args)

    def _name(self, process: int | str, name: object) -> None:
        found = _DEVICE.search(name[-100:]) if isinstance(name, str) else None
        if found and len(self._devices) < MAX_PROCESSES:
            self._names_kept.add(str(process))
            kind, number, part = found.groups()
            self._devices[process] = kind.lower(), number, (part or "").lower()

    def _add(self, device: tuple[str, str, str], event: Event[Args], args: Args) -> None:
        begin_us, duration_us = event.ts, 0.0 if event.dur == NO_DURATION else event.dur
        if not (abs(begin_us) <= MAX_TIME_US and 0 <= duration_us <= MAX_TIME_US):
            self._untimed += 1
            return
        name, operation = (str(args.get(key, ""))[:MAX_NAME_CHARACTERS] for key in ("name", "op"))
        self._gradient_seen = self._gradient_seen or has_gradient(name)
        kind, number, part = device
        if not part:
            self._host_us[public_type(operation)] += duration_us
        elif kind == "gpu" and part in _GPU_WORK:
            gpu = self._gpus[number]
            gpu.number = number
            gpu.kernels_span_us = widest(gpu.kernels_span_us, (begin_us, begin_us + duration_us))
            # Copies are named by what they are.
            found = operation_type(operation) or kernel_operation(f"{name}:{operation}")
            gpu.operations_us[found] += duration_us
            gpu.kernels_us[found] += duration_us
        check_operations(len(self._host_us) + sum(len(gpu.operations_us) for gpu in self._gpus.values()))

    def profile(self) -> Profile:
        report = gpu_report(*busiest_gpu(self._gpus.values()))
        totals_us = {HOST_PREFIX + kind: us for kind, us in self._host_us.items()}
        totals_us |= report.totals_us
        if not totals_us:
            raise ProfileError(
                "This is a TensorFlow 1 Timeline trace without operation times: run the session with "
                "trace_level=FULL_TRACE."
            )
        return profile_from_totals(
            totals_us,
            source_format=NAME,
            steps=1,
            steps_basis="marked",
            meta=ProfileMeta(framework="TensorFlow 1"),
            ignored=(f"{self._untimed} events without a valid time",) if self._untimed else (),
            warnings=report.warnings,
            refusal=report.refusal or training_refusal(totals_us, self._gradient_seen),
            may_be_cut=False,
        )
