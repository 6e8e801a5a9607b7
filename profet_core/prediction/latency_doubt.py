"""Check an anchor latency for plausibility against the profile."""

from __future__ import annotations

from profet_core.artifacts.models import Models
from profet_core.errors import LatencyDoubtError
from profet_core.prediction.steps import LARGEST_RATIO, doubted_steps
from profet_core.profiles.record import Profile
from profet_core.units import MS_PER_UNIT, US_PER_MS, format_ms, format_significant

#: Factor beyond the training range of latency over device total at which a latency needs confirmation.
RANGE_FACTOR = 3.0


def check_latency(models: Models, profile: Profile, anchor: str, latency_ms: float) -> None:
    """Raise if a latency contradicts the profile.

    A profile's device rows, including idle, add up to about the step. In the training data the ratio has a narrow
    range. Beyond `RANGE_FACTOR` times that range, the latency probably has another unit or belongs to another profile.
    Two cases are rejected at a smaller deviation: a user-supplied number of steps that doesn't fit, and a latency well
    below the device rows of a whole trace, whose step stalled while it was recorded.

    Raises
    ------
    LatencyDoubtError : with the unit or the number of steps that would be plausible, if there is one.
    """
    device_ms = profile.device_total_us / US_PER_MS
    if device_ms == 0:
        return
    low, high = models.ranges[anchor].latency_per_device_total
    plausible_ms = (device_ms * low / RANGE_FACTOR, device_ms * high * RANGE_FACTOR)
    steps = doubted_steps(profile, latency_ms)
    fits = plausible_ms[0] <= latency_ms <= plausible_ms[1]
    stalled = not profile.may_be_cut and device_ms > LARGEST_RATIO * latency_ms
    if steps is None and fits and not stalled:
        return
    unit = _fitting_unit(latency_ms, plausible_ms) if steps is None and not fits else None
    suggested_ms = latency_ms * MS_PER_UNIT[unit] if unit else None
    expected_ms = device_ms * models.ranges[anchor].median_latency_per_device_total
    raise LatencyDoubtError(
        f"A latency of {format_ms(latency_ms)} doesn't fit this profile, which{_read_as(profile, steps)} suggests "
        f"about {format_ms(expected_ms)}: {_hint(profile, latency_ms, unit, steps)}",
        latency_ms=latency_ms,
        expected_ms=expected_ms,
        suggested_ms=suggested_ms,
        suggested_unit=unit,
        suggested_steps=steps,
    )


def _fitting_unit(latency_ms: float, plausible_ms: tuple[float, float]) -> str | None:
    """Unit in which the number would be plausible; None if there is none."""
    low_ms, high_ms = plausible_ms
    fitting = (unit for unit, factor in MS_PER_UNIT.items() if low_ms <= latency_ms * factor <= high_ms)
    return next(fitting, None)


def _read_as(profile: Profile, steps: int | None) -> str:
    if steps is None:
        return ""
    return " as one step" if profile.steps == 1 else f" as {profile.steps} steps"


def _hint(profile: Profile, latency_ms: float, unit: str | None, steps: int | None) -> str:
    if unit:
        suggested = format_ms(latency_ms * MS_PER_UNIT[unit])
        return f"did you mean {format_significant(latency_ms)} {unit} ({suggested})?"
    if steps is not None:
        return f"does the file cover {steps} step{'s' if steps > 1 else ''}?"
    idle_ms = (profile.device_total_us - profile.device_busy_us) / US_PER_MS
    if idle_ms > latency_ms:
        return f"its GPU is idle for {format_ms(idle_ms)} per step. Record a step that doesn't stall, or check it."
    return "check it."
