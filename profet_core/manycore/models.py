"""Models (a) and (b) of a training's time over threads, after Viebke et al. 2019, as recalled.

Both divide the images among the threads, slowed by threads that share a core, and add memory contention. (a) counts the
operations of an image, (b) takes its time measured on one thread.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.units import whole_number

#: Threads that are asked about.
FEWEST_THREADS, MOST_THREADS = 1, 3_840
#: Where the contention of a network is known.
PUBLISHED_THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1_920, 3_840)
#: Above, the publication itself extrapolated.
MOST_MEASURED_THREADS = 240
#: No training that anybody means has more.
MOST_IMAGES, MOST_EPOCHS = 1_000_000_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Machine:
    """A many-core processor.

    Attributes
    ----------
    clock_hz : cycles per second of a core.
    operation_factor : what an operation of the published counts takes beside its one cycle per instruction, a constant
        of the processor and its compiler.
    cpi : cycles per instruction of each thread with one thread per core, two, ...; the last holds for more.
    """

    name: str
    cores: int
    clock_hz: float
    operation_factor: float
    cpi: tuple[float, ...]

    def cycles_per_instruction(self, threads: int) -> float:
        """Of each of so many threads. Beyond the cores' own, a larger processor with as many on each is meant."""
        return self.cpi[min(-(-threads // self.cores), len(self.cpi)) - 1]


#: After Viebke et al. 2019, as recalled: two threads share a core at no cost, three and four don't.
XEON_PHI_7120P = Machine("Intel Xeon Phi 7120P", 61, 1.238e9, 15.0, (1.0, 1.0, 1.5, 2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What one image, and the start of a training, ask of one thread.

    Attributes
    ----------
    forward_flops : of an image, a multiply-add counted as two.
    forward_operations, backward_operations : of an image, for model (a). They are operations of the published code, not
        FLOPs: see `profet_core.manycore.published.scaled_network`.
    preparation_operations : before the first image, for model (a).
    forward_s, backward_s, preparation_s : the same measured on one thread, for model (b).
    contention_s : memory contention per image at each of `PUBLISHED_THREADS`.
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
    """A training: every epoch trains on all images, validates on them, and tests; refuses what is out of bounds."""

    images: int
    test_images: int
    epochs: int

    def __post_init__(self) -> None:
        _check_whole("The number of images", self.images, 1, MOST_IMAGES)
        _check_whole("The number of test images", self.test_images, 0, MOST_IMAGES)
        _check_whole("The number of epochs", self.epochs, 1, MOST_EPOCHS)


@dataclass(frozen=True, slots=True)
class TrainingTime:
    """Seconds of a training before the first image, of all passes, and of waiting for memory that threads share."""

    preparation_s: float
    images_s: float
    contention_s: float

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.preparation_s + self.images_s + self.contention_s


def time_by_operations(network: Network, machine: Machine, training: Training, threads: int) -> TrainingTime:
    """Model (a), minimal measurement.

    T = {(Prep + 4 i + 2 it + 10 ep) / s + CPI [(FProp + BProp) i/p ep + FProp i/p ep + FProp it/p ep] / s}
    OperationFactor + MemoryContention(p) ep i/p, with i images, it test images, ep epochs, p threads and s the clock.
    """
    operation_s = machine.operation_factor / machine.clock_hz
    start = network.preparation_operations + 4 * training.images + 2 * training.test_images + 10 * training.epochs
    passes = network.forward_operations, network.backward_operations, operation_s
    return _time(network, machine, training, threads, start * operation_s, *passes)


def time_by_images(network: Network, machine: Machine, training: Training, threads: int) -> TrainingTime:
    """Model (b), times per image measured on one thread.

    T = T_prep + CPI [(T_f + T_b) i/p ep + T_f i/p ep + T_f it/p ep] + MemoryContention(p) ep i/p
    """
    return _time(network, machine, training, threads, network.preparation_s, network.forward_s, network.backward_s)


def _time(
    network: Network,
    machine: Machine,
    training: Training,
    threads: int,
    preparation_s: float,
    forward: float,
    backward: float,
    unit_s: float = 1.0,
) -> TrainingTime:
    """A thread's share of all epochs: training, validation on the same images, testing; passes in units of `unit_s`."""
    _check_whole("The number of threads", threads, FEWEST_THREADS, MOST_THREADS)
    trained = (forward + backward) * training.images
    validated, tested = forward * training.images, forward * training.test_images
    passes = (trained + validated + tested) / threads * training.epochs
    return TrainingTime(
        preparation_s=preparation_s,
        images_s=machine.cycles_per_instruction(threads) * passes * unit_s,
        contention_s=contention_at(network.contention_s, threads) * training.epochs * training.images / threads,
    )


def contention_at(contention_s: tuple[float, ...], threads: int) -> float:
    """Seconds of contention per image, shared by all threads.

    `contention_s` is of each of `PUBLISHED_THREADS`, with a power law between two of them.
    """
    above = bisect_left(PUBLISHED_THREADS, threads)
    high = PUBLISHED_THREADS[above]
    if high == threads:
        return contention_s[above]
    return between(threads, (PUBLISHED_THREADS[above - 1], contention_s[above - 1]), (high, contention_s[above]))


def between(at: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """A power law through two points, each a place and a value above 0.

    >>> between(4, (2, 10), (8, 40))
    20.0
    """
    exponent = math.log(high[1] / low[1]) / math.log(high[0] / low[0])
    return low[1] * math.pow(at / low[0], exponent)


def _check_whole(what: str, value: int, fewest: int, most: int) -> None:
    """Raise InputError unless `value` is a whole number within bounds; `what` opens its line."""
    if whole_number(what, value, at_least=fewest) > most:
        raise InputError(f"{what} must be at most {most:,}, not {value:,}.")
