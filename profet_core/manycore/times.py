"""Models (a) and (b): seconds of a training on so many threads, after Viebke et al. 2019, as recalled.

Both divide what the images take among the threads, slowed by those that share a core, and add memory contention. They
differ in what one image takes: (a) counts its operations and measures next to nothing, (b) measures it on one thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.manycore.contention import contention_at
from profet_core.manycore.machine import FEWEST_THREADS, MOST_THREADS, Machine
from profet_core.manycore.network import Network, Training, check_whole


@dataclass(frozen=True, slots=True)
class TrainingTime:
    """Seconds of a whole training.

    Attributes
    ----------
    preparation_s : before the first image; no thread helps there.
    images_s : forward and backward passes of training, validation and testing.
    contention_s : waiting for memory that threads share.
    """

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

    Raises
    ------
    InputError : `threads` is out of bounds.
    """
    seconds = machine.operation_factor / machine.clock_hz
    start = network.preparation_operations + 4 * training.images + 2 * training.test_images + 10 * training.epochs
    images = _passes(network.forward_operations, network.backward_operations, training, _checked(threads))
    return TrainingTime(
        preparation_s=start * seconds,
        images_s=machine.cycles_per_instruction(threads) * images * seconds,
        contention_s=_contention(network, training, threads),
    )


def time_by_images(network: Network, machine: Machine, training: Training, threads: int) -> TrainingTime:
    """Model (b), times of an image measured on one thread.

    T = T_prep + CPI [(T_f + T_b) i/p ep + T_f i/p ep + T_f it/p ep] + MemoryContention(p) ep i/p

    Raises
    ------
    InputError : `threads` is out of bounds.
    """
    images_s = _passes(network.forward_s, network.backward_s, training, _checked(threads))
    return TrainingTime(
        preparation_s=network.preparation_s,
        images_s=machine.cycles_per_instruction(threads) * images_s,
        contention_s=_contention(network, training, threads),
    )


def _passes(forward: float, backward: float, training: Training, threads: int) -> float:
    """What a thread's share of all epochs takes: training, validation on the same images, testing."""
    trained = (forward + backward) * training.images
    validated, tested = forward * training.images, forward * training.test_images
    return (trained + validated + tested) / threads * training.epochs


def _contention(network: Network, training: Training, threads: int) -> float:
    return contention_at(network.contention_s, threads) * training.epochs * training.images / threads


def _checked(threads: int) -> int:
    check_whole("The number of threads", threads, FEWEST_THREADS, MOST_THREADS)
    return threads
