"""Batch and pixel size: the sizes measured on each axis, and optional inputs of a curve."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.units import positive_number, whole_number
from profet_recorder.profiles import Profile
from profet_recorder.profiles.record import DEVICE_IDLE, DEVICE_PREFIX

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


#: Largest image size, and the step of sizes beyond the training data; detection and segmentation train there.
LARGEST_PIXELS, _LARGE_STEP = 1280, 32


def sizes_for(axis: str, recorded: int) -> list[int]:
    """Sizes to choose from for a profile, its own among them; larger images only where the profile's are larger.

    >>> sizes_for("pixels", 224)[-1], sizes_for("pixels", 640)[-1], sizes_for("batch", 512)[-2:]
    (256, 1280, [256, 512])
    """
    smallest, largest = axis_range(axis)
    larger = range(largest, LARGEST_PIXELS + 1, _LARGE_STEP) if axis == "pixels" and recorded > largest else ()
    return sorted({*range(smallest, largest + 1), *larger, recorded})


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


#: Operations of a network's head: its dense layers, and the plain gradient step over all parameters, most of which are
#: in the dense layers of the measured networks.
HEAD_OPERATIONS = ("Device_MatMul", "Device_ResourceApplyGradientDescent")


@dataclass(frozen=True, slots=True)
class ScaleContext:
    """Optional inputs of a curve, which has both endpoint latencies; each may be None.

    Attributes
    ----------
    other_size : size on the fixed axis: pixels along "batch" (which uses it), batch size along "pixels" (which
        doesn't).
    head_share : `head_share` of a profile at the axis' largest size, on any GPU, 0 to 1; used along "pixels" only.
    fixed_classes : the network keeps its number of classes at every pixel size. In the measurements the classes grow
        with the pixels (32: 10; 64 and 128: 100; 224 and 256: 1000), and so does the head. With a fixed number of
        classes the head scales like the rest. Used along "pixels" only.

    Raises
    ------
    InputError : a size that is not a positive whole number, or a share outside 0..1.
    """

    other_size: int | None = None
    head_share: float | None = None
    fixed_classes: bool = False

    def __post_init__(self) -> None:
        if self.other_size is not None:
            whole_number("The size on the other axis", self.other_size, at_least=1)
        if self.head_share is not None and not 0 <= self.head_share <= 1:
            raise InputError(f"The head's share must be between 0 and 1, not {self.head_share}.")


def head_share(profile: Profile) -> float | None:
    """Share of the head's operations in the device's busy time, 0 to 1; None without device work."""
    busy_us = sum(
        us for name, us in profile.operations.items() if name.startswith(DEVICE_PREFIX) and name != DEVICE_IDLE
    )
    if busy_us <= 0:
        return None
    head_us = sum(profile.operations.get(name, 0.0) for name in HEAD_OPERATIONS)
    return min(head_us / busy_us, 1.0)


def scale_context(axis: str, largest: Profile, *, fixed_classes: bool = False) -> ScaleContext:
    """Context from a profile at the largest size of `axis` ("batch" or "pixels").

    Raises
    ------
    InputError : its meta contains another size.
    """
    batch_size, pixels = largest.meta.batch_size, largest.meta.pixels
    recorded, other_size = (batch_size, pixels) if axis == "batch" else (pixels, batch_size)
    wanted = AXIS_RANGE[axis][1]
    if recorded not in (None, wanted):
        raise InputError(f"The profile at the largest size must be recorded at {axis} {wanted}, not {recorded}.")
    return ScaleContext(other_size, head_share(largest), fixed_classes)
