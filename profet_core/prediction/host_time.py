"""What the host spends on a step's operations, where a profile tells all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.prediction.input_wait import waits_for_loader
from profet_core.profiles.record import HOST_IDLE, HOST_PREFIX, Profile
from profet_core.units import US_PER_MS

#: Rows of the host in which it waits: for the loader, and for copies to and from the GPU.
_WAITS = {HOST_IDLE, *(HOST_PREFIX + name for name in ("Dataset", "_Send", "_Recv", "_HostRecv"))}


def host_times_ms(profiles: Sequence[Profile]) -> np.ndarray:
    """Milliseconds a step, (profiles,); infinity where the profile does not tell.

    PyTorch's operations run on the host one after the other, so that their own times add up to what launching the step
    takes while it is profiled. TensorFlow's run on many threads, and few of them are recorded.
    """
    return np.array([_host_ms(profile) for profile in profiles])


def _host_ms(profile: Profile) -> float:
    if not waits_for_loader(profile):
        return np.inf
    total_us = sum(us for name, us in profile.operations.items() if name.startswith(HOST_PREFIX) and name not in _WAITS)
    return total_us / US_PER_MS if total_us > 0 else np.inf
