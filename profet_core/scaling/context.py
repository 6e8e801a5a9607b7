"""Optional context for scaling between two endpoint latencies."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.profiles import Profile
from profet_core.profiles.record import DEVICE_IDLE, DEVICE_PREFIX
from profet_core.scaling.axes import AXIS_RANGE
from profet_core.units import whole_number

#: Operations of a network's head: its dense layers, and the plain gradient step over all parameters, most of which are
#: in the dense layers of the measured networks.
HEAD_OPERATIONS = ("Device_MatMul", "Device_ResourceApplyGradientDescent")


@dataclass(frozen=True, slots=True)
class ScaleContext:
    """Inputs of a curve besides both endpoint latencies; each may be None.

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
