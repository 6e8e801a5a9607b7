"""Requirements on a profile before a latency is predicted from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from profet_core.errors import NoPredictionError
from profet_core.latency import log_sd_of
from profet_core.operations.kinds import kind_of
from profet_core.precision.names import canonical
from profet_core.prediction.anchors import unknown_gpu
from profet_core.profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, NO_DEVICE, Profile

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models

#: Limits of the share of busy GPU time without an operation: above the first there is no prediction; above the second
#: there is a caveat and a wider interval.
MOST_UNATTRIBUTED_SHARE, WARNED_UNATTRIBUTED_SHARE = 0.20, 0.05
#: Maximum share of busy time in operations of unknown kind; above it the rest doesn't represent the step.
MOST_UNPLACED_SHARE = 0.50
#: Minimum GPU utilization over the profile's span; below it, the profile has no whole step: in the idlest of the 11,052
#: PROFET profiles utilization was 8%.
LEAST_BUSY_SHARE = 0.05


def refusal(profile: Profile) -> str:
    """Why no latency can be predicted from `profile`, and what to do: one line; empty if one can."""
    if profile.refusal:
        return profile.refusal
    if profile.device_busy_us <= 0:
        return NO_DEVICE
    if profile.meta.compiled and "torch" not in (profile.meta.framework or "").lower():
        return (
            "XLA fused this step's operations, and the models need single operations: record it again with "
            "jit_compile=False."
        )
    if profile.meta.precision is not None and canonical(profile.meta.precision) is None:
        return (
            f"The profile's precision is {profile.meta.precision}, which the models don't cover: record it in FP32, "
            "TF32, AMP or BF16."
        )
    busy_share = profile.device_busy_us / profile.device_total_us
    if busy_share < LEAST_BUSY_SHARE:
        return (
            f"The GPU is busy for {busy_share:.1%} of this profile, which is too little for a training step: "
            "record a whole step after a few warm-up steps, with its input ready."
        )
    if profile.unknown_share > MOST_UNATTRIBUTED_SHARE:
        return (
            f"{profile.unknown_share:.0%} of the GPU time belongs to no named operation: record it again with CPU "
            "operations too, and without XLA, torch.compile or CUDA graphs."
        )
    unplaced_us = _unplaced_us(profile)
    if (share := sum(unplaced_us.values()) / profile.device_busy_us) > MOST_UNPLACED_SHARE:
        longest = max(unplaced_us, key=lambda name: unplaced_us[name]).removeprefix(DEVICE_PREFIX)
        return (
            f"{share:.0%} of the GPU time is in unknown operations, {longest} the longest: record a CNN training "
            "step with the framework's own operations."
        )
    return ""


def _unplaced_us(profile: Profile) -> dict[str, float]:
    """Device time per operation of unknown kind, microseconds."""
    named = {name: us for name, us in profile.operations.items() if name.startswith(DEVICE_PREFIX)}
    return {name: us for name, us in named.items() if name not in IDLE_OPERATIONS and kind_of(name) is None}


def refusal_by(models: Models, profile: Profile) -> str:
    """Like `refusal`, or that the GPU in the profile is unknown."""
    reason, recorded = refusal(profile), profile.meta.gpu
    return reason or ("" if recorded is None else unknown_gpu(models, recorded))


def check_predictable(models: Models, profile: Profile) -> None:
    """Reject a profile from which these models can't predict a latency.

    Raises
    ------
    NoPredictionError : with the reason and what to do.
    """
    if reason := refusal_by(models, profile):
        raise NoPredictionError(reason)


def unattributed_log_sd(profiles: Sequence[Profile]) -> np.ndarray:
    """Log standard deviation that GPU time without an operation adds, (profiles,)."""
    shares = [profile.unknown_share for profile in profiles]
    # That part may take from nothing to about twice its share on another GPU: an interval's half-width.
    halves = [-math.log1p(-share) if WARNED_UNATTRIBUTED_SHARE < share < 1 else 0.0 for share in shares]
    found: np.ndarray = log_sd_of(np.array(halves))
    return found
