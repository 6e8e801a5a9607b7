"""Anchors of a prediction: catalog instances and GPUs, profiled or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu, is_laptops, is_no_gpu, is_part_of_a_gpu
from profet_core.errors import InputError
from profet_core.transfer.targets import Host, host_named

if TYPE_CHECKING:
    from profet_core.prediction.models import Models

_ADD_IT = "add it as a custom GPU with that name."
_NO_GPU = "an accelerator that is no GPU, and the models support GPUs only: record the step on a GPU."
_NO_WHOLE_GPU = "a GPU slice: record the step on a whole GPU."
_NO_CARD = f"a laptop GPU, which is slower than the card of that name: {_ADD_IT}"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Instance or GPU on which profiles were recorded.

    Attributes
    ----------
    name : of the instance, or the GPU's full name. instance : the profiled instance whose models read the profiles.
    gpu : None if it is that instance's GPU; else the unprofiled GPU, whose profiles are mapped to `instance`.
    """

    name: str
    instance: str
    gpu: Gpu | None
    host: Host


def anchor_names(models: Models) -> tuple[str, ...]:
    """All anchors: profiled instances, then unprofiled GPUs with specs.

    GPUs with measured steps come first among the latter.
    """
    measured = {name for name, _ in models.transfer.calibrated}
    others = (name for name in models.transfer.gpus if name not in models.transfer.profiled_gpus)
    return (*models.instances, *sorted(others, key=lambda name: (name not in measured, name.lower())))


def find_anchor(models: Models, catalog: Catalog, name: str) -> Anchor:
    """Find the anchor by name: a catalog instance, or a GPU as named in specs or a profile.

    Raises
    ------
    InputError : the name is unknown.
    """
    if name in models.instances:
        return Anchor(name, name, None, models.transfer.step.hosts[name])
    transfer = models.transfer
    entry = catalog.get(name)
    if entry is None and not transfer.gpus.named(name) and (reason := _no_card(name)):
        raise InputError(f"The anchor can't be {name!r}, {reason}")
    try:
        gpu = transfer.gpus.find(name) if entry is None else transfer.gpus.find(entry.gpu, entry.gpu_memory_gib)
    except InputError as error:
        raise InputError(
            f"Unknown anchor {name!r}: give the GPU it was profiled on, such as T4, or an instance of the catalog. "
            f"{error}"
        ) from None
    host = host_named("" if entry is None else entry.host, gpu.compute_capability)
    same = transfer.profiled_gpus.get(gpu.name)
    # All spellings of a GPU map to one name.
    name = gpu.name if entry is None else name
    return Anchor(name, transfer.reference, gpu, host) if same is None else Anchor(name, same, None, host)


def anchor_gpu(models: Models, anchor: Anchor) -> str:
    """Full name of an anchor's GPU."""
    return models.transfer.step.instances[anchor.instance].gpu if anchor.gpu is None else anchor.gpu.name


def recorded_on(models: Models, recorded: str | None) -> str | None:
    """Anchor of a profile's GPU: a profiled instance, or the full name of another GPU; None if unknown."""
    if recorded is None or unknown_gpu(models, recorded):
        return None
    try:
        gpu = models.transfer.gpus.find(recorded)
    except InputError:
        return None
    return models.transfer.profiled_gpus.get(gpu.name, gpu.name)


def unknown_gpu(models: Models, recorded: str) -> str:
    """Why no prediction can start from a profile's GPU, and what to do: one line; empty if one can."""
    if models.transfer.gpus.named(recorded):
        # If several GPUs share the model name, the user must choose.
        return ""
    says = f"The profile says it was recorded on {recorded}"
    if reason := _no_card(recorded):
        return f"{says}, {reason}"
    return f"{says}, whose specs are unknown: {_ADD_IT}"


def _no_card(name: str) -> str:
    """Why a name is of no whole card, and what to do; empty if it isn't."""
    if is_no_gpu(name):
        return _NO_GPU
    if is_part_of_a_gpu(name):
        return _NO_WHOLE_GPU
    return _NO_CARD if is_laptops(name) else ""


def anchor_named(models: Models, catalog: Catalog, name: str) -> str | None:
    """The one of `anchor_names` that a name means: an instance stands for its GPU; None: nothing has that name."""
    if name in anchor_names(models):
        return name
    try:
        found = find_anchor(models, catalog, name)
    except InputError:
        return None
    return found.instance if found.gpu is None else found.gpu.name


def anchor_in_text(models: Models, catalog: Catalog, text: str) -> str | None:
    """The one anchor that a text, such as a file's name, has a word for, such as "g3s" or "V100"; else None."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if re.search(r"[A-Za-z]\d", word)]
    instances = {one.partition(".")[0]: one for one in anchor_names(models) if one in catalog}
    found = {instances.get(word.lower()) or anchor_named(models, catalog, word) for word in words} - {None}
    return found.pop() if len(found) == 1 else None
