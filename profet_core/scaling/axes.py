"""Batch and pixel axes of scaling, with the measured sizes on each."""

from __future__ import annotations

from profet_core.errors import InputError
from profet_core.units import positive_number, whole_number

#: The sizes measured along each axis.
KNOTS = {"batch": (16, 32, 64, 128, 256), "pixels": (32, 64, 128, 224, 256)}
#: Measured sizes of each axis, without the endpoints.
INNER_KNOTS = 3
#: Smallest and largest size of each axis in the training data.
AXIS_RANGE = {axis: (sizes[0], sizes[-1]) for axis, sizes in KNOTS.items()}


def axis_range(axis: str) -> tuple[int, int]:
    """Minimum and maximum size of an axis; InputError for any other than "batch" and "pixels"."""
    if axis not in AXIS_RANGE:
        raise InputError(f"Unknown axis {axis!r}: use batch or pixels.")
    return AXIS_RANGE[axis]


def check_size(axis: str, size: object) -> int:
    """`size` as an int within the axis range; InputError for anything else."""
    smallest, largest = axis_range(axis)
    number = whole_number(f"The {axis} size", size, at_least=0)
    if not smallest <= number <= largest:
        raise InputError(f"The {axis} size must be between {smallest} and {largest}, not {number}.")
    return number


def check_ends(axis: str, min_ms: float, max_ms: float) -> tuple[float, float]:
    """Both endpoint latencies, milliseconds; InputError unless they are positive and increasing."""
    smallest, largest = axis_range(axis)
    low = positive_number(f"The latency at {axis} {smallest}", min_ms)
    high = positive_number(f"The latency at {axis} {largest}", max_ms)
    if high <= low:
        raise InputError(
            f"The latency at {axis} {largest} ({high:g} ms) must be above the latency at {axis} {smallest} "
            f"({low:g} ms)."
        )
    return low, high
