"""What a training costs beyond its steps: interruptions of spot machines, start-up, and storage of the data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType

from profet_core.errors import InputError
from profet_core.units import S_PER_HOUR, positive_number

#: Hours of a month on average, in which storage is paid and AWS counts interruptions.
HOURS_PER_MONTH = 730.0
_S_PER_MIN = 60.0
#: AWS's five published bands of the share of spot machines that are interrupted in a month -> the share that is taken:
#: the middle of the band, and 25% for the open one.
INTERRUPTION_BANDS: Mapping[str, float] = MappingProxyType(
    {"0-5%": 0.025, "5-10%": 0.075, "10-15%": 0.125, "15-20%": 0.175, "20%+": 0.25}
)
#: Share of trainings below and above the range of the time that interruptions cost.
_TAIL = 0.05


def interruptions_per_h(text: str) -> float:
    """Rate of a band of AWS, or of a number of interruptions per day; InputError for any other text.

    >>> round(interruptions_per_h("2.4"), 6), round(interruptions_per_h("5-10%"), 6)
    (0.1, 0.000107)
    """
    band = text.replace(" ", "").replace("–", "-")
    band = {"<5%": "0-5%", ">20%": "20%+"}.get(band, band)
    if band in INTERRUPTION_BANDS:
        return -math.log1p(-INTERRUPTION_BANDS[band]) / HOURS_PER_MONTH
    try:
        return positive_number("The number of interruptions per day", float(text)) / 24
    except ValueError:
        bands = ", ".join(INTERRUPTION_BANDS)
        raise InputError(f"Interruptions are a number per day, or one of AWS's bands {bands}, not {text!r}.") from None


@dataclass(frozen=True, slots=True)
class Interruptions:
    """Interruptions of a spot machine, at random; work since the last checkpoint is lost, and a restart takes a while.

    Attributes
    ----------
    per_h : interruptions per hour of running.
    checkpoint_s, restart_s : seconds between checkpoints, and until training goes on after an interruption.
    """

    per_h: float
    checkpoint_s: float
    restart_s: float

    def lost(self, work_s: float) -> LostTime:
        """Time that interruptions add to a training of `work_s` seconds.

        At `r` interruptions per second, a stretch of `c` seconds between checkpoints succeeds with probability
        exp(-r c), so it is interrupted exp(r c) - 1 times on average. Each time costs the seconds since the checkpoint,
        which are exponential and less than `c`, and the restart.
        """
        rate, stretch_s = self.per_h / S_PER_HOUR, min(self.checkpoint_s, work_s)
        expected = rate * stretch_s
        if expected > _MAX_PER_STRETCH:
            raise InputError("Interruptions come faster than checkpoints: the training would not end.")
        failures = math.expm1(expected)
        mean_s = 1 / rate - stretch_s / failures
        square = 2 / rate**2 - (stretch_s**2 + 2 * stretch_s / rate) / failures
        return LostTime(
            stretches=work_s / stretch_s,
            per_stretch=failures,
            each_s=mean_s + self.restart_s,
            each_sd_s=math.sqrt(max(square - mean_s**2, 0.0)),
        )


#: Interruptions per stretch between checkpoints beyond which a training takes e**5 times as long.
_MAX_PER_STRETCH = 5.0
#: From so many interruptions on, their sum is normal.
_MANY = 200.0


@dataclass(frozen=True, slots=True)
class LostTime:
    """Time that interruptions take.

    Attributes
    ----------
    stretches : between checkpoints. per_stretch : expected interruptions of each until it succeeds.
    each_s, each_sd_s : mean and standard deviation of the seconds that each interruption takes.
    """

    stretches: float
    per_stretch: float
    each_s: float
    each_sd_s: float

    @property
    def interruptions(self) -> float:
        """Expected number of all."""
        return self.stretches * self.per_stretch

    @property
    def seconds(self) -> float:
        """Expected seconds of all."""
        return self.interruptions * self.each_s

    @property
    def range_s(self) -> tuple[float, float]:
        """Their 90% range, for a negative binomial number of interruptions whose sum is normal."""
        return self._quantile(_TAIL), self._quantile(1 - _TAIL)

    def _quantile(self, share: float) -> float:
        if self.interruptions > _MANY:
            sd_s = math.sqrt(self.interruptions * (self.each_sd_s**2 + (1 + self.per_stretch) * self.each_s**2))
            return NormalDist(self.seconds, sd_s).inv_cdf(share)
        most = int(self.interruptions + 12 * math.sqrt(self.interruptions * (1 + self.per_stretch)) + 12)
        low_s, high_s = 0.0, most * (self.each_s + self.each_sd_s)
        if self._below(0.0, most) >= share:
            return 0.0
        for _ in range(40):
            middle_s = (low_s + high_s) / 2
            low_s, high_s = (middle_s, high_s) if self._below(middle_s, most) < share else (low_s, middle_s)
        return high_s

    def _below(self, seconds: float, most: int) -> float:
        """Probability that all take at most so long."""
        chance = found = math.pow(1 + self.per_stretch, -self.stretches)
        for count in range(1, most):
            # A stretch's number is geometric; that of all is negative binomial.
            chance *= (self.stretches + count - 1) / count * self.per_stretch / (1 + self.per_stretch)
            found += chance * NormalDist(count * self.each_s, self.each_sd_s * math.sqrt(count)).cdf(seconds)
        return found


@dataclass(frozen=True, slots=True)
class Extras:
    """Costs beside the steps; 0 or None: not counted.

    Attributes
    ----------
    start_up_s : seconds before the first step, on each machine that is rented.
    dataset_gib, usd_per_gib_month : data set stored while it trains.
    interruptions : of spot machines.
    """

    start_up_s: float = 0.0
    dataset_gib: float = 0.0
    usd_per_gib_month: float = 0.0
    interruptions: Interruptions | None = None


NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Seconds and US dollars of a training with all that it costs."""

    training_usd: float
    interruptions_usd: float
    start_up_usd: float
    storage_usd: float
    total_s: float

    @property
    def total_usd(self) -> float:
        """US dollars of all parts."""
        return self.training_usd + self.interruptions_usd + self.start_up_usd + self.storage_usd


def extras_of(
    start_up_minutes: float | None,
    dataset_gib: float | None,
    usd_per_gib_month: float | None,
    interruptions: Interruptions | None,
) -> Extras:
    """Check what is given; InputError for a number that isn't positive, or a data set without its price."""
    if (dataset_gib is None) != (usd_per_gib_month is None):
        raise InputError(
            "Storage takes the size of the data set and its price: give {dataset_gib} and {storage_usd_per_gib_month}.",
            "dataset_gib",
            "storage_usd_per_gib_month",
        )
    start_up_s = 0.0 if start_up_minutes is None else _S_PER_MIN * positive_number("The start-up", start_up_minutes)
    size_gib = 0.0 if dataset_gib is None else positive_number("The size of the data set", dataset_gib)
    price = 0.0 if usd_per_gib_month is None else positive_number("The price of storage", usd_per_gib_month)
    return Extras(start_up_s, size_gib, price, interruptions)
