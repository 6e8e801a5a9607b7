"""What advice is asked for: a training, its deadline and budget, and how surely they must be kept to."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.cost import MEASURED_EPOCH_FACTOR, epoch_steps
from profet_core.errors import InputError
from profet_core.latency import LEVEL
from profet_core.units import S_PER_HOUR, positive_number, whole_number

#: A limit counts as kept where the chance of it is at least this, unless the user asks for another certainty.
CERTAINTY = 0.90


@dataclass(frozen=True, slots=True)
class Workload:
    """A training: images an epoch (the last, smaller batch is a step), validation images an epoch, epochs.

    Attributes
    ----------
    with_loading : count what measured epochs took beyond their steps, for loading data and start-up
        (`MEASURED_EPOCH_FACTOR`).
    """

    images: int
    batch_size: int
    epochs: int = 1
    validation_images: int = 0
    with_loading: bool = False

    @property
    def steps(self) -> float:
        """Training steps that it takes as long as. Raises InputError for a count that is not a positive number."""
        epochs = whole_number("The number of epochs", self.epochs)
        return epochs * epoch_steps(self.images, self.batch_size, self.validation_images)

    @property
    def loading_factors(self) -> tuple[float, float, float]:
        """What the steps' time is multiplied by: lowest, middle, highest; all 1 without loading.

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
    """What the user has, None where there is no such limit, and how surely it must do.

    Attributes
    ----------
    deadline_h : hours until the deadline. budget_usd : US dollars.
    certainty : chance with which the limits must be kept to, 0.5 to 1.

    Raises
    ------
    InputError : a limit that is not a positive number, a certainty out of range.
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
    """The training, its limits, and the level of the step latencies' intervals, 0 to 1."""

    workload: Workload
    limits: Limits
    interval_level: float = LEVEL
