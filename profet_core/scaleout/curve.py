"""Over which numbers of GPUs a training is looked at, and what of a batch each of them has."""

from __future__ import annotations

from profet_core.errors import InputError
from profet_core.units import whole_number

#: What is tried without a word.
USUAL_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """A GPU's part of a batch.

    >>> batch_per_gpu(256, 8)
    32

    Raises
    ------
    InputError : it can't be shared evenly.
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(f"A global batch of {global_batch} can't be shared evenly by {gpus} GPUs: choose a multiple.")
    return global_batch // gpus
