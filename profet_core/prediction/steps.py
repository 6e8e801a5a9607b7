"""Infer the number of profiled steps from the step latency."""

from __future__ import annotations

from profet_core.errors import InputError
from profet_core.profiles.limits import MAX_STEPS
from profet_core.profiles.record import Profile
from profet_core.units import US_PER_MS, whole_number

#: Device rows of one step, including idle, over its latency in the 11,052 PROFET profiles: the median, and the range
#: without 1% on either side. The profiler's overhead gives ratios above
#: 1, most in small steps; truncated profiles are far below.
TYPICAL_RATIO = 1.054
USUAL_RATIOS = 0.745, 1.96
#: The maximum ratio. A number stated in the file is questioned only beyond it.
LARGEST_RATIO = 3.02
#: More steps than this are rarely recorded: a latency in another unit is more likely.
MOST_LIKELY_STEPS = 200


def suggested_steps(profile: Profile, latency_ms: float) -> int:
    """Number of steps that fits the latency: the profile's own if plausible, else the most likely.

    Parameters
    ----------
    latency_ms : of one step, without the profiler, milliseconds.
    """
    low, high = USUAL_RATIOS
    one_step = profile.device_total_us * profile.steps / US_PER_MS / latency_ms
    if not one_step or low <= one_step / profile.steps <= high:
        return profile.steps
    likeliest = max(1, round(one_step / TYPICAL_RATIO))
    return likeliest if likeliest <= MOST_LIKELY_STEPS else profile.steps


def counted(profile: Profile, latency_ms: float | None) -> Profile:
    """`profile` with its steps inferred from the latency, if their number is unknown and the latency is given."""
    if profile.steps_basis != "assumed" or latency_ms is None:
        return profile
    steps = suggested_steps(profile, latency_ms)
    read = profile.with_steps(steps, "inferred")
    low, high = USUAL_RATIOS
    return read if low <= read.device_total_us / US_PER_MS / latency_ms <= high else profile


def doubted_steps(profile: Profile, latency_ms: float) -> int | None:
    """Number of steps that fits the latency, if a user gave the profile's own number and it doesn't fit."""
    if profile.steps_basis not in ("given", "stated"):
        return None
    ratio = profile.device_total_us / US_PER_MS / latency_ms
    if profile.steps_basis == "stated" and USUAL_RATIOS[0] <= ratio <= LARGEST_RATIO:
        return None
    suggested = suggested_steps(profile, latency_ms)
    return None if suggested == profile.steps else suggested


def read_as(profile: Profile, steps: int | None) -> Profile:
    """`profile` with the given number of steps; unchanged if None.

    Raises
    ------
    InputError : not a whole number from 1 to `MAX_STEPS`.
    """
    if steps is None:
        return profile
    number = whole_number("The number of steps", steps)
    if number > MAX_STEPS:
        raise InputError(f"The number of steps must be at most {MAX_STEPS:,}.")
    return profile.with_steps(number, "given")


def steps_note(profile: Profile) -> str | None:
    """Caveat on the number of steps if the file doesn't contain it; else None."""
    count = "one step" if profile.steps == 1 else f"{profile.steps} steps"
    if profile.steps_basis == "inferred":
        return f"The file does not include its number of steps; its times and the latency match {count}."
    if profile.steps_basis == "assumed":
        recipe = " (PROFET's recorder profiles two)" if profile.steps == 2 else ""
        return (
            f"The file does not include its number of steps: {count} assumed{recipe}. Give the number if that is wrong."
        )
    return None
