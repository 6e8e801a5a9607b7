"""An analytical model of a step in round numbers, and steps that it can be worked out on by hand."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from profet_core.transfer.step_model import GROUPS, InstanceStep, StepModel, StepParts
from profet_core.transfer.targets import REFERENCE_HOST, Target

#: The benchmark takes 100 ms of work here, 60 of them convolutions.
FAST = InstanceStep(
    gpu="Fast",
    host="broadwell",
    idle_ms=2.0,
    idle_per_copy=0.0,
    floor_per_idle=5.0,
    profiling_slowdown=2.0,
    gpu_per_busy=1.0,
    inferred_log_half_width=0.1,
    kind_log_speeds=(math.log(2),) * 4,
    benchmark_work_ms=100.0,
    benchmark_kinds_ms=(60.0, 0.0, 0.0, 40.0),
)
#: Four times as slow in everything.
SLOW = replace(
    FAST,
    gpu="Slow",
    kind_log_speeds=(-math.log(2),) * 4,
    benchmark_work_ms=400.0,
    benchmark_kinds_ms=(240.0, 0.0, 0.0, 160.0),
)
#: Without tails: those are added where they are tested.
STEP_MODEL = StepModel(
    start_ms=2.0,
    copy_factor=1.5,
    tail_share=0.0,
    scattered_power=0.3,
    instances={"fast": FAST, "slow": SLOW},
)


def no_groups(profiles: int = 1) -> np.ndarray:
    """Times by group of profiles whose work isn't read."""
    return np.zeros((profiles, len(GROUPS)))


def made_parts(
    *, convolution=60.0, product=0.0, scattered=0.0, bandwidth=40.0, copy=4.0, idle=2.0, host=math.inf
) -> StepParts:
    """One step's parts, milliseconds: unless said otherwise 100 ms of the benchmark's mix that hides its launches."""
    return StepParts(
        kinds_ms=np.array([[convolution, product, scattered, bandwidth]]),
        copy_ms=np.array([copy]),
        idle_ms=np.array([idle]),
        host_ms=np.array([host]),
        groups_ms=no_groups(),
    )


def made_target(log_speed=0.0, **given) -> Target:
    """A GPU on the reference host, `log_speed` faster in everything, whose steps wait as on profiled instances."""
    values = {
        "host": REFERENCE_HOST,
        "compute": log_speed,
        "bandwidth": log_speed,
        "nearness": log_speed,
        "log_sd": 0.0,
        "runs_ahead": False,
    }
    return Target(**{**values, **given})
