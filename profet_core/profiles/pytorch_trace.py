"""Reads the chrome traces of PyTorch's profiler, of a CPU or of a CUDA GPU, with one step or several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from profet_core.errors import ProfileError
from profet_core.profiles.chrome_events import ChromeTrace, is_chrome_trace
from profet_core.profiles.containers import Content
from profet_core.profiles.precision_signs import read_signs
from profet_core.profiles.profet_json import is_short_text
from profet_core.profiles.pytorch_events import PyTorchEvents
from profet_core.profiles.record import Profile, ProfileMeta
from profet_core.profiles.totals import profile_from_totals

if TYPE_CHECKING:
    from profet_core.profiles.pytorch_steps import StepTotals

NAME = "PyTorch trace"

#: First among the warnings of every profile that was recorded with PyTorch.
UNMEASURED_WARNING = (
    "This is a PyTorch profile: the models were trained on TensorFlow steps in FP32, its operations were translated, "
    "and how far off such predictions are has not been measured."
)
UNMARKED_WARNING = (
    "The trace marks no step (no ProfilerStep): it is read as one. Call prof.step() after every training step."
)
#: Above this share of GPU time without an operation the profile says so.
_UNLINKED_SHARE = 0.1

#: PyTorch notes no version; a recorder may, with `add_metadata_json`.
_VERSION_ENTRIES = ("pytorch_version", "torch_version")
_VERSION = re.compile(r"\d+(?:\.\d+){1,3}", re.ASCII)


def looks_like(head: bytes) -> bool:
    """True if `head` opens as a chrome trace; TensorFlow's are asked for before."""
    return is_chrome_trace(head)


def read(content: Content) -> Profile:
    """Read a trace: on a GPU the time of kernels by the operation that started them, on the host self times.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    trace, events = ChromeTrace(content, keep=("deviceProperties", *_VERSION_ENTRIES)), PyTorchEvents()
    for event in trace.events():
        events.add(event)
    if not len(events.host.keys):
        raise ProfileError(
            "This chrome trace holds no operation of PyTorch (no cpu_op): record a training step with torch.profiler, "
            "activities CPU and CUDA."
        )
    from profet_core.profiles.pytorch_steps import reduce_events  # late: it needs numpy

    content.check_time()
    totals = reduce_events(events)
    properties = _device(trace.entries, events.devices)
    signs = read_signs(
        totals.kernels_us,
        [*(name for name, _ in events.operations), *events.labels],
        events.input_types,
        _whole(properties.get("computeMajor")),
    )
    batch, pixels = (None, None) if events.first_input is None else (events.first_input[0], events.first_input[3])
    return profile_from_totals(
        totals.totals_us,
        source_format=NAME,
        steps=totals.steps,
        meta=ProfileMeta(
            gpu=_text(properties.get("name")),
            framework=_framework(trace.entries),
            precision=signs.precision,
            compiled=signs.compiled or None,
            batch_size=batch,
            pixels=pixels,
        ),
        ignored=tuple(_ignored(events, totals)),
        warnings=tuple(_warnings(events, totals)),
    )


def _warnings(events: PyTorchEvents, totals: StepTotals):
    yield UNMEASURED_WARNING
    if len(events.devices) > 1:
        yield f"{len(events.devices)} GPUs worked in this trace and their times are added up: the models know one GPU."
    if not totals.marked:
        yield UNMARKED_WARNING
    kernels_us = sum(totals.kernels_us.values())
    if totals.unlinked_us > _UNLINKED_SHARE * kernels_us:
        yield (
            f"{totals.unlinked_us / kernels_us:.0%} of the GPU's time was started by no operation the trace holds "
            "(CUDA graphs, or only CUDA activity recorded): record CPU and CUDA activities."
        )


def _ignored(events: PyTorchEvents, totals: StepTotals):
    if totals.dropped_us:
        ms = totals.dropped_us / totals.steps / 1000
        yield f"{ms:.3g} ms a step on the host in views, allocations, wrappers of autograd and the user's own labels"
    if totals.partial:
        yield f"{totals.partial} ProfilerStep that is not complete"
    if totals.step_us:
        yield f"the length of a profiled step, {totals.step_us / 1000:.4g} ms: without the profiler it is shorter"
    if events.untimed:
        yield f"{events.untimed} events without a valid time"


def _device(entries: dict[str, object], worked: set[int]) -> dict:
    """Properties of the first GPU that worked, else of the first one."""
    known = entries.get("deviceProperties")
    devices = [device for device in known if isinstance(device, dict)] if isinstance(known, list) else []
    return next((device for device in devices if device.get("id") in worked), devices[0] if devices else {})


def _framework(entries: dict[str, object]) -> str:
    version = next((entries[name] for name in _VERSION_ENTRIES if name in entries), None)
    found = _VERSION.match(version) if isinstance(version, str) else None
    return f"PyTorch {found[0]}" if found else "PyTorch"


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def _text(value: object) -> str | None:
    return value.strip() or None if is_short_text(value) else None
