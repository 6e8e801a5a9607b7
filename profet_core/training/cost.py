"""Time, cost and energy of a training: steps, epochs, interruptions of spot machines, start-up and storage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import CUSTOM_PROVIDER, Instance
from profet_core.catalog.tables import cells_of, check_numbers, read_records
from profet_core.errors import InputError
from profet_core.latency import FloatArray, Values
from profet_core.shipped import shipped_text
from profet_profiles.units import MS_PER_S, S_PER_HOUR, positive_number, whole_number

#: Hours of a month on average, in which storage is paid and AWS counts interruptions.
HOURS_PER_MONTH = 730.0
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


class Interruptions(Struct, frozen=True):
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
            raise InputError(
                "Interruptions come faster than checkpoints, so the training would not end: give fewer "
                "{checkpoint_minutes}.",
                "checkpoint_minutes",
            )
        failures = math.expm1(expected)
        if expected < _FEW_PER_STRETCH:
            # The differences below would cancel: the first terms of their series, nearly a uniform distribution.
            mean, variance = 1 / 2 - expected / 12, 1 / 12 - expected**2 / 240
        else:
            mean = 1 / expected - 1 / failures
            variance = 1 / expected**2 - (1 + failures) / failures**2
        return LostTime(
            stretches=work_s / stretch_s,
            per_stretch=failures,
            each_s=mean * stretch_s + self.restart_s,
            each_sd_s=math.sqrt(variance) * stretch_s,
        )


#: Interruptions per stretch between checkpoints beyond which a training takes e**5 times as long.
_MAX_PER_STRETCH = 5.0
#: Below it the series are the more precise ones.
_FEW_PER_STRETCH = 0.01
#: From so many interruptions on, their sum is normal.
_MANY = 200.0


class LostTime(Struct, frozen=True):
    """Time that interruptions take.

    Attributes
    ----------
    stretches : between checkpoints.
    per_stretch : expected interruptions of each until it succeeds.
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
        """Their 90% range, for a negative binomial number of interruptions whose sum is normal.

        Where more than 95% of trainings have no interruption it reaches up to the expected seconds.
        """
        return self._quantile(_TAIL), max(self._quantile(1 - _TAIL), self.seconds)

    def _quantile(self, share: float) -> float:
        if self.interruptions > _MANY:
            sd_s = math.sqrt(self.interruptions * (self.each_sd_s**2 + (1 + self.per_stretch) * self.each_s**2))
            # Late: commands start without it.
            from statistics import NormalDist

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
        chance = total = math.pow(1 + self.per_stretch, -self.stretches)
        for count in range(1, most):
            # A stretch's number is geometric; that of all is negative binomial.
            chance *= (self.stretches + count - 1) / count * self.per_stretch / (1 + self.per_stretch)
            deviations = (seconds - count * self.each_s) / (self.each_sd_s * math.sqrt(count))
            total += chance * (1 + math.erf(deviations / math.sqrt(2))) / 2
        return total


class Extras(Struct, frozen=True):
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

    def costs_usd(self, usd_per_h: float, total_s: float) -> dict[str, float]:
        """Component -> its US dollars on one machine that costs `usd_per_h` and is rented for `total_s`."""
        hours = total_s / S_PER_HOUR
        return {
            "start_up": self.start_up_s / S_PER_HOUR * usd_per_h,
            "storage": self.dataset_gib * self.usd_per_gib_month * hours / HOURS_PER_MONTH,
        }


NO_EXTRAS = Extras()


class Breakdown(Struct, frozen=True):
    """Seconds and US dollars of a training with all that it costs; `parts_usd` by component, the steps first."""

    parts_usd: Mapping[str, float]
    total_s: float

    @property
    def total_usd(self) -> float:
        """US dollars of all parts."""
        return sum(self.parts_usd.values())

    @property
    def document(self) -> dict[str, float]:
        """All parts and totals by their keys in JSON."""
        parts_usd = {f"{name}_usd": usd for name, usd in self.parts_usd.items()}
        return {**parts_usd, "total_usd": self.total_usd, "total_s": self.total_s}


#: A validation step runs forward only. The backward pass takes about two thirds of a training step (two backward
#: convolutions per forward convolution), so a validation step counts as one third.
VALIDATION_STEP_SHARE = 1 / 3

#: Measured epochs of the training data take this factor times steps x latency: median over all 11,052 runs.
#: `tests/lab/test_measurements.py` recomputes it.
MEASURED_EPOCH_FACTOR = (1.06, 1.09)


def steps_per_epoch(images: int, batch_size: int) -> int:
    """Return the number of steps in one pass over `images` at `batch_size`; the last may be smaller.

    >>> steps_per_epoch(images=130, batch_size=64)
    3
    """
    images = whole_number("The number of images", images)
    return -(-images // whole_number("The batch size", batch_size))


#: Images per second that one vCPU decodes from JPEG, crops to 224 pixels and flips. Published: tensorpack's ImageNet
#: benchmark (github.com/tensorpack/benchmarks) reads 11,000 images/s with tf.data, and 5,600 in Python with color
#: changes too, on a DGX-1, whose two 20-core processors run 80 threads: 138 and 70 per vCPU. `profet collect --loading`
#: measured 229 (tf.data) and 75 (PyTorch) on two busy vCPUs; it measures your images on your machine.
JPEG_IMAGES_PER_S_PER_VCPU = 120


#: No training that anybody means has more.
MAX_IMAGES, MAX_EPOCHS, MAX_RUNS = 1_000_000_000, 1_000_000, 10_000
#: No network has more parameters.
MAX_PARAMETERS = 1e12


class Workload(Struct, frozen=True, dict=True):
    """Training images and validation images per epoch, and epochs; the last, smaller batch is a step.

    Attributes
    ----------
    with_loading : add the time that measured epochs took beyond their steps, for data loading and start-up
        (`MEASURED_EPOCH_FACTOR`). It is not added if the rate of loading is known.
    images_per_s_per_vcpu : images that one vCPU prepares per second; None: the GPU never waits for them.
    runs : number of such trainings.
    at_once : each on a machine of its own, instead of in turn on one.
    extras : costs beside the steps, which `Plan.breakdown` has.
    """

    images: int
    batch_size: int
    epochs: int = 1
    validation_images: int = 0
    with_loading: bool = False
    images_per_s_per_vcpu: float | None = None
    runs: int = 1
    at_once: bool = False
    extras: Extras = NO_EXTRAS

    def steps(self, batch_size: Values = None) -> tuple[Values, Values]:
        """Training and validation steps of one run; `batch_size` if it is another one, or one for each row.

        Raises InputError for counts that aren't positive.
        """
        epochs, per_step = whole_number("The number of epochs", self.epochs), self.batch_size
        training = steps_per_epoch(self.images, per_step)
        validation = steps_per_epoch(self.validation_images, per_step) if self.validation_images else 0
        if batch_size is not None:
            training, validation = -(-self.images // batch_size), -(-self.validation_images // batch_size)
        return epochs * training, epochs * validation

    @cached_property
    def machines(self) -> int:
        """Machines that are rented."""
        runs = whole_number("The number of runs", self.runs)
        return runs if self.at_once else 1

    @cached_property
    def turns(self) -> int:
        """Runs that one machine trains."""
        return self.runs // self.machines

    @property
    def factors(self) -> tuple[float, float]:
        """Least and most by which measured epochs exceed their steps."""
        return MEASURED_EPOCH_FACTOR if self.with_loading and self.images_per_s_per_vcpu is None else (1.0, 1.0)

    def loading_ms(self, vcpus: Sequence[int | None], batch_size: Values) -> FloatArray:
        """Milliseconds in which these numbers of vCPUs prepare one step's images; 0 if one of both is unknown."""
        if self.images_per_s_per_vcpu is None:
            return np.zeros(len(vcpus))
        rate = positive_number("The number of images per second per vCPU", self.images_per_s_per_vcpu)
        images_per_s = rate * np.array([count or 0 for count in vcpus], float)
        times_ms: FloatArray = np.divide(
            MS_PER_S * batch_size, images_per_s, out=np.zeros(len(vcpus)), where=images_per_s > 0
        )
        return times_ms

    def duration_s(self, step_ms: Values, loading_ms: Values = 0.0, batch_size: Values = None) -> Values:
        """Seconds of all runs on one machine; each step takes the longer of GPU time and loading time."""
        training, validation = self.steps(batch_size)
        waited_ms = validation * np.maximum(step_ms * VALIDATION_STEP_SHARE, loading_ms)
        return self.turns * (training * np.maximum(step_ms, loading_ms) + waited_ms) / MS_PER_S


class Region(Struct, frozen=True):
    """One region of a cloud.

    Attributes
    ----------
    grid_g_per_kwh : grams of CO2 equivalent per kWh of the grid, mean of `year`, location-based. Compensation that a
        provider buys elsewhere is not counted.
    pue : power usage effectiveness, the data center's energy over its machines'; at least 1.
    source : source of both figures.
    """

    name: str
    provider: str
    grid_g_per_kwh: float
    pue: float
    year: int
    source: str

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        if self.pue < 1:
            raise InputError(f"{self.name}: pue must be at least 1, not {self.pue:g}.")


@cache
def load_regions() -> Mapping[str, Region]:
    """Load the shipped regions by name; CatalogError names the invalid row and column."""
    rows = read_records(
        shipped_text("catalog/regions.csv"),
        "The region table",
        key="region",
        required=Region.__struct_fields__[1:],
        make=lambda row: Region(name=row["region"], **cells_of(Region, row, "region")),
    )
    return MappingProxyType({region.name: region for region in rows})


#: Power of a vCPU at full load: Cloud Carbon Footprint's mean of AWS CPUs at 100%.
W_PER_VCPU = 3.5
#: Idle power of a GPU as a share of board power: Cloud Carbon Footprint gives 46 W for an A100 of 400 W.
IDLE_SHARE = 46 / 400

#: Provider in the catalog -> in the table of regions.
_PROVIDERS = {"aws": "AWS", "gcp": "Google Cloud"}


class Energy(Struct, frozen=True):
    """Upper bounds of the energy and emissions of a training: it draws less than board power.

    Attributes
    ----------
    power_w : of the machine: board power of the GPUs that train, idle power of its other GPUs, all vCPUs at full load;
        without memory, disks and network.
    kwh : at the machine.
    co2e_kg : with the data center's overhead and the region's grid; None if the region is unknown.
    """

    power_w: float
    kwh: float
    co2e_kg: float | None


def training_energy(total_s: float, offer: Instance, gpus: Gpus, training: int = 1) -> Energy | None:
    """Energy of `total_s` seconds on an offer with `training` of its GPUs in use; None if its power is unknown."""
    try:
        board_w = gpus.find(offer.gpu, offer.gpu_memory_gib).tdp_w
    except InputError:
        return None
    if offer.vcpus is None:
        return None
    power_w = board_w * (training + IDLE_SHARE * (offer.gpu_count - training)) + W_PER_VCPU * offer.vcpus
    kwh = power_w / 1_000 * total_s / S_PER_HOUR
    region = load_regions().get(offer.region)
    # Clouds share names for different places; a custom machine may be in any.
    if region is None or (offer.provider != CUSTOM_PROVIDER and region.provider != _PROVIDERS.get(offer.provider)):
        return Energy(power_w, kwh, None)
    return Energy(power_w, kwh, kwh * region.pue * region.grid_g_per_kwh / 1_000)
