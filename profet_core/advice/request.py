"""Advice request: a training, its limits, and the required confidence."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.cost import MEASURED_EPOCH_FACTOR, epoch_steps
from profet_core.errors import InputError
from profet_core.latency import LEVEL
from profet_core.units import S_PER_HOUR, positive_number, whole_number

#: A limit counts as met if its probability is at least this, unless the user asks for another confidence.
CERTAINTY = 0.90


@dataclass(frozen=True, slots=True)
class Workload:
    """Training images and validation images per epoch, and epochs.

    The last, smaller batch is a step.

    Attributes
    ----------
    with_loading : add the time that measured epochs took beyond their steps, for data loading and start-up
        (`MEASURED_EPOCH_FACTOR`).
    """

    images: int
    batch_size: int
    epochs: int = 1
    validation_images: int = 0
    with_loading: bool = False

    @property
    def steps(self) -> float:
        """Number of training steps with the same total duration. Raises InputError for counts that aren't positive."""
        epochs = whole_number("The number of epochs", self.epochs)
        return epochs * epoch_steps(self.images, self.batch_size, self.validation_images)

    @property
    def loading_factors(self) -> tuple[float, float, float]:
        """Factors on the steps' time: lowest, middle, highest; all 1 without loading.

        >>> Workload(1, 1).loading_factors
        (1.0, 1.0, 1.0)
        >>> [round(factor, 3) for factor in Workload(1, 1, with_loading=True).loading_factors]
        [1.06, 1.075, 1.09]
        """
        if not self.with_loading:
            return 1.0, 1.0, 1.0
        low, high = MEASURED_EPOCH_FACTOR
        return low, (low + high) / 2, high


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the user, each None if absent, and the required confidence.

    Attributes
    ----------
    deadline_h : hours until the deadline. budget_usd : US dollars.
    certainty : probability with which the limits must be met, 0.5 to 1.

    Raises
    ------
    InputError : a limit is not a positive number, or a certainty is out of range.
    """

    deadline_h: float | None = None
    budget_usd: float | None = None
    certainty: float = CERTAINTY

    def __post_init__(self) -> None:
        if self.deadline_h is not None:
            positive_number("The deadline in hours", self.deadline_h)
        if self.budget_usd is not None:
            positive_number("The budget in US dollars", self.budget_usd)
        if not 0.5 <= self.certainty < 1:
            raise InputError(
                f"The certainty must be at least 0.5 and less than 1, such as 0.9, not {self.certainty:g}."
            )

    @property
    def deadline_s(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline_h is None else self.deadline_h * S_PER_HOUR


@dataclass(frozen=True, slots=True)
class Request:
    """A training, its limits, and the level of the step latencies' intervals, 0 to 1."""

    workload: Workload
    limits: Limits
    interval_level: float = LEVEL
