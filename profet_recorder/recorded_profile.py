"""Build the profile from a recording's trace, timed steps and engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profet_core.profiles import Profile, ProfileMeta, read_profile
from profet_core.profiles.record import (
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE_OPERATIONS,
    NO_DEVICE,
    NO_WORK,
    holds_work,
)
from profet_core.units import format_ms
from profet_recorder.engines.engine import StepFacts
from profet_recorder.errors import RecorderError
from profet_recorder.plan import RecordPlan

#: What the recorder itself asks the framework to do.
_OWN_OPERATIONS = ("Host_SyncDevice", "Device_SyncDevice")

NO_GPU_TIMES = (
    "The profiler saw nothing of what {gpu} did: allow profiling to all users (NVIDIA's driver option "
    "NVreg_RestrictProfilingToAdminUsers=0; in a container also --cap-add=SYS_ADMIN), install CUPTI, or run as root; "
    "nothing was written."
)
RAN_ON_GPU = "The step ran on {gpu}: leave --device cpu (as_device=True) out; nothing was written."
#: What only a network for pictures has.
_IMAGES = "Conv2"
#: What matters first about a profile of a CPU.
ON_CPU = "Recorded on a CPU: run this on the GPU you want to use as anchor."
STAND_IN = (
    "The processor's operations count as a device's: a stand-in to try things out with, not a measurement of a GPU."
)


@dataclass(frozen=True, slots=True)
class TimedSteps:
    """Latencies of steps that ran without the profiler, and the peak memory by then, None on a CPU."""

    latencies_ms: tuple[float, ...]
    peak_memory_mib: float | None

    @property
    def latency_ms(self) -> float:
        """The step latency: their median."""
        return round(median(self.latencies_ms), 4)


def recorded_profile(trace: Path, facts: StepFacts, plan: RecordPlan, timed: TimedSteps, odd: str | None) -> Profile:
    """What the trace holds, with all that is known of the step; what the user knows goes before what was found.

    Parameters
    ----------
    odd : why the profiled step is not like the others; None if it is.

    Raises
    ------
    RecorderError : the step ran on a GPU of which the profiler saw nothing, or which a CPU was to stand in for.
    """
    if plan.as_device and facts.gpu is not None:
        raise RecorderError(RAN_ON_GPU.format(gpu=facts.gpu))
    with trace.open("rb") as file:
        read = read_profile(file, "the recorded trace")
    operations = {name: us for name, us in read.operations.items() if name not in _OWN_OPERATIONS}
    if facts.gpu is not None and not any(name.startswith(DEVICE_PREFIX) for name in operations):
        raise RecorderError(NO_GPU_TIMES.format(gpu=facts.gpu))
    compiled = facts.compiled or read.meta.compiled or any("Xla" in name for name in operations)
    return Profile(
        operations=_as_device(operations) if plan.as_device else operations,
        meta=ProfileMeta(
            gpu=facts.gpu,
            framework=facts.framework,
            precision=plan.precision or _precision(facts.precision, read.meta.precision),
            compiled=True if compiled else None,
            channels_last=read.meta.channels_last,
            # Where no network is called as a module, a trace of PyTorch's may show its first convolution.
            batch_size=plan.batch_size or facts.sizes.batch_size or read.meta.batch_size,
            pixels=plan.pixels or facts.sizes.pixels or read.meta.pixels,
            parameters=plan.parameters or facts.parameters or None,
            step_latency_ms=timed.latency_ms,
            peak_memory_mib=None if timed.peak_memory_mib is None else round(timed.peak_memory_mib, 1),
            onednn=facts.onednn,
        ),
        source_format=read.source_format,
        steps=read.steps,
        steps_basis=read.steps_basis,
        warnings=tuple(_warnings(read, facts, plan, odd)),
        refusal=read.refusal,
    )


def _precision(set_to: str | None, shown: str | None) -> str | None:
    """By the settings, unless the kernels in the trace show that it was less than FP32."""
    return (shown or set_to) if set_to in (None, "fp32") else set_to


def _as_device(operations: Mapping[str, float]) -> dict[str, float]:
    """A CPU's operations as if the CPU were the device.

    >>> _as_device({"Host_Conv2D": 3.0, "Host_IDLE": 1.0})
    {'Device_Conv2D': 3.0, 'Host_IDLE': 1.0}
    """
    found: dict[str, float] = {}
    for name, us in operations.items():
        if name.startswith(HOST_PREFIX) and name not in IDLE_OPERATIONS:
            name = DEVICE_PREFIX + name.removeprefix(HOST_PREFIX)
        found[name] = found.get(name, 0.0) + us
    return found


def _warnings(read: Profile, facts: StepFacts, plan: RecordPlan, odd: str | None) -> Iterator[str]:
    if facts.gpu is None:
        yield STAND_IN if plan.as_device else NO_DEVICE
        if not holds_work(read.operations):
            yield NO_WORK
    yield from read.warnings
    yield from facts.warnings
    if odd:
        yield f"The profiled step was not like the others: {odd}."


def summary(profile: Profile, plan: RecordPlan, timed: TimedSteps) -> Iterator[str]:
    """Lines for whoever watches: warnings, what could not be found out, and what was written."""
    meta = profile.meta
    if meta.gpu is None and not plan.as_device:
        yield ON_CPU
    for warning in profile.warnings:
        if warning != NO_DEVICE:
            yield f"warning: {warning}"
    if profile.refusal:
        yield f"warning: {profile.refusal}"
    if meta.batch_size is None:
        yield "the batch size is unknown: set it with --batch-size N (batch_size=N)"
    if meta.pixels is None and meta.batch_size is None and any(_IMAGES in name for name in profile.operations):
        yield "the image size is unknown: set its side with --pixels N (pixels=N)"
    described = ", ".join([_latency_text(timed), *_meta_texts(meta)])
    yield f"wrote {plan.output}: {len(profile.operations)} operation types, {described}"


def _latency_text(timed: TimedSteps) -> str:
    latencies_ms = timed.latencies_ms
    low, high = format_ms(min(latencies_ms)), format_ms(max(latencies_ms))
    return f"step {format_ms(timed.latency_ms)} (median of {len(latencies_ms)}, {low} to {high})"


def _meta_texts(meta: ProfileMeta) -> Iterator[str]:
    if meta.batch_size is not None:
        yield f"batch {meta.batch_size}"
    if meta.pixels is not None:
        yield f"pixels {meta.pixels}"
    if meta.parameters is not None:
        yield f"parameters {meta.parameters:,}"
    if meta.peak_memory_mib is not None:
        yield f"peak memory {meta.peak_memory_mib:,.0f} MiB"
    yield from filter(None, (meta.precision, meta.gpu or "CPU", meta.framework))
