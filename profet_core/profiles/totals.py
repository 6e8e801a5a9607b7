"""Makes a `Profile` of totals that a reader summed over a trace, refusing what can't be the times of a step."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping

from profet_core.errors import ProfileError
from profet_core.profiles.limits import MAX_OPERATION_US, check_operations
from profet_core.profiles.record import Profile, ProfileMeta, StepsBasis, running


def no_times() -> defaultdict[str, float]:
    """Sums of nothing yet: every name has 0."""
    return defaultdict(float)


#: Why a trace without operations, and a TPU's profile, are refused.
NO_OPERATION = "No operation was found in the trace: record a training step with the profiler running."
TPU = "This profile was recorded on a TPU, and the models support GPUs only: record the step on a GPU."
#: A TPU's planes and processes, and operations that nothing else runs.
TPU_PREFIX = "/device:TPU"
_TPU = re.compile(r"(Host|Device)_(_?TPU|infeed|outfeed)", re.IGNORECASE)


def profile_from_totals(
    totals_us: Mapping[str, float],
    *,
    source_format: str,
    steps: int = 1,
    steps_basis: StepsBasis = "assumed",
    meta: ProfileMeta | None = None,
    ignored: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    refusal: str = "",
    may_be_cut: bool = True,
) -> Profile:
    """The profile of one mean step.

    Parameters
    ----------
    totals_us : operation name ("Device_Conv2D") -> microseconds over all `steps`.

    The others are `Profile`'s attributes.

    Raises
    ------
    ProfileError : no operation, too many, or times that no step takes.
    """
    if not totals_us:
        raise ProfileError(NO_OPERATION)
    check_operations(len(totals_us))
    if any(map(_TPU.match, totals_us)):
        raise ProfileError(TPU)
    means_us = {name: total_us / steps for name, total_us in totals_us.items()}
    for name, mean_us in means_us.items():
        if not math.isfinite(mean_us) or not 0 <= mean_us <= MAX_OPERATION_US:
            raise ProfileError(f"{name} adds up to an implausible time: record the profile again.")
    return running(
        Profile(
            operations=means_us,
            meta=meta or ProfileMeta(),
            source_format=source_format,
            ignored=ignored,
            steps=steps,
            warnings=warnings,
            steps_basis=steps_basis,
            refusal=refusal,
            may_be_cut=may_be_cut,
        )
    )
