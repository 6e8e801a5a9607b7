"""Reference latencies of a real profile's workload, and an instance per GPU."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Gpus, Instance, gpu_model
from profet_core.errors import InputError
from profet_core.prediction.anchors import recorded_on
from profet_lab.measurements.real_index import Known, Measured, RealProfile
from profet_lab.measurements.tables import Measurements

#: A workload of the measurements -> instance -> step latency, milliseconds.
MeasuredTruth = Callable[[Measured], Mapping[str, float]]


class Places:
    """Which instance stands for a GPU."""

    def __init__(self, models: Models, catalog: Catalog, gpus: Gpus) -> None:
        self.models, self._catalog, self._gpus = models, catalog, gpus

    def profiled(self, gpu: str) -> str | None:
        """The instance that was profiled with this GPU, if one was."""
        model = gpu_model(gpu)
        return next((name for name in self.models.instances if self._catalog[name].gpu_model == model), None)

    def anchor(self, gpu: str) -> str | None:
        """What a profile of this GPU is predicted from: the profiled instance, or the GPU itself; None: nothing can."""
        return self.profiled(gpu) or recorded_on(self.models, gpu)

    def stands_for(self, gpu: str) -> str:
        """The profiled instance, else the GPU's full name."""
        return self.profiled(gpu) or self._gpus.find(gpu).name

    def reaches(self, place: str) -> bool:
        """True if the models can predict what `stands_for` gave."""
        return place in self.models.instances or (place in self._gpus and self.models.transfer is not None)

    def gpu_of(self, instance: str) -> str:
        """Short name of an instance's GPU."""
        return self._catalog[instance].gpu_model if instance in self._catalog else gpu_model(instance)

    def catalog_with(self, names: Iterable[str]) -> Catalog:
        """The catalog with an instance for each unprofiled GPU; prices are ignored."""
        return self._catalog.with_own(
            Instance(
                name=name,
                gpu=name,
                gpu_count=1,
                gpu_memory_gib=self._gpus[name].memory_gib,
                vcpus=None,
                usd_per_hour=1.0,
                region="none",
                os="linux",
                market="own",
                status="retired",
                as_of="2020",
                source="stands for the GPU alone",
            )
            for name in sorted(set(names))
            if name not in self.models.instances
        )


@dataclass(frozen=True)
class Truth:
    """What a workload took: on other GPUs, by the instance that stands for each, and on the profile's own."""

    elsewhere: Mapping[str, Known]
    here_ms: float | None


def truth_of(
    places: Places, entries: Sequence[RealProfile], entry: RealProfile, measured: MeasuredTruth | None
) -> Truth:
    """What is known of an entry's workload elsewhere.

    Steps of the same workload in other profiles of the index, then what the index itself says, then the measurements:
    the later one counts.

    Raises
    ------
    InputError : a GPU that is not known, or a workload that is not in the measurements; it names the entry.
    """
    try:
        steps = {**_same_workload(entries, entry), **entry.elsewhere}
        elsewhere = {places.stands_for(gpu): value for gpu, value in steps.items()} | _measured(entry, measured)
        here = elsewhere.pop(places.stands_for(entry.gpu), None) if elsewhere else None
    except InputError as error:
        raise InputError(f"{entry.name}: {error}") from None
    reached = {name: value for name, value in elsewhere.items() if places.reaches(name)}
    return Truth(MappingProxyType(reached), here.latency_ms if here else None)


def _same_workload(entries: Sequence[RealProfile], entry: RealProfile) -> dict[str, Known]:
    """GPU -> the median step of the same workload in other profiles of the index."""
    steps_ms: dict[str, list[float]] = {}
    for other in entries:
        if entry.workload and other.workload == entry.workload and other.step_ms and other.gpu != entry.gpu:
            steps_ms.setdefault(other.gpu, []).append(other.step_ms)
    return {
        gpu: Known(statistics.median(values), f"the same network there, median of {len(values)}")
        for gpu, values in steps_ms.items()
    }


def _measured(entry: RealProfile, measured: MeasuredTruth | None) -> dict[str, Known]:
    """Instance -> the measured step of the entry's workload; empty if it was not measured."""
    if entry.measured is None or measured is None:
        return {}
    source = f"PROFET measurements of {entry.measured.model}, TensorFlow 2.5"
    return {name: Known(latency_ms, source) for name, latency_ms in measured(entry.measured).items()}


def measured_latencies(measurements: Measurements, workload: Measured) -> dict[str, float]:
    """Instance -> median step latency of the workload over its repeats, milliseconds.

    Raises
    ------
    InputError : the measurements don't hold that workload.
    """
    table = measurements.all_latencies
    rows = table[
        (table["model"] == workload.model)
        & (table["pixels"] == workload.pixels)
        & (table["batch_size"] == workload.batch_size)
    ]
    if rows.empty:
        raise InputError(
            f"The measurements hold no {workload.model} at {workload.pixels} pixels, batch {workload.batch_size}: "
            "correct the index of the real profiles."
        )
    return {str(name): float(np.median(part["batch_latency_ms"])) for name, part in rows.groupby("instance")}
