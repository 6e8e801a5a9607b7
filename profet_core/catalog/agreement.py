"""Rows of a catalogue agree with the data sheet of their GPU."""

from __future__ import annotations

from profet_core.catalog.gpus import load_gpus
from profet_core.catalog.instance import Instance
from profet_core.errors import InputError


def agreeing(row: Instance) -> Instance:
    """The row, if its GPU has no data sheet or has that memory there.

    Raises
    ------
    InputError : saying what the data sheet has; a node's memory is not its GPU's.
    """
    try:
        load_gpus().check_memory(row.gpu, row.gpu_memory_gib)
    except InputError as error:
        raise InputError(f"{row.name}: {error}: gpu_memory_gib is of one GPU.") from None
    return row
