"""Predict from third-party profiles and compare with measured latencies."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Gpus, Instance, gpu_model, load_gpus, load_shipped
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, ProfetError
from profet_core.prediction.anchors import recorded_on
from profet_core.prediction.checks import refusal
from profet_core.prediction.diagnosis import placements
from profet_core.prediction.predict import predict_many
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.profiles.record import UNKNOWN_DEVICE_OPERATION, Profile
from profet_lab.measurements.real_index import Known, Measured, RealIndex, RealProfile
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.validation.real_report import PredictedLatency, RealCheck, RealReading, RealReport

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
    return {str(name): float(ms) for name, ms in rows.groupby("instance")["batch_latency_ms"].median().items()}


NO_ANCHOR = "no model for this anchor"
NO_TRUTH = "not measured elsewhere"
NO_LATENCY = "no step latency in the index"
DOUBTED = "the latency is implausible"


def real_report(
    models: Models,
    index: RealIndex,
    measured: MeasuredTruth | None = None,
    progress: Progress | None = None,
) -> RealReport:
    """Read every profile of the index, and predict where a truth is known.

    Parameters
    ----------
    measured : called where an entry names a workload of the measurements.
    progress : called with 1 after every profile.

    Raises
    ------
    InputError : the index names a GPU that is not known, or a workload that is not in the measurements.
    """
    # Your own list of instances must not change the result: the shipped catalog, and a place for every other GPU.
    places = Places(models, load_shipped(), load_gpus())
    checks: list[RealCheck] = []
    readings = []
    truths = [truth_of(places, index.profiles, entry, measured) for entry in index.profiles]
    catalog = places.catalog_with(gpu for truth in truths for gpu in truth.elsewhere)
    for entry, truth in zip(index.profiles, truths, strict=True):
        reading, found = _compare(places, catalog, index, entry, truth)
        checks += found
        readings.append(reading)
        if progress:
            progress(1)
    return RealReport(
        models_checksum=models.manifest["checksum"],
        made=datetime.now(UTC).date().isoformat(),
        checks=tuple(checks),
        readings=tuple(readings),
    )


def _compare(
    places: Places, catalog: Catalog, index: RealIndex, entry: RealProfile, truth: Truth
) -> tuple[RealReading, list[RealCheck]]:
    """What became of one entry, and its predictions beside the truth."""
    reading = RealReading(
        profile=entry.name,
        gpu=entry.gpu,
        framework=entry.framework,
        kind=entry.kind,
        format="",
        steps=entry.steps,
        steps_found=None,
        steps_basis="",
        left_out=None,
        here_ms=truth.here_ms,
        checks=0,
        source=f"{entry.source} ({entry.licence})" if entry.licence else entry.source,
        refusal="",
        note="",
    )
    try:
        profile = index.read(entry)
    except InputError:
        raise
    except ProfetError as error:
        return replace(reading, refusal=str(error)), []
    reading = replace(
        reading,
        format=profile.source_format,
        steps_found=profile.steps,
        steps_basis=profile.steps_basis,
        left_out=_left_out_percent(places.models, profile),
    )
    anchor, targets = places.anchor(entry.gpu), list(truth.elsewhere)
    if anchor is None or entry.step_ms is None or not targets:
        note = NO_ANCHOR if anchor is None else NO_LATENCY if targets else NO_TRUTH
        return replace(reading, refusal=refusal(profile), note=note), []
    try:
        given, doubted = _predicted(places.models, catalog, profile, anchor, entry.step_ms, targets)
        not_given, _ = _predicted(places.models, catalog, profile, anchor, None, targets)
    except NoPredictionError as error:
        return replace(reading, refusal=str(error)), []
    trained = places.models.manifest["training_data"]["architectures"]
    with_latency, without = ({row.instance: row for row in found.predictions} for found in (given, not_given))
    checks = [
        RealCheck(
            profile=entry.name,
            anchor=anchor,
            anchor_gpu=places.gpu_of(anchor),
            target=target,
            target_gpu=places.gpu_of(target),
            framework=entry.framework,
            kind=entry.kind,
            basis=with_latency[target].basis,
            trained_on=entry.measured is not None and entry.measured.model in trained,
            step_ms=entry.step_ms,
            truth_ms=value.latency_ms,
            truth=value.source,
            with_latency=_predicted_latency(with_latency[target]),
            without_latency=_predicted_latency(without[target]),
        )
        for target, value in truth.elsewhere.items()
    ]
    return replace(reading, checks=len(checks), note=DOUBTED if doubted else ""), checks


def _predicted(
    models: Models, catalog: Catalog, profile: Profile, anchor: str, latency_ms: float | None, targets: list[str]
) -> tuple[Prediction, bool]:
    """The prediction, and whether its latency was questioned; it is used either way."""
    known_ms = None if latency_ms is None else [latency_ms]
    predict = partial(predict_many, models, catalog, [profile], anchor, latencies_ms=known_ms, targets=targets)
    try:
        return predict()[0], False
    except LatencyDoubtError:
        return predict(trust_latency=True)[0], True


def _predicted_latency(row: InstancePrediction) -> PredictedLatency:
    if row.latency_ms is None or row.interval is None:
        raise InputError("These models have no intervals: train them with `profet train`.")
    return PredictedLatency(row.latency_ms, row.interval.low_ms, row.interval.high_ms)


def _left_out_percent(models: Models, profile: Profile) -> float | None:
    """Percent of the GPU's busy time in operations without a class; None without busy time."""
    if profile.device_busy_us <= 0:
        return None
    lost_us = sum(
        row.time_us
        for row in placements(models, profile)
        if row.on_device and not row.idle and (row.operation_class is None or row.operation == UNKNOWN_DEVICE_OPERATION)
    )
    return 100 * lost_us / profile.device_busy_us
