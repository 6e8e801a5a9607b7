"""Numbers of GPUs to compare, and the batch per GPU."""

from __future__ import annotations

from profet_core.errors import InputError
from profet_core.scaleout.strategies import MOST_GPUS
from profet_core.units import whole_number


def usual_counts(per_node: int) -> tuple[int, ...]:
    """Default numbers of GPUs.

    They are 1, 2, 4, ... of a node, the whole node, then 2, 4, ... nodes.

    >>> usual_counts(8), usual_counts(6)
    ((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 6, 12, 24, 48))
    """
    doubled = [2**power for power in range(MOST_GPUS.bit_length())]
    parts = {count for count in doubled if count <= per_node}
    return tuple(sorted(parts | {per_node * count for count in doubled if per_node * count <= MOST_GPUS}))


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """Share of a batch per GPU.

    >>> batch_per_gpu(256, 8)
    32

    Raises
    ------
    InputError : it can't be divided evenly.
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(
            f"A global batch of {global_batch} does not divide evenly over {gpus} GPUs: choose a multiple."
        )
    return global_batch // gpus
