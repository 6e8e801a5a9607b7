"""Memory evidence in profile times: bandwidth-bound operations move the activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model
from profet_core.errors import InputError
from profet_core.operations.classes import load_operation_classes
from profet_core.profiles.record import Profile
from profet_core.units import US_PER_MS


@dataclass(frozen=True, slots=True)
class DeviceTimes:
    """Device time of one step by operation class, and the GPU it was recorded on.

    Attributes
    ----------
    class_us : device operation class -> microseconds of the step.
    """

    class_us: Mapping[str, float]
    gpu_model: str
    bandwidth_gb_per_s: float


def device_times(profile: Profile, catalog: Catalog, gpus: Gpus, anchor: str) -> DeviceTimes | None:
    """Times of a profile that indicate memory use; None if they don't.

    They don't for other frameworks, GPUs without specs, and profiles truncated by TensorFlow, which lack many of the
    relevant operations.
    """
    framework = (profile.meta.framework or "tensorflow").lower()
    gpu = anchor_sheet(catalog, gpus, anchor)
    if gpu is None:
        return None
    if not framework.startswith("tensorflow"):
        return None
    classes = load_operation_classes()
    encoded = classes.encode([profile])[0]
    if encoded.truncated[0]:
        return None
    class_us = {name: US_PER_MS * float(ms) for name, ms in zip(classes.names, encoded.times_ms[0], strict=True)}
    return DeviceTimes(class_us, gpu_model(gpu.name), gpu.bandwidth_gb_per_s)


def anchor_sheet(catalog: Catalog, gpus: Gpus, anchor: str) -> Gpu | None:
    """Specs of the anchor, an instance or a GPU by name; None: no specs."""
    entry = catalog.get(anchor)
    try:
        return gpus.find(anchor) if entry is None else gpus.find(entry.gpu, entry.gpu_memory_gib)
    except InputError:
        return None
