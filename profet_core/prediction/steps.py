"""How many training steps a profile's file covers, where it does not hold the number: from the step's latency."""

from __future__ import annotations

from profet_core.errors import InputError
from profet_core.profiles.limits import MAX_STEPS
from profet_core.profiles.record import Profile
from profet_core.units import US_PER_MS, whole_number

#: Device rows of one step, idle included, over its latency in the 11,052 PROFET profiles: the median, and the range
#: that all but 1% on either side lie in. Above 1 is the profiler's own
#: cost, which small steps feel most; far below lie profiles that were cut.
TYPICAL_RATIO = 1.054
USUAL_RATIOS = 0.745, 1.96
#: The largest of all. A number that the file itself states is questioned beyond it only.
LARGEST_RATIO = 3.02
#: More steps than this are hardly ever recorded: a latency typed in another unit is likelier.
MOST_LIKELY_STEPS = 200


def suggested_steps(profile: Profile, latency_ms: float) -> int:
    """The number of steps that fits the latency: the profile's own if that is usual, else the likeliest.

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
    """`profile` with its steps inferred from the latency, if nothing else is known of them and the latency is."""
    if profile.steps_basis != "assumed" or latency_ms is None:
        return profile
    steps = suggested_steps(profile, latency_ms)
    read = profile.with_steps(steps, "inferred")
    low, high = USUAL_RATIOS
    return read if low <= read.device_total_us / US_PER_MS / latency_ms <= high else profile


def doubted_steps(profile: Profile, latency_ms: float) -> int | None:
    """Another number of steps that would fit the latency, where the profile's own came from a person and does not."""
    if profile.steps_basis not in ("given", "stated"):
        return None
    ratio = profile.device_total_us / US_PER_MS / latency_ms
    if profile.steps_basis == "stated" and USUAL_RATIOS[0] <= ratio <= LARGEST_RATIO:
        return None
    suggested = suggested_steps(profile, latency_ms)
    return None if suggested == profile.steps else suggested


def read_as(profile: Profile, steps: int | None) -> Profile:
    """`profile` with the number of steps that somebody gave; as it is if None.

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
    """A caveat on the number of steps where the file does not hold it; None if it does."""
    count = "one step" if profile.steps == 1 else f"{profile.steps} steps"
    if profile.steps_basis == "inferred":
        return f"The file does not include its number of steps; its times and the latency match {count}."
    if profile.steps_basis == "assumed":
        recipe = " (PROFET's recorder profiles two)" if profile.steps == 2 else ""
        return (
            f"The file does not include its number of steps: {count} assumed{recipe}. Give the number if that is wrong."
        )
    return None
