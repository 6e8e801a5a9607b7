"""Predicts from profiles that strangers recorded, and compares with what the same workload took elsewhere."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import PredictedLatency, RealCheck, RealReading
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Gpus, Instance, gpu_model, load_gpus, load_shipped
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, ProfetError
from profet_core.prediction.placement import placements
from profet_core.prediction.predict import predict
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.prediction.refusals import refusal
from profet_core.profiles.record import UNKNOWN_DEVICE_OPERATION, Profile
from profet_lab.measurements.real_index import Known, Measured, RealIndex, RealProfile

NO_ANCHOR = "no model for this anchor"
NO_TRUTH = "not measured elsewhere"
NO_LATENCY = "no step latency in the index"
DOUBTED = "the latency would be questioned first"

#: A workload of the measurements -> instance -> step latency, milliseconds.
MeasuredTruth = Callable[[Measured], Mapping[str, float]]


def real_report(
    models: Models,
    index: RealIndex,
    measured: MeasuredTruth | None = None,
    progress: Callable[[int], object] | None = None,
) -> RealReport:
    """Read every profile of the index, and predict where a truth is known.

    Parameters
    ----------
    measured : asked where an entry names a workload of the measurements.
    progress : called with 1 after every profile.

    Raises
    ------
    InputError : the index names a GPU that is not known, or a workload that is not in the measurements.
    """
    # One's own list of instances must not change the result: the shipped catalogue, and a place for every other GPU.
    known = _Gpus(models, load_shipped(), load_gpus())
    checks: list[RealCheck] = []
    readings = []
    truths = [_truth(known, index.profiles, entry, measured) for entry in index.profiles]
    catalog = known.with_places({gpu for truth in truths for gpu in truth.elsewhere})
    for entry, truth in zip(index.profiles, truths, strict=True):
        reading, found = _look_at(known, catalog, index, entry, truth)
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


@dataclass(frozen=True)
class _Truth:
    """What a workload took: on other GPUs, by the instance that stands for each, and on the profile's own."""

    elsewhere: Mapping[str, Known]
    here_ms: float | None


class _Gpus:
    """Which instance stands for a GPU."""

    def __init__(self, models: Models, catalog: Catalog, gpus: Gpus) -> None:
        self.models, self._catalog, self._gpus = models, catalog, gpus

    def profiled(self, gpu: str) -> str | None:
        """The instance that was profiled with this GPU, if one was."""
        model = gpu_model(gpu)
        return next((name for name in self.models.instances if self._catalog[name].gpu_model == model), None)

    def stands_for(self, gpu: str) -> str:
        """The profiled instance, else the GPU's full name."""
        return self.profiled(gpu) or self._gpus.find(gpu).name

    def reaches(self, place: str) -> bool:
        """True if the models can predict what `stands_for` gave."""
        return place in self.models.instances or (place in self._gpus and self.models.transfer is not None)

    def gpu_of(self, instance: str) -> str:
        """Short name of an instance's GPU."""
        return self._catalog[instance].gpu_model if instance in self._catalog else gpu_model(instance)

    def with_places(self, names: set[str]) -> Catalog:
        """The catalogue with an instance for each GPU that was never profiled; its price plays no part."""
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
            for name in sorted(names)
            if name not in self.models.instances
        )


def _truth(known: _Gpus, entries: Sequence[RealProfile], entry: RealProfile, measured: MeasuredTruth | None) -> _Truth:
    """What is known of an entry's workload elsewhere.

    Steps of the same workload in other profiles of the index, then what the index itself says, then the measurements:
    the later one counts.
    """
    steps_ms: dict[str, list[float]] = {}
    for other in entries:
        if entry.workload and other.workload == entry.workload and other.step_ms and other.gpu != entry.gpu:
            steps_ms.setdefault(other.gpu, []).append(other.step_ms)
    found = {
        gpu: Known(statistics.median(values), f"the same network there, median of {len(values)}")
        for gpu, values in steps_ms.items()
    }
    try:
        elsewhere = {known.stands_for(gpu): value for gpu, value in {**found, **entry.elsewhere}.items()}
        if entry.measured is not None and measured is not None:
            elsewhere |= {
                name: Known(latency_ms, f"PROFET measurements of {entry.measured.model}, TensorFlow 2.5")
                for name, latency_ms in measured(entry.measured).items()
            }
        here = elsewhere.pop(known.stands_for(entry.gpu), None) if elsewhere else None
    except InputError as error:
        raise InputError(f"{entry.name}: {error}") from None
    reached = {name: value for name, value in elsewhere.items() if known.reaches(name)}
    return _Truth(MappingProxyType(reached), here.latency_ms if here else None)


def _look_at(
    known: _Gpus, catalog: Catalog, index: RealIndex, entry: RealProfile, truth: _Truth
) -> tuple[RealReading, list[RealCheck]]:
    try:
        profile = index.read(entry)
    except InputError:
        raise
    except ProfetError as error:
        return _reading(entry, truth, None, refusal=str(error)), []
    left_out = _left_out(known.models, profile)
    anchor = known.profiled(entry.gpu)
    if note := _no_check(anchor, entry, truth):
        return _reading(entry, truth, profile, left_out, refusal=refusal(profile), note=note), []
    try:
        given, doubted = _predicted(known.models, catalog, profile, anchor, entry.step_ms, list(truth.elsewhere))
        not_given, _ = _predicted(known.models, catalog, profile, anchor, None, list(truth.elsewhere))
    except NoPredictionError as error:
        return _reading(entry, truth, profile, left_out, refusal=str(error)), []
    with_latency, without = ({row.instance: row for row in said.predictions} for said in (given, not_given))
    trained = known.models.manifest["training_data"]["architectures"]
    checks = [
        RealCheck(
            profile=entry.name,
            anchor=anchor,
            anchor_gpu=known.gpu_of(anchor),
            target=target,
            target_gpu=known.gpu_of(target),
            framework=entry.framework,
            kind=entry.kind,
            basis=with_latency[target].basis,
            trained_on=entry.measured is not None and entry.measured.model in trained,
            step_ms=entry.step_ms,
            truth_ms=value.latency_ms,
            truth=value.source,
            with_latency=_said(with_latency[target]),
            without_latency=_said(without[target]),
        )
        for target, value in truth.elsewhere.items()
    ]
    return _reading(entry, truth, profile, left_out, checks=len(checks), note=DOUBTED if doubted else ""), checks


def _no_check(anchor: str | None, entry: RealProfile, truth: _Truth) -> str:
    """Why an entry can't be compared; empty if it can."""
    if anchor is None:
        return NO_ANCHOR
    if not truth.elsewhere:
        return NO_TRUTH
    return "" if entry.step_ms else NO_LATENCY


def _predicted(
    models: Models, catalog: Catalog, profile: Profile, anchor: str, latency_ms: float | None, targets: list[str]
) -> tuple[Prediction, bool]:
    """The prediction, and whether its latency was doubted: then it is used all the same, as by one who insists."""
    try:
        return predict(models, catalog, profile, anchor, latency_ms=latency_ms, targets=targets), False
    except LatencyDoubtError:
        found = predict(models, catalog, profile, anchor, latency_ms=latency_ms, targets=targets, trust_latency=True)
        return found, True


def _said(row: InstancePrediction) -> PredictedLatency:
    if row.latency_ms is None or row.interval is None:
        raise InputError("These models have no intervals: train them with `profet train`.")
    return PredictedLatency(row.latency_ms, row.interval.low_ms, row.interval.high_ms)


def _left_out(models: Models, profile: Profile) -> float | None:
    """Percent of the GPU's busy time in operations without a class; None without busy time."""
    if profile.device_busy_us <= 0:
        return None
    lost_us = sum(
        row.time_us
        for row in placements(models, profile)
        if row.on_device and not row.idle and (row.operation_class is None or row.operation == UNKNOWN_DEVICE_OPERATION)
    )
    return 100 * lost_us / profile.device_busy_us


def _reading(
    entry: RealProfile,
    truth: _Truth,
    profile: Profile | None,
    left_out: float | None = None,
    *,
    checks: int = 0,
    refusal: str = "",
    note: str = "",
) -> RealReading:
    return RealReading(
        profile=entry.name,
        gpu=entry.gpu,
        framework=entry.framework,
        kind=entry.kind,
        format=profile.source_format if profile else "",
        steps=entry.steps,
        steps_found=profile.steps if profile else None,
        steps_basis=profile.steps_basis if profile else "",
        left_out=left_out,
        here_ms=truth.here_ms,
        checks=checks,
        source=f"{entry.source} ({entry.licence})" if entry.licence else entry.source,
        refusal=refusal,
        note=note,
    )
