"""What holds a step up, from its profile: the GPU, the input pipeline, or waiting between short kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from profet_core.prediction.input_wait import waits_for_loader
from profet_core.profiles.record import HOST_PREFIX, Profile
from profet_core.units import US_PER_MS

Kind = Literal["busy", "idle", "input", "no GPU"]

#: The GPU worked for less than this share of the step. With the step's latency known 5.8% of the 11,052 training
#: profiles lie below; the fastest of the other instances ran them about as fast (median), and 6% of them more than 1.5
#: times as fast; of the others 2.9 times and 74% (counted over `data/profet`, as all counts here).
IDLE_BELOW = 0.55
#: The same from the profile alone: the profiler slows short steps, which then look more idle. 7.9% lie below; the
#: fastest other instance ran 6% of them more than 1.5 times as fast.
IDLE_BELOW_WITHOUT_LATENCY = 0.40
#: Waiting for input above this share of the step while the GPU worked for less than that share of it: 15 of the
#: training profiles, all of the two smallest networks. A PyTorch step waits for its loader; tf.data may read beside it.
INPUT_ABOVE, INPUT_BUSY_BELOW = 0.15, 0.60
#: Below this share a faster GPU has noticeably little to shorten, and the sentence says so.
MOSTLY_BUSY = 0.75


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What holds a step up.

    Attributes
    ----------
    kind : "input": it waits for data; "idle": the GPU waits between short kernels; "busy": neither; "no GPU": the
        profile holds no GPU time.
    gpu_busy_share : part of the step that the GPU worked, 0 to 1; None without GPU rows.
    input_share : part of the step that the input pipeline took, 0 to 1; on its own it may run beside the GPU.
    latency_known : the shares are of the step's measured latency, not of the span the profile shows.
    """

    kind: Kind
    gpu_busy_share: float | None
    input_share: float | None
    latency_known: bool

    @property
    def another_gpu_helps(self) -> bool:
        """False where a faster GPU would only wait longer."""
        return self.kind in ("busy", "no GPU")

    @property
    def sentence(self) -> str:
        """One line for a person."""
        if self.gpu_busy_share is None:
            return "No GPU time was recorded, so GPU utilization is unknown."
        busy = f"the GPU is busy for about {self.gpu_busy_share:.0%} of the step"
        if self.kind == "input":
            return (
                f"This step is input-bound: the input pipeline takes about {self.input_share:.0%} of it, and "
                f"{busy}. A faster GPU won't help: prefetch, cache or use more loader workers first."
            )
        if self.kind == "idle":
            return (
                f"This step leaves the GPU idle: {busy}. A faster GPU won't help: use larger batches or fewer, "
                "larger operations, or rent a cheaper GPU."
            )
        if self.gpu_busy_share < MOSTLY_BUSY:
            return f"{busy[0].upper()}{busy[1:]}: a faster GPU shortens only that part."
        return f"The GPU is well utilized: {busy}."


def diagnose(profile: Profile, latency_ms: float | None = None) -> Diagnosis:
    """What holds the step of `profile` up.

    Parameters
    ----------
    latency_ms : measured latency of the step, milliseconds; that of the profile's meta if None.
    """
    known_ms = latency_ms or profile.meta.step_latency_ms
    input_us = sum(us for name, us in profile.operations.items() if _is_input(name))
    if profile.device_total_us == 0:
        share = min(1.0, input_us / (known_ms * US_PER_MS)) if known_ms else None
        return Diagnosis("no GPU", None, share, known_ms is not None)
    step_us = known_ms * US_PER_MS if known_ms else profile.device_total_us
    busy, waiting = min(1.0, profile.device_busy_us / step_us), min(1.0, input_us / step_us)
    idle_below = IDLE_BELOW if known_ms else IDLE_BELOW_WITHOUT_LATENCY
    if waiting > INPUT_ABOVE and (busy < INPUT_BUSY_BELOW or waits_for_loader(profile)):
        kind: Kind = "input"
    else:
        kind = "idle" if busy < idle_below else "busy"
    return Diagnosis(kind, busy, waiting, known_ms is not None)


def _is_input(name: str) -> bool:
    """`tf.data` reading ahead and the step's wait for it; a DataLoader's wait."""
    return name == f"{HOST_PREFIX}Dataset" or name.startswith(f"{HOST_PREFIX}Iterator")
