"""Separate input wait from time that another GPU can change."""

from __future__ import annotations

from dataclasses import replace

from profet_core.profiles.record import HOST_PREFIX, Profile
from profet_core.units import US_PER_MS, format_ms

#: Waits below this share of the step are measurement noise.
WORTH_SHARE = 0.05
#: Minimum share of a measured latency attributed to the GPU, however long the wait.
LEAST_LEFT = 0.2
_IDLE = "Device_IDLE"


def waits_for_loader(profile: Profile) -> bool:
    """True for PyTorch, whose steps wait for their loader; `tf.data` reads in parallel."""
    return "torch" in f"{profile.meta.framework or ''} {profile.source_format}".lower()


def _wait(profile: Profile) -> str:
    """Host row that holds the wait."""
    return HOST_PREFIX + ("Dataset" if waits_for_loader(profile) else "IteratorGetNext")


def input_wait_ms(profile: Profile) -> float:
    """Time the GPU waits for input per step, milliseconds; 0 if negligible.

    This is the host's time in the loader (PyTorch) or in fetching the next batch (TensorFlow), limited to GPU idle
    time, because queued work continues during the wait.
    """
    wait_us = min(profile.operations.get(_wait(profile), 0.0), profile.operations.get(_IDLE, 0.0))
    return wait_us / US_PER_MS if wait_us > WORTH_SHARE * profile.device_total_us else 0.0


def without_input_wait(profile: Profile, latency_ms: float | None) -> tuple[Profile, float | None]:
    """Profile and latency of the step without input wait."""
    wait_ms = input_wait_ms(profile)
    if not wait_ms:
        return profile, latency_ms
    waited = {name: profile.operations[name] - wait_ms * US_PER_MS for name in (_IDLE, _wait(profile))}
    left_ms = None if latency_ms is None else max(latency_ms - wait_ms, LEAST_LEFT * latency_ms)
    return replace(profile, operations={**profile.operations, **waited}), left_ms


def input_wait_warning(profile: Profile) -> str | None:
    """One sentence on the wait that predictions exclude; None if there is none."""
    wait_ms = input_wait_ms(profile)
    if not wait_ms:
        return None
    share = wait_ms * US_PER_MS / profile.device_total_us
    return (
        f"The GPU waits for input for {format_ms(wait_ms)} of the step ({share:.0%}). Predictions exclude this "
        "data-loading stall: another GPU does not shorten it."
    )
