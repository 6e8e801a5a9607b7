"""Say how custom machines are shown, and how to add missing prices."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from profet_core.catalog import load_catalog, load_gpus
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus

if TYPE_CHECKING:
    from profet_core.catalog import Gpus
    from profet_lab.datasets.dataset import Dataset


def still_to_price(instances: Iterable[str], dataset: Dataset) -> list[str]:
    """A line for each instance that no catalog has: the offer that `gpus add` made of its GPU, or how to add one."""
    catalog, own = load_catalog(), read_own_gpus(own_gpus_path(), load_gpus())
    gpus, offered = load_gpus().with_own(row.gpu for row in own), {row.name: row.instance for row in own}
    return [
        _line(name, dataset.instances[name].gpu, gpus, offered)
        for name in dict.fromkeys(instances)
        if name not in catalog and name not in offered.values()
    ]


def _line(name: str, gpu: str, gpus: Gpus, offered: Mapping[str, str]) -> str:
    same = next((offered[one.name] for one in gpus.named(gpu) if one.name in offered), None) if gpu else None
    if same is not None:
        return f"{name} is shown as {same}, the instance of your custom GPU"
    return f"{name} needs a price to be shown: profet instances add {name} {_gpu_options(gpu, gpus)} --usd-per-hour N"


def _gpu_options(gpu: str, gpus: Gpus) -> str:
    """How `profet instances add` takes a GPU by the name that its collection has."""
    if not gpu:
        return "--gpu GPU"
    listed = "" if gpus.named(gpu) else " --other-gpu --memory-gib N"
    return f"--gpu {shlex.quote(gpu)}{listed}"
