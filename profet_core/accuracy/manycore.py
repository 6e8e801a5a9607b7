"""What checks of the many-core models found, the figures of `manycore_validation.json` as records."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.manycore.contention import MOST_MEASURED_THREADS

#: Ways of training on this machine's cores: each thread has images of its own, as in the models, or all share a batch.
OWN_IMAGES, SHARED_BATCHES = "own images", "shared batches"


@dataclass(frozen=True, slots=True)
class ModelsRow:
    """Both models of a published network on so many threads, minutes, and their speed-ups over one thread."""

    network: str
    threads: int
    a_min: float
    b_min: float
    speedup_a: float
    speedup_b: float

    @property
    def apart_percent(self) -> float:
        """By how much (a) is longer than (b)."""
        return 100 * (self.a_min / self.b_min - 1)


@dataclass(frozen=True, slots=True)
class PublishedPrediction(ModelsRow):
    """The same where a prediction of model (a) was published."""

    published_min: float

    @property
    def same_digits(self) -> bool:
        """Whether model (a) gives it as it was printed."""
        return f"{self.a_min:.1f}" == f"{self.published_min:.1f}"


@dataclass(frozen=True, slots=True)
class PublishedSpeedup(ModelsRow):
    """The same where a speed-up was measured and published."""

    published: float


@dataclass(frozen=True, slots=True)
class CoresRow:
    """One epoch on so many of this machine's cores, seconds.

    Attributes
    ----------
    repeats : runs that count. undisturbed : whether nothing else ran during any of them.
    measured_s, low_s, high_s : their median, shortest and longest.
    predicted_s : model (b) from the times of an image on one thread.
    measured_speedup, predicted_speedup : over one thread, of the medians and of the predictions.
    """

    threads: int
    repeats: int
    undisturbed: bool
    measured_s: float
    low_s: float
    high_s: float
    predicted_s: float
    measured_speedup: float
    predicted_speedup: float

    @property
    def off_percent(self) -> float:
        """By how much the prediction is longer than what was measured."""
        return 100 * (self.predicted_s / self.measured_s - 1)


@dataclass(frozen=True, slots=True)
class OwnCoresWay:
    """One way of training the small published network here.

    Attributes
    ----------
    way : `OWN_IMAGES` or `SHARED_BATCHES`. library : with its version.
    images, test_images : of the epoch.
    forward_us, training_us : of one image on one thread, microseconds; training is forward, backward and update.
    operation_factor : what model (a) would need for this time instead of 15; None where the clock is not known.
    loss_first, loss_last : mean cross-entropy of the first and the last tenth of an epoch's images, on one thread.
    """

    way: str
    library: str
    images: int
    test_images: int
    forward_us: float
    training_us: float
    operation_factor: float | None
    loss_first: float
    loss_last: float
    rows: tuple[CoresRow, ...]


@dataclass(frozen=True, slots=True)
class OwnCores:
    """The machine that the models were checked on."""

    processor: str
    cores: int
    clock_mhz: float | None
    ways: tuple[OwnCoresWay, ...]


@dataclass(frozen=True, slots=True)
class ManycoreAccuracy:
    """The whole report.

    Attributes
    ----------
    models : every published network at every published number of threads.
    """

    made: str
    predictions: tuple[PublishedPrediction, ...]
    models: tuple[ModelsRow, ...]
    speedup: PublishedSpeedup
    own_cores: OwnCores

    def mean_apart_percent(self, network: str, *, extrapolated: bool) -> float:
        """Mean distance of (a) from (b) over the numbers of threads that contention was measured at, or the others."""
        found = [
            abs(row.apart_percent)
            for row in self.models
            if row.network == network and (row.threads > MOST_MEASURED_THREADS) is extrapolated
        ]
        return sum(found) / len(found)
