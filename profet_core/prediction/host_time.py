"""CPU time of a step's operations, if the profile records it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.prediction.input_wait import waits_for_loader
from profet_core.profiles.record import HOST_IDLE, HOST_PREFIX, Profile
from profet_core.units import US_PER_MS

#: Host rows that are waits: for the loader, and for copies to and from the GPU.
_WAITS = {HOST_IDLE, *(HOST_PREFIX + name for name in ("Dataset", "_Send", "_Recv", "_HostRecv"))}


def host_times_ms(profiles: Sequence[Profile]) -> np.ndarray:
    """CPU time in milliseconds per step, (profiles,).

    It is infinity if the profile doesn't indicate it.

    PyTorch runs its operations on the host one after the other, so their own times add up to the launch time of the
    step under the profiler. TensorFlow uses many threads and records few of them.
    """
    return np.array([_host_ms(profile) for profile in profiles])


def _host_ms(profile: Profile) -> float:
    if not waits_for_loader(profile):
        return np.inf
    total_us = sum(us for name, us in profile.operations.items() if name.startswith(HOST_PREFIX) and name not in _WAITS)
    return total_us / US_PER_MS if total_us > 0 else np.inf
