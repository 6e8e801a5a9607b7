"""Check catalog rows against the specs of their GPU."""

from __future__ import annotations

from profet_core.catalog.gpus import load_gpus, told_memory_gib
from profet_core.catalog.instance import Instance
from profet_core.errors import InputError


def agreeing(row: Instance) -> Instance:
    """Return the row unless it gives a whole node's memory as one GPU's.

    Other memory than in the specs means another GPU of that name, which only has a price.

    Raises
    ------
    InputError : the message gives the memory in the specs.
    """
    gpus = load_gpus()
    share_gib = row.gpu_memory_gib / row.gpu_count
    is_share = row.gpu_count > 1 and any(gpu.has_memory(share_gib) for gpu in gpus.named(row.gpu))
    if is_share and told_memory_gib(row.gpu) != row.gpu_memory_gib:
        try:
            gpus.check_memory(row.gpu, row.gpu_memory_gib)
        except InputError as error:
            raise InputError(f"{row.name}: {error}: gpu_memory_gib is the memory of one GPU.") from None
    return row
