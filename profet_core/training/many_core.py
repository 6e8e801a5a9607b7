"""Training time on a many-core CPU by both models of Viebke et al. (HPCS 2019, arXiv:1906.01992).

Both divide the images among threads and add memory contention; (a) counts operations, (b) takes measured times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from profet_core.errors import InputError
from profet_core.training.cost import MAX_EPOCHS, MAX_IMAGES
from profet_profiles.units import format_significant, whole_number

# Quoted from the paper, as recalled, for only its abstract was read: formulas, factors, the networks' counts and times,
# contention and the predictions, which (a) gives to the digit. The rest is not: FLOPs, other networks, words.
PROCESSOR, CORES, CLOCK_HZ = "Intel Xeon Phi 7120P", 61, 1.238e9
#: Cycles of a counted operation, of this processor and its compiler; and per instruction with 1, 2, ... threads a core.
OPERATION_FACTOR, CYCLES_PER_INSTRUCTION = 15.0, (1.0, 1.0, 1.5, 2.0)
PUBLISHED_THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1_920, 3_840)
MAX_MEASURED_THREADS, MAX_THREADS = 240, 3_840


class ManyCoreNetwork(NamedTuple):
    """Work per image and at the start of a training, on one thread; memory contention at `PUBLISHED_THREADS`."""

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
#: which (a) doesn't give the published predictions, so it is 1e9 here.
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


def manycore(network: ManyCoreNetwork, training: ManyCoreTraining, threads: Iterable[int]) -> list[dict[str, Any]]:
    """Return a row per number of threads, what both models say of a training in it; InputError: no such threads.

    With i images, it test images, ep epochs, p threads and s the clock:
    (a) T = {(Prep + 4 i + 2 it + 10 ep) / s + CPI [(FProp + BProp) i/p ep + FProp i/p ep + FProp it/p ep] / s}
    OperationFactor + MemoryContention(p) ep i/p;
    (b) T = T_prep + CPI [(T_f + T_b) i/p ep + T_f i/p ep + T_f it/p ep] + MemoryContention(p) ep i/p
    """
    counts = {whole_number("The number of threads", count, at_most=MAX_THREADS) for count in threads}
    if not counts:
        raise InputError("Give at least one number of threads, such as 1,60,240.")
    (i, it, ep), operation_s = training, OPERATION_FACTOR / CLOCK_HZ
    operations = network.preparation_operations + 4 * i + 2 * it + 10 * ep
    models = {
        "model_a": [count * operation_s for count in (operations, *network[2:4])],
        "model_b": [network.preparation_s, network.forward_s, network.backward_s],
    }
    rows: list[dict[str, Any]] = []
    # One thread first, for the speed-up.
    for p in [1, *sorted(counts)]:
        cpi = CYCLES_PER_INSTRUCTION[min(math.ceil(p / CORES), len(CYCLES_PER_INSTRUCTION)) - 1]
        contention_s = _power_law(p, PUBLISHED_THREADS, network.contention_s)
        rows.append({"threads": p, "cpi": cpi, "contention_s": contention_s, "extrapolated": p > MAX_MEASURED_THREADS})
        for model, (start_s, forward_s, backward_s) in models.items():
            images_s = cpi * ((forward_s + backward_s) * i + forward_s * i + forward_s * it) / p * ep
            parts = {"preparation_s": start_s, "images_s": images_s, "contention_s": contention_s * ep * i / p}
            rows[-1][model] = parts | {"total_s": sum(parts.values())}
            rows[-1][model]["speedup"] = rows[0][model]["total_s"] / rows[-1][model]["total_s"]
    return rows[1:]


def _power_law(at: float, places: Sequence[float], values: Sequence[float]) -> float:
    """Value on the line through points in the logarithm of both; that of an end beyond it."""
    return float(np.exp(np.interp(np.log(at), np.log(places), np.log(values))))


def scaled_network(name: str, forward_flops: float) -> ManyCoreNetwork:
    """Return a network whose images take so many FLOPs forward; InputError: they are out of bounds.

    Between two published networks every parameter follows the power law through both. Beyond the smallest and the
    largest all that an image takes grows with the FLOPs from the nearest one; what a training starts with stays.
    """
    if not 1e3 <= forward_flops <= 1e16:
        raise InputError(f"The FLOPs per image must be from 1000 to 1e+16, not {forward_flops:g}.")
    _, flops, *columns, contentions_s = zip(*PUBLISHED.values(), strict=True)
    growth = forward_flops / min(max(forward_flops, flops[0]), flops[-1])
    columns += zip(*contentions_s, strict=True)
    values = [_power_law(forward_flops, flops, column) for column in columns]
    grown = [value if place in (2, 5) else value * growth for place, value in enumerate(values)]
    return ManyCoreNetwork._make((name, forward_flops, *grown[:6], tuple(grown[6:])))


def nearest_published(forward_flops: float) -> ManyCoreNetwork:
    """Return the published network whose FLOPs are fewest times apart."""
    return min(PUBLISHED.values(), key=lambda network: abs(math.log(network.forward_flops / forward_flops)))


def training_of(
    network: ManyCoreNetwork, images: int | None = None, test_images: int | None = None, epochs: int | None = None
) -> ManyCoreTraining:
    """Return the training, by default that of the nearest published network (MNIST); InputError: out of bounds."""
    usual = 60_000, 10_000, PUBLISHED_EPOCHS[nearest_published(network.forward_flops).name]
    bounds = ("images", 1, MAX_IMAGES), ("test images", 0, MAX_IMAGES), ("epochs", 1, MAX_EPOCHS)
    return ManyCoreTraining._make(
        whole_number(f"The number of {what}", default if number is None else number, at_least=low, at_most=high)
        for number, default, (what, low, high) in zip((images, test_images, epochs), usual, bounds, strict=True)
    )


def words_of(network: ManyCoreNetwork, training: ManyCoreTraining, threads: Iterable[int]) -> tuple[str, list[str]]:
    """Say what is trained on what; and what to keep in mind, one line each."""
    flops, nearest, notes = network.forward_flops, nearest_published(network.forward_flops), list[str]()
    if not PUBLISHED["small"].forward_flops <= flops <= PUBLISHED["large"].forward_flops:
        times = format_significant(flops / nearest.forward_flops, 2)
        notes.append(f"An image takes {times} times the FLOPs of the {nearest.name} network, from which it is scaled.")
    if max(threads) > MAX_MEASURED_THREADS:
        notes.append(f"Above {MAX_MEASURED_THREADS} threads, contention is extrapolated and more cores are assumed.")
    asked = "{}: {} million forward FLOPs per image; {:,} images, {:,} test images, {:,} epochs on {}, {} cores"
    return asked.format(network.name, format_significant(flops / 1e6), *training, PROCESSOR, CORES), notes


def rows_of(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return rows of `manycore` as people read them: threads, and by each model minutes as published and speed-up."""
    in_words: list[tuple[str, ...]] = []
    for row in rows:
        in_words.append((f"{row['threads']:,}",))
        for model in (row["model_a"], row["model_b"]):
            minutes = model["total_s"] / 60
            shown = f"{minutes:,.1f}" if minutes >= 1 else format_significant(minutes, 2)
            in_words[-1] += (shown, f"{model['speedup']:.1f}")
    return in_words
