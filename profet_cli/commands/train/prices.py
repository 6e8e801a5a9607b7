"""What is still to do for machines of one's own before they are shown: their prices aren't known."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from profet_cli.commands.instances.own_file import known_gpus
from profet_core.catalog import load_catalog

if TYPE_CHECKING:
    from profet_lab.datasets.dataset import Dataset


def still_to_price(instances: Iterable[str], dataset: Dataset) -> list[str]:
    """A line for each instance that no catalogue has, with the command that adds it."""
    known = load_catalog()
    return [
        f"{name} is shown once it has a price: profet instances add {name} "
        f"{_gpu_options(dataset.instances[name].gpu)} --usd-per-hour N"
        for name in dict.fromkeys(instances)
        if name not in known
    ]


def _gpu_options(gpu: str) -> str:
    """How `profet instances add` takes a GPU by the name that its collection has."""
    if not gpu:
        return "--gpu GPU"
    listed = "" if known_gpus().named(gpu) else " --other-gpu --memory-gib N"
    return f"--gpu {shlex.quote(gpu)}{listed}"
