"""A network as the models see it, and the training that is asked about."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.units import whole_number

#: No training that anybody means has more.
MOST_IMAGES, MOST_EPOCHS = 1_000_000_000, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What one image, and the start of a training, ask of one thread.

    Attributes
    ----------
    forward_flops : of an image, a multiply-add counted as two.
    forward_operations, backward_operations : of an image, for model (a). They are operations of the published code, no
        FLOPs: see `profet_core.manycore.scaled`.
    preparation_operations : before the first image, for model (a).
    forward_s, backward_s, preparation_s : the same measured on one thread, for model (b).
    contention_s : memory contention an image at each of `PUBLISHED_THREADS`.
    """

    name: str
    forward_flops: float
    forward_operations: float
    backward_operations: float
    preparation_operations: float
    forward_s: float
    backward_s: float
    preparation_s: float
    contention_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Training:
    """A training: every epoch trains on all images, validates on them again, and tests.

    Raises
    ------
    InputError : a number is out of bounds; one line names it.
    """

    images: int
    test_images: int
    epochs: int

    def __post_init__(self) -> None:
        for name, value, fewest, most in (
            ("images", self.images, 1, MOST_IMAGES),
            ("test images", self.test_images, 0, MOST_IMAGES),
            ("epochs", self.epochs, 1, MOST_EPOCHS),
        ):
            check_whole(f"The number of {name}", value, fewest, most)


def check_whole(what: str, value: int, fewest: int, most: int) -> None:
    """Raise InputError unless `value` is a whole number within bounds; `what` opens its line."""
    if whole_number(what, value, at_least=fewest) > most:
        raise InputError(f"{what} must be at most {most:,}, not {value:,}.")
