"""A reference step: its profile, its prediction, and its recorded size."""

from __future__ import annotations

from dataclasses import dataclass, replace

from profet_core.errors import InputError
from profet_core.prediction.records import Prediction
from profet_core.profiles.record import Profile
from profet_core.units import whole_number

#: Range of sizes that steps can be scaled to and from.
BATCH_SIZES, PIXEL_SIZES = (1, 1024), (16, 1024)


@dataclass(frozen=True, slots=True)
class KnownStep:
    """One profiled step.

    Attributes
    ----------
    profile : with the number of steps used for the prediction.
    batch_size, pixels : recorded sizes; None: unknown.
    """

    profile: Profile
    prediction: Prediction
    batch_size: int | None = None
    pixels: int | None = None

    def check(self) -> None:
        """Raise InputError if steps can't be scaled from its size, beyond `BATCH_SIZES` or `PIXEL_SIZES`."""
        if self.batch_size is not None:
            check_batch(self.batch_size)
        if self.pixels is not None:
            check_pixels(self.pixels)

    def is_at(self, batch_size: int, pixels: int | None) -> bool:
        """Whether this is the step at these sizes; pixels None: any pixel size."""
        return self.batch_size == batch_size and (pixels is None or self.pixels == pixels)

    @property
    def sized_profile(self) -> Profile:
        """The profile with its known sizes."""
        meta = replace(self.profile.meta, batch_size=self.batch_size, pixels=self.pixels)
        return replace(self.profile, meta=meta)

    @property
    def words(self) -> str:
        """'batch 64' or 'batch 64, 224 pixels'."""
        pixels = "" if self.pixels is None else f", {self.pixels} pixels"
        return f"batch {self.batch_size}{pixels}"


def check_batch(batch_size: object) -> int:
    """Check a batch size that steps are scaled to."""
    return _check("The batch size", batch_size, BATCH_SIZES)


def check_pixels(pixels: object) -> int:
    """Check a pixel size that steps are scaled to."""
    return _check("The pixel size", pixels, PIXEL_SIZES)


def _check(name: str, value: object, between: tuple[int, int]) -> int:
    number = whole_number(name, value, at_least=0)
    if not between[0] <= number <= between[1]:
        raise InputError(f"{name} must be between {between[0]} and {between[1]}, not {number}.")
    return number
