"""Reads the chrome traces of PyTorch's profiler, of a CPU or of a CUDA GPU, with one step or several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from profet_profiles.chrome_trace import ChromeTrace, is_chrome_trace, nothing_found
from profet_profiles.errors import ProfileError
from profet_profiles.kernel_names import detect_traits
from profet_profiles.limits import is_short_text
from profet_profiles.pytorch_events import Args, PyTorchEvents
from profet_profiles.record import (
    ACCUMULATED,
    PADDLE_WARNING,
    REPEATED_UPDATES,
    TRANSLATED_WARNING,
    Profile,
    hidden_copies_note,
    profile_from_totals,
)
from profet_profiles.units import US_PER_MS
from profet_profiles.unpacking import Content, Reader

if TYPE_CHECKING:
    from profet_profiles.pytorch_work import StepTotals

NAME = "PyTorch trace"
FORWARD_ONLY = (
    "This profile has only a forward pass. Profile a whole training step, with loss.backward() and optimizer.step()."
)
_NOTHING = (
    "This Chrome trace has no PyTorch operation (cpu_op) and no kernel: record a training step with "
    "torch.profiler, activities CPU and CUDA."
)
#: Above this share of GPU time without an operation the profile says so.
_UNLINKED_SHARE = 0.1
#: Above this share of a step in one operation that loads a library, while the GPU is idle for as much, the step is a
#: first one.
_COLD_SHARE = 0.5

#: In a step so many kernels have some, such as updates of biases, that take far less than this, microseconds.
_MIN_KERNELS, _MIN_SHORTEST_US = 20, 500.0

#: Two updates of one kind may be those of two networks that are alike.
_REPEATED = 3

_BYTES_PER_MIB = 2**20

_EXECUTION_TRACE = re.compile(rb'[\s\xef\xbb\xbf]*\{\s*"schema"\s*:\s*"')
_TRAINS = re.compile(
    r"backward|GradNode|[dw]grad|bwd|wrw|bn_bw|^Optimizer\.step|_fused_(?:sgd|adam)|multi_tensor_apply", re.IGNORECASE
)

#: PyTorch notes no version; a recorder may, with `add_metadata_json`.
_VERSION_ENTRIES = ("pytorch_version", "torch_version")
#: What PaddlePaddle writes beside its events.
_PADDLE_ENTRIES = ("SpanNumber", "span_indx")
_VERSION = re.compile(r"\d+(?:\.\d+){1,3}", re.ASCII)


def looks_like(head: bytes) -> bool:
    """Return True if `head` opens as a chrome trace, which TensorFlow's readers left, or as an ExecutionTrace."""
    return is_chrome_trace(head) or _is_execution_trace(head)


def _is_execution_trace(head: bytes) -> bool:
    return bool(_EXECUTION_TRACE.match(head)) and b'"nodes"' in head


def read(content: Content) -> Profile:
    """Read a trace: on a GPU the time of kernels by the operation that started them, on the host self times."""
    if _is_execution_trace(content.head):
        raise ProfileError(
            "This is a PyTorch ExecutionTrace, which has no times: upload the trace of the same step that "
            "torch.profiler's export_chrome_trace() wrote."
        )
    trace = ChromeTrace(
        content, Args, keep=("deviceProperties", "distributedInfo", *_VERSION_ENTRIES, *_PADDLE_ENTRIES)
    )
    events = PyTorchEvents()
    for part in trace.events():
        events.add(part)
    if events.accelerator and not len(events.device.keys):
        raise ProfileError(
            f"This is a trace of {events.accelerator}, and the models support GPUs only: record the step on a GPU."
        )
    if not len(events.host.keys) and not len(events.device.keys):
        raise ProfileError(nothing_found(content.head, _NOTHING))
    content.check_time()
    return _profile(events, trace.entries, content.check_time)


def _profile(events: PyTorchEvents, entries: dict[str, object], check_time: Callable[[], None]) -> Profile:
    """Return the profile of a trace's events and of what stands beside them."""
    from profet_profiles.pytorch_work import reduce_events  # late: it needs numpy

    totals = reduce_events(events, check_time)
    # Properties of the GPU that worked, else of the first one.
    listed, properties = entries.get("deviceProperties"), dict[str, object]()
    if len(events.device.keys) and isinstance(listed, list):
        devices = [device for device in listed if isinstance(device, dict)]
        worked = [device for device in devices if _whole(device.get("id")) == totals.gpu]
        properties = next(iter(worked or devices), properties)
    name = properties.get("name")
    info = entries.get("distributedInfo")
    processes = (_whole(info.get("world_size")) or 1) if isinstance(info, dict) else 1
    version = next((entries[name] for name in _VERSION_ENTRIES if name in entries), None)
    match = _VERSION.match(version) if isinstance(version, str) else None
    is_paddle = any(name in entries for name in _PADDLE_ENTRIES)
    framework = "PaddlePaddle" if is_paddle else f"PyTorch {match[0]}" if match else "PyTorch"
    # Where the trace doesn't number the GPU, memory is that of the only one.
    peaks, number = events.peak_bytes, totals.gpu
    peak_bytes = (
        next(iter(peaks.values()))
        if number is None and len(peaks) == 1
        else peaks.get(-1 if number is None else number)
    )
    traits = detect_traits(
        totals.kernels_us,
        [*(name for name, _ in events.operations), *events.labels],
        events.input_types,
        _whole(properties.get("computeMajor")),
        None if events.channels_last is None else events.channels_last > 0,
        check_time,
    )
    steps = len(totals.steps.bounds_us)
    return profile_from_totals(
        {name: us * steps for name, us in (*totals.host_us.items(), *totals.device_us.items())},
        steps,
        source_format=NAME,
        steps_basis=totals.steps.basis,
        meta=replace(
            traits,
            gpu=(name.strip() or None) if is_short_text(name) else None,
            framework=framework,
            batch_size=totals.images[0][0] * totals.passes if totals.images else None,
            pixels=_pixels(totals),
            peak_memory_mib=None if peak_bytes is None else round(peak_bytes / _BYTES_PER_MIB, 1),
            estimated_share=totals.times.estimated_share,
            work=totals.work,
        ),
        ignored=tuple(_ignored(events, totals)),
        warnings=(PADDLE_WARNING if is_paddle else TRANSLATED_WARNING, *_warnings(totals, processes)),
        refusal=_refusal(events, totals),
        may_be_cut=False,
    )


def _pixels(totals: StepTotals) -> int | None:
    """Return the side of a square image with the mean area of the steps' images; None if no convolution has a shape."""
    areas = [height * width for _, _, height, width in totals.images]
    return round(math.sqrt(sum(areas) / len(areas))) if areas else None


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def _refusal(events: PyTorchEvents, totals: StepTotals) -> str:
    """Say why nothing may be predicted from the trace."""
    if totals.times.refusal:
        return totals.times.refusal
    durations_us = totals.times.durations_us
    if len(durations_us) >= _MIN_KERNELS and (shortest_us := durations_us.min()) >= _MIN_SHORTEST_US:
        return (
            f"No kernel is shorter than {shortest_us:,.0f} microseconds: the times look like nanoseconds. Upload the "
            "trace as the profiler wrote it, or divide its times by 1,000."
        )
    names = [name for name, _ in events.operations]
    if totals.other_us["unlinked"] > _UNLINKED_SHARE * totals.busy_us:
        # A gradient's kernel may run forward, in transposed convolutions: only where the operations don't tell.
        names += events.kernels
    if totals.kernels_us and not any(_TRAINS.search(name) for name in names):
        return FORWARD_ONLY
    window_us, longest_us = totals.window_us, totals.longest_us
    count = len(totals.steps.bounds_us) - sum(totals.differ.values())
    if count == 1 and window_us and min(longest_us, totals.idle_us) > _COLD_SHARE * window_us:
        return (
            f"This is a first step: one operation kept the GPU waiting for {longest_us / US_PER_MS:.3g} of "
            f"{window_us / US_PER_MS:.3g} ms while libraries loaded. Profile a step after about ten warm-up steps."
        )
    return ""


def _warnings(totals: StepTotals, processes: int) -> Iterator[str]:
    communication_us, unlinked_us = totals.other_us["communication"], totals.other_us["unlinked"]
    if totals.passes > 1:
        yield ACCUMULATED
    if totals.updates >= _REPEATED:
        yield REPEATED_UPDATES
    if totals.kernels_us and (totals.gpus > 1 or processes > 1 or communication_us > 0):
        several = f"; the times are those of the busiest of the {totals.gpus} GPUs" if totals.gpus > 1 else ""
        share = communication_us / totals.window_us if totals.window_us else 0.0
        yield (
            f"This step ran on several GPUs, and communication took {share:.0%} of it{several}: the models support "
            "steps on one GPU only."
        )
    if unlinked_us > _UNLINKED_SHARE * totals.busy_us:
        yield (
            f"{unlinked_us / totals.busy_us:.0%} of the GPU time belongs to no operation in the trace (CUDA "
            "graphs, or only CUDA activity recorded) and is classified by kernel name: record CPU and CUDA "
            "activities."
        )
    if totals.other_us["hidden copies"]:
        yield hidden_copies_note(totals.other_us["hidden copies"], totals.busy_us)


def _ignored(events: PyTorchEvents, totals: StepTotals) -> Iterator[str]:
    if totals.other_us["dropped"]:
        ms = totals.other_us["dropped"] / US_PER_MS
        yield f"{ms:.3g} ms per step on the CPU in views, allocations, autograd wrappers and user labels"
    if totals.other_us["queued"]:
        yield f"{totals.other_us['queued'] / US_PER_MS:.3g} ms of kernels launched before the recording began"
    steps, sizes = totals.steps, list(dict.fromkeys(image[2:] for image in totals.images))
    if steps.split:
        yield f"{_marks(steps.split)}, around several steps each: steps are counted by updates"
    if steps.untrained:
        yield f"{_marks(steps.untrained)} without a backward pass"
    if steps.partial and steps.basis == "marked":
        yield f"{_marks(steps.partial)} that is not complete"
    elif steps.partial:
        yield "what follows the last step: one that is not complete, or a test pass"
    batch, (height, width) = (totals.images[0][0], sizes[0]) if sizes else (0, (0, 0))
    others = {
        "batch": f"a batch other than {batch}",
        "size": f"images other than {height} x {width} pixels",
        "work": "more or less work than the others",
    }
    for difference, count in totals.differ.items():
        yield f"{count} of {len(steps.bounds_us)} steps with {others[difference]}"
    if totals.cold_us is not None:
        yield f"the first step ({totals.cold_us / US_PER_MS:.4g} ms), in which libraries load; the others count"
    if totals.step_us:
        yield (
            f"the length of a profiled step ({totals.step_us / US_PER_MS:.4g} ms): it is shorter without the profiler"
        )
    if any(height != width for height, width in sizes) or len(sizes) > 1:
        several = ", and others" if len(sizes) > 1 else ""
        yield f"the shape of images of {height} x {width} pixels{several}: they count as square ones of the same area"
    if events.untimed:
        share = events.untimed / (events.untimed + len(events.host.begins) + len(events.calls.begins))
        yield f"{events.untimed} events of the CPU ({share:.1%}) without a valid time"


def _marks(count: int) -> str:
    return f"{count} ProfilerStep mark{'s' if count > 1 else ''}"


READER = Reader(NAME, looks_like, read)
