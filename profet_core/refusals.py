"""What a profile must hold before a latency is predicted from it: no number is better than one on sand."""

from __future__ import annotations

from profet_core.errors import NoPredictionError
from profet_core.profiles.record import NO_DEVICE, Profile

#: Above this share of the GPU's busy time without an operation nothing is predicted; above the second it is said, and
#: the interval is wider.
MOST_UNKNOWN_SHARE, WARNED_UNKNOWN_SHARE = 0.20, 0.05


def refusal(profile: Profile) -> str:
    """Why no latency can be predicted from `profile`, and what to do: one line; empty if one can."""
    if profile.refusal:
        return profile.refusal
    if profile.device_busy_us <= 0:
        return NO_DEVICE
    if profile.meta.compiled and "torch" not in (profile.meta.framework or "").lower():
        return (
            "XLA joined this step's operations into kernels of its own, and the models know single operations: "
            "record it again with jit_compile=False."
        )
    if profile.unknown_share > MOST_UNKNOWN_SHARE:
        return (
            f"{profile.unknown_share:.0%} of the GPU's time belongs to no operation that the profile names: record it "
            "again with the host's operations too, without XLA, torch.compile or CUDA graphs."
        )
    return ""


def check_predictable(profile: Profile) -> None:
    """Refuse a profile that no latency can be predicted from.

    Raises
    ------
    NoPredictionError : with the reason and what to do.
    """
    if reason := refusal(profile):
        raise NoPredictionError(reason)
