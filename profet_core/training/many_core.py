"""Training time on a many-core CPU by both models of Viebke et al. (HPCS 2019, arXiv:1906.01992).

Both divide the images among the threads, slowed by threads that share a core, and add memory contention. (a) counts the
operations of an image, (b) takes its time measured on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from profet_core.errors import InputError
from profet_core.training.cost import MAX_EPOCHS, MAX_IMAGES
from profet_profiles.units import format_significant, whole_number

# Quoted from the paper as recalled, for only its abstract was read; (a) gives the published predictions of it.
PROCESSOR, CORES, CLOCK_HZ = "Intel Xeon Phi 7120P", 61, 1.238e9
#: Cycles of a counted operation, of this processor and its compiler; and per instruction with 1, 2, ... threads a core.
OPERATION_FACTOR, CYCLES_PER_INSTRUCTION = 15.0, (1.0, 1.0, 1.5, 2.0)
PUBLISHED_THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1_920, 3_840)
MIN_THREADS, MAX_MEASURED_THREADS, MAX_THREADS = 1, 240, 3_840


class ManyCoreNetwork(NamedTuple):
    """What an image, and the start of a training, ask of one thread; memory contention at `PUBLISHED_THREADS`."""

    name: str
    forward_flops: float
    forward_operations: float
    backward_operations: float
    preparation_operations: float
    forward_s: float
    backward_s: float
    preparation_s: float
    contention_s: tuple[float, ...]


class ManyCoreTraining(NamedTuple):
    """A training: every epoch trains on all images, validates on them, and tests."""

    images: int
    test_images: int
    epochs: int


_SMALL_S = (7.10e-6, 6.40e-4, 1.36e-3, 3.07e-3, 6.76e-3, 9.95e-3, 1.40e-2, 2.78e-2, 5.60e-2, 1.12e-1, 2.25e-1)
_MEDIUM_S = (1.56e-4, 2.00e-3, 3.97e-3, 8.03e-3, 1.65e-2, 2.50e-2, 3.83e-2, 7.31e-2, 1.47e-1, 2.95e-1, 5.91e-1)
_LARGE_S = (8.83e-4, 8.75e-3, 1.67e-2, 3.22e-2, 6.74e-2, 1.00e-1, 1.38e-1, 2.73e-1, 5.46e-1, 1.09, 2.19)
#: FLOPs are counted from the layers, a multiply-add as two. The medium network's preparation is recalled as 1e10, with
#: which (a) doesn't give the published predictions.
PUBLISHED: Mapping[str, ManyCoreNetwork] = {
    "small": ManyCoreNetwork("small", 2 * 160_330, 58e3, 524e3, 1e9, 1.45e-3, 5.3e-3, 12.56, _SMALL_S),
    "medium": ManyCoreNetwork("medium", 2 * 1_891_820, 559e3, 6_119e3, 1e9, 12.55e-3, 69.73e-3, 12.7, _MEDIUM_S),
    "large": ManyCoreNetwork("large", 2 * 22_648_820, 5_349e3, 73_178e3, 1e11, 148.88e-3, 859.19e-3, 13.5, _LARGE_S),
}
PUBLISHED_EPOCHS = {"small": 70, "medium": 70, "large": 15}
#: Network -> threads -> the prediction that was published, minutes.
PUBLISHED_PREDICTIONS_MIN: Mapping[str, Mapping[int, float]] = {
    "small": {480: 6.6, 960: 5.4, 1_920: 4.9, 3_840: 4.6},
    "medium": {480: 36.8, 960: 23.9, 1_920: 17.4, 3_840: 14.2},
    "large": {480: 92.9, 960: 60.8, 1_920: 44.8, 3_840: 36.8},
}
#: Measured, of the large network over one thread, and at how many threads.
PUBLISHED_SPEEDUP, PUBLISHED_SPEEDUP_THREADS = 103.5, 244


def manycore(network: ManyCoreNetwork, training: ManyCoreTraining, threads: Iterable[int]) -> Mapping[str, np.ndarray]:
    """Columns of a table over threads: what both models, "a" and "b", say of a training; InputError: no such threads.

    With i images, it test images, ep epochs, p threads and s the clock:
    (a) T = {(Prep + 4 i + 2 it + 10 ep) / s + CPI [(FProp + BProp) i/p ep + FProp i/p ep + FProp it/p ep] / s}
    OperationFactor + MemoryContention(p) ep i/p;
    (b) T = T_prep + CPI [(T_f + T_b) i/p ep + T_f i/p ep + T_f it/p ep] + MemoryContention(p) ep i/p
    """
    wanted = sorted({_whole("threads", count, MIN_THREADS, MAX_THREADS) for count in threads})
    if not wanted:
        raise InputError("Give at least one number of threads, such as 1,60,240.")
    # One more, the first, for the speed-up.
    (i, it, ep), p, operation_s = training, np.array([1, *wanted]), OPERATION_FACTOR / CLOCK_HZ
    cpi = np.take(CYCLES_PER_INSTRUCTION, np.ceil(p / CORES).astype(int) - 1, mode="clip")
    contention_s = _power_law(p, PUBLISHED_THREADS, network.contention_s)
    columns = {"threads": p, "cpi": cpi, "contention_s": contention_s, "extrapolated": p > MAX_MEASURED_THREADS}
    operations = network.preparation_operations + 4 * i + 2 * it + 10 * ep
    passes = network.forward_operations * operation_s, network.backward_operations * operation_s
    for model, start_s, (forward_s, backward_s) in (
        ("a", operations * operation_s, passes),
        ("b", network.preparation_s, (network.forward_s, network.backward_s)),
    ):
        images_s = cpi * ((forward_s + backward_s) * i + forward_s * i + forward_s * it) / p * ep
        waiting_s = contention_s * ep * i / p
        total_s = start_s + images_s + waiting_s
        parts = {"preparation_s": np.full(len(p), start_s), "images_s": images_s, "contention_s": waiting_s}
        found = {"total_s": total_s, **parts, "speedup": total_s[0] / total_s}
        columns |= {f"{model}_{name}": values for name, values in found.items()}
    return {name: values[1:] for name, values in columns.items()}


#: FLOPs of an image that somebody may mean. These and all below are not from the paper.
MIN_FLOPS, MAX_FLOPS = 1e3, 1e16


def _power_law(at: float | np.ndarray, places: Sequence[float], values: Sequence[float]) -> np.ndarray:
    """Values on the line through points in the logarithm of both; that of an end beyond it."""
    return np.exp(np.interp(np.log(at), np.log(places), np.log(values)))


def scaled_network(name: str, forward_flops: float) -> ManyCoreNetwork:
    """Return a network whose images take so many FLOPs forward; InputError: they are out of bounds.

    Between two published networks every parameter follows the power law through both. Beyond the smallest and the
    largest all that an image takes grows with the FLOPs from the nearest one; what a training starts with stays.
    """
    if not MIN_FLOPS <= forward_flops <= MAX_FLOPS:
        raise InputError(f"The FLOPs per image must be from {MIN_FLOPS:g} to {MAX_FLOPS:g}, not {forward_flops:g}.")
    _, flops, *columns, contentions_s = zip(*PUBLISHED.values(), strict=True)
    growth = forward_flops / min(max(forward_flops, flops[0]), flops[-1])
    scaled = [float(_power_law(forward_flops, flops, each)) for each in (*columns, *zip(*contentions_s, strict=True))]
    grown = [value if place in (2, 5) else value * growth for place, value in enumerate(scaled)]
    return ManyCoreNetwork._make((name, forward_flops, *grown[:6], tuple(grown[6:])))


def nearest_published(forward_flops: float) -> ManyCoreNetwork:
    """Return the published network whose FLOPs are fewest times apart."""
    return min(PUBLISHED.values(), key=lambda network: abs(math.log(network.forward_flops / forward_flops)))


def training_of(
    network: ManyCoreNetwork, images: int | None = None, test_images: int | None = None, epochs: int | None = None
) -> ManyCoreTraining:
    """Return what is given, else the published training (MNIST) of the nearest network; InputError: out of bounds."""
    usual = 60_000, 10_000, PUBLISHED_EPOCHS[nearest_published(network.forward_flops).name]
    bounds = ("images", 1, MAX_IMAGES), ("test images", 0, MAX_IMAGES), ("epochs", 1, MAX_EPOCHS)
    given = zip((images, test_images, epochs), usual, bounds, strict=True)
    return ManyCoreTraining(
        *(_whole(what, default if value is None else value, low, high) for value, default, (what, low, high) in given)
    )


def words_of(network: ManyCoreNetwork, training: ManyCoreTraining, threads: Iterable[int]) -> tuple[str, list[str]]:
    """Say what is trained on what; and what to keep in mind, one line each."""
    flops, nearest, notes = network.forward_flops, nearest_published(network.forward_flops), list[str]()
    times = format_significant(flops / nearest.forward_flops, 2)
    if not PUBLISHED["small"].forward_flops <= flops <= PUBLISHED["large"].forward_flops:
        notes.append(f"An image takes {times} times the FLOPs of the {nearest.name} network, from which it is scaled.")
    if max(threads) > MAX_MEASURED_THREADS:
        notes.append(f"Above {MAX_MEASURED_THREADS} threads, contention is extrapolated and more cores are assumed.")
    asked = f"{network.name}: {format_significant(flops / 1e6)} million forward FLOPs per image"
    images, tests, epochs = training
    return f"{asked}; {images:,} images, {tests:,} test images, {epochs:,} epochs on {PROCESSOR}, {CORES} cores", notes


def rows_of(columns: Mapping[str, np.ndarray]) -> list[tuple[str, str, str, str, str]]:
    """Return a row per number of threads as people read it: threads, and minutes and speed-up by each model."""
    names = ("threads", "a_total_s", "a_speedup", "b_total_s", "b_speedup")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    return [(f"{count:,}", _minutes(a_s), f"{a:.1f}", _minutes(b_s), f"{b:.1f}") for count, a_s, a, b_s, b in rows]


def _minutes(seconds: float) -> str:
    """As published: one decimal; more below a minute."""
    return f"{seconds / 60:,.1f}" if seconds >= 60 else format_significant(seconds / 60, 2)


def _whole(what: str, value: int, fewest: int, most: int) -> int:
    """Return `value`, a whole number within bounds; InputError: it isn't."""
    if whole_number(f"The number of {what}", value, at_least=fewest) > most:
        raise InputError(f"The number of {what} must be at most {most:,}, not {value:,}.")
    return value
