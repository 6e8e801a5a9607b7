"""Training time on many-core CPUs: both models of Viebke et al. 2019, their three networks, and what was published.

Both divide the images among the threads, slowed by threads that share a core, and add memory contention. (a) counts the
operations of an image, (b) takes its time measured on one thread.

Everything here is recalled, not read: the tables agree with one another (model (a) gives the twelve published
predictions from them), and so do the layers, of which `forward_flops` is counted: operations of the backward pass come
to 3.23-3.27 a multiply-add in all three.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.training.cost import MAX_EPOCHS, MAX_IMAGES
from profet_profiles.units import whole_number

#: Minimum and maximum number of threads.
MIN_THREADS, MAX_THREADS = 1, 3_840
#: Where the contention of a network is known.
PUBLISHED_THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1_920, 3_840)
#: Above, the publication itself extrapolated.
MAX_MEASURED_THREADS = 240


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
        FLOPs: see `profet_core.training.many_core.scaled_network`.
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
        _check_whole("The number of images", self.images, 1, MAX_IMAGES)
        _check_whole("The number of test images", self.test_images, 0, MAX_IMAGES)
        _check_whole("The number of epochs", self.epochs, 1, MAX_EPOCHS)


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
    return _time(network, machine, training, threads, start * operation_s, passes)


def time_by_images(network: Network, machine: Machine, training: Training, threads: int) -> TrainingTime:
    """Model (b), times per image measured on one thread.

    T = T_prep + CPI [(T_f + T_b) i/p ep + T_f i/p ep + T_f it/p ep] + MemoryContention(p) ep i/p
    """
    return _time(
        network, machine, training, threads, network.preparation_s, (network.forward_s, network.backward_s, 1.0)
    )


def _time(
    network: Network,
    machine: Machine,
    training: Training,
    threads: int,
    preparation_s: float,
    passes: tuple[float, float, float],
) -> TrainingTime:
    """A thread's share of all epochs: training, validation on the same images, testing.

    `passes`: forward and backward, and seconds of their unit.
    """
    _check_whole("The number of threads", threads, MIN_THREADS, MAX_THREADS)
    forward, backward, unit_s = passes
    trained = (forward + backward) * training.images
    validated, tested = forward * training.images, forward * training.test_images
    of_a_thread = (trained + validated + tested) / threads * training.epochs
    return TrainingTime(
        preparation_s=preparation_s,
        images_s=machine.cycles_per_instruction(threads) * of_a_thread * unit_s,
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


#: FLOPs of an image that somebody may mean.
MIN_FLOPS, MAX_FLOPS = 1e3, 1e16
_MS = 1e-3

SMALL = Network(
    name="small",
    # 29 x 29; 5 maps 4 x 4, pooled by 2; 10 maps 5 x 5, pooled by 3; dense 50 and 10.
    forward_flops=2 * 160_330,
    forward_operations=58_000,
    backward_operations=524_000,
    preparation_operations=1e9,
    forward_s=1.45 * _MS,
    backward_s=5.3 * _MS,
    preparation_s=12.56,
    contention_s=(7.10e-6, 6.40e-4, 1.36e-3, 3.07e-3, 6.76e-3, 9.95e-3, 1.40e-2, 2.78e-2, 5.60e-2, 1.12e-1, 2.25e-1),
)
MEDIUM = Network(
    name="medium",
    # 29 x 29; 20 maps 4 x 4, pooled by 2; 40 maps 5 x 5, pooled by 3; dense 150 and 10.
    forward_flops=2 * 1_891_820,
    forward_operations=559_000,
    backward_operations=6_119_000,
    # With 1e10, as recalled, model (a) doesn't give the published predictions; with this it does.
    preparation_operations=1e9,
    forward_s=12.55 * _MS,
    backward_s=69.73 * _MS,
    preparation_s=12.7,
    contention_s=(1.56e-4, 2.00e-3, 3.97e-3, 8.03e-3, 1.65e-2, 2.50e-2, 3.83e-2, 7.31e-2, 1.47e-1, 2.95e-1, 5.91e-1),
)
LARGE = Network(
    name="large",
    # 29 x 29; 20 maps 4 x 4; 60 maps 5 x 5, pooled by 2; 100 maps 6 x 6, pooled by 2; dense 150 and 10.
    forward_flops=2 * 22_648_820,
    forward_operations=5_349_000,
    backward_operations=73_178_000,
    preparation_operations=1e11,
    forward_s=148.88 * _MS,
    backward_s=859.19 * _MS,
    preparation_s=13.5,
    contention_s=(8.83e-4, 8.75e-3, 1.67e-2, 3.22e-2, 6.74e-2, 1.00e-1, 1.38e-1, 2.73e-1, 5.46e-1, 1.09, 2.19),
)

#: By name, the smallest first.
PUBLISHED: Mapping[str, Network] = {network.name: network for network in (SMALL, MEDIUM, LARGE)}
#: What each was trained with: MNIST.
PUBLISHED_TRAINING: Mapping[str, Training] = {
    "small": Training(60_000, 10_000, 70),
    "medium": Training(60_000, 10_000, 70),
    "large": Training(60_000, 10_000, 15),
}
#: Network -> threads -> the prediction that was published, minutes.
PUBLISHED_PREDICTIONS_MIN: Mapping[str, Mapping[int, float]] = {
    "small": {480: 6.6, 960: 5.4, 1_920: 4.9, 3_840: 4.6},
    "medium": {480: 36.8, 960: 23.9, 1_920: 17.4, 3_840: 14.2},
    "large": {480: 92.9, 960: 60.8, 1_920: 44.8, 3_840: 36.8},
}
#: Average error of each model against the measured trainings, percent: of the abstract, which was read.
PUBLISHED_ERROR_PERCENT: Mapping[str, float] = {"a": 15.0, "b": 11.0}
#: Measured speed-up of the large network, over one thread of the same processor, and at how many threads.
PUBLISHED_SPEEDUP, PUBLISHED_SPEEDUP_THREADS = 103.5, 244


def scaled_network(name: str, forward_flops: float) -> Network:
    """A network whose images take so many FLOPs forward.

    Between two published networks every parameter follows the power law through both. Beyond the smallest and the
    largest all that an image takes grows with the FLOPs from the nearest one, memory contention too; what a training
    starts with stays. So a published network's FLOPs give its parameters, and a network beyond has about the nearest
    one's speed-up. (From 15 threads on contention rises more slowly than FLOPs among the published networks: above the
    largest this is the pessimistic choice.)

    The published "operations" are not FLOPs: those of the backward pass are 9 to 13.7 times those of the forward pass,
    which are 0.24 to 0.36 a multiply-add. So neither ratio is taken for all networks.

    Raises
    ------
    InputError : the FLOPs are out of bounds.
    """
    if not MIN_FLOPS <= forward_flops <= MAX_FLOPS:
        raise InputError(f"The FLOPs per image must be from {MIN_FLOPS:g} to {MAX_FLOPS:g}, not {forward_flops:g}.")

    def scaled(name: str, grows_beyond: bool = True) -> float:
        return _at_flops([getattr(network, name) for network in PUBLISHED.values()], forward_flops, grows_beyond)

    contention_s = zip(*(network.contention_s for network in PUBLISHED.values()), strict=True)
    return Network(
        name=name,
        forward_flops=forward_flops,
        forward_operations=scaled("forward_operations"),
        backward_operations=scaled("backward_operations"),
        preparation_operations=scaled("preparation_operations", grows_beyond=False),
        forward_s=scaled("forward_s"),
        backward_s=scaled("backward_s"),
        preparation_s=scaled("preparation_s", grows_beyond=False),
        contention_s=tuple(_at_flops(values, forward_flops) for values in contention_s),
    )


def nearest_published(forward_flops: float) -> Network:
    """The published network whose FLOPs are fewest times apart."""
    return min(
        (SMALL, MEDIUM, LARGE),
        key=lambda network: max(network.forward_flops / forward_flops, forward_flops / network.forward_flops),
    )


def is_beyond_published(forward_flops: float) -> bool:
    """Whether it has more or fewer FLOPs than any published network."""
    return not SMALL.forward_flops <= forward_flops <= LARGE.forward_flops


def _at_flops(values: Sequence[float], flops: float, grows_beyond: bool = True) -> float:
    """A parameter, of the published networks by size, at these FLOPs; outside of them it may grow with the FLOPs."""
    known = {network.forward_flops: value for network, value in zip(PUBLISHED.values(), values, strict=True)}
    if is_beyond_published(flops):
        end = nearest_published(flops).forward_flops
        return known[end] * (flops / end if grows_beyond else 1.0)
    if flops in known:
        return known[flops]
    above = next(each for each in known if each > flops)
    below = max(each for each in known if each < flops)
    return between(flops, (below, known[below]), (above, known[above]))


@dataclass(frozen=True, slots=True)
class ThreadsRow:
    """A training on so many threads: cycles an instruction, contention an image, times by both models and speed-ups."""

    threads: int
    cpi: float
    contention_s: float
    a: TrainingTime
    b: TrainingTime
    speedup_a: float
    speedup_b: float

    @property
    def extrapolated(self) -> bool:
        """Whether contention was measured at no such number of threads."""
        return self.threads > MAX_MEASURED_THREADS


@dataclass(frozen=True, slots=True)
class ManycoreAnswer:
    """One row a number of threads, the fewest first."""

    network: Network
    training: Training
    machine: Machine
    rows: tuple[ThreadsRow, ...]
    notes: tuple[str, ...]


def manycore(
    network: Network, training: Training, threads: Iterable[int], *, machine: Machine = XEON_PHI_7120P
) -> ManycoreAnswer:
    """Time and speed-up of a training on each number of threads.

    Raises
    ------
    InputError : there is none, or one is out of bounds.
    """
    wanted = sorted(set(threads))
    if not wanted:
        raise InputError("Give at least one number of threads, such as 1,60,240.")
    a_alone, b_alone = time_by_operations(network, machine, training, 1), time_by_images(network, machine, training, 1)
    rows = []
    for count in wanted:
        a = time_by_operations(network, machine, training, count)
        b = time_by_images(network, machine, training, count)
        cpi, contention_s = machine.cycles_per_instruction(count), contention_at(network.contention_s, count)
        speedups = a_alone.total_s / a.total_s, b_alone.total_s / b.total_s
        rows.append(ThreadsRow(count, cpi, contention_s, a, b, *speedups))
    return ManycoreAnswer(network, training, machine, tuple(rows), tuple(_notes(network, rows)))


def _notes(network: Network, rows: Iterable[ThreadsRow]) -> Iterable[str]:
    """What to keep in mind, one line each."""
    if is_beyond_published(network.forward_flops):
        end = nearest_published(network.forward_flops)
        times = network.forward_flops / end.forward_flops
        apart = f"{times:,.0f} times" if times >= 10 else f"{times:.2g} times"
        yield (
            f"An image takes {apart} the FLOPs of the {end.name} network, the closest published one: its values "
            "were scaled in proportion."
        )
    if any(row.extrapolated for row in rows):
        yield (
            f"Above {MAX_MEASURED_THREADS} threads, memory contention is extrapolated and the processor would "
            "need more cores."
        )


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A published network on so many threads: minutes by both models, and model (a)'s as published where it was."""

    network: str
    threads: int
    a_min: float
    b_min: float
    speedup_a: float
    speedup_b: float
    published_min: float | None

    @property
    def apart_percent(self) -> float:
        """By how much (a) is longer than (b)."""
        return 100 * (self.a_min / self.b_min - 1)

    @property
    def same_digits(self) -> bool:
        """Whether model (a) gives the published prediction as it was printed."""
        return self.published_min is not None and f"{self.a_min:.1f}" == f"{self.published_min:.1f}"


def check_rows() -> list[CheckRow]:
    """Every published network at every published number of threads."""
    return [row for name in PUBLISHED for row in _rows(name, PUBLISHED_THREADS)]


def speedup_row() -> CheckRow:
    """The large network at the threads whose speed-up was measured and published."""
    return _rows(LARGE.name, [PUBLISHED_SPEEDUP_THREADS])[0]


def mean_apart_percent(rows: Iterable[CheckRow], network: str, *, extrapolated: bool) -> float:
    """Mean distance of (a) from (b) where contention was measured, or above."""
    of_network = [row for row in rows if row.network == network]
    found = [abs(row.apart_percent) for row in of_network if (row.threads > MAX_MEASURED_THREADS) is extrapolated]
    return sum(found) / len(found)


def _rows(name: str, threads: Iterable[int]) -> list[CheckRow]:
    predictions_min = PUBLISHED_PREDICTIONS_MIN[name]
    return [
        CheckRow(
            name,
            row.threads,
            row.a.total_s / 60,
            row.b.total_s / 60,
            row.speedup_a,
            row.speedup_b,
            predictions_min.get(row.threads),
        )
        for row in manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], threads).rows
    ]
