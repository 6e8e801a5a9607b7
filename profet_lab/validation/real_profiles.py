"""Predict from third-party profiles and compare with measured latencies."""

from __future__ import annotations

from datetime import UTC, datetime

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, load_gpus, load_shipped
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, ProfetError
from profet_core.prediction.placement import placements
from profet_core.prediction.predict import predict
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.prediction.refusals import refusal
from profet_core.profiles.record import UNKNOWN_DEVICE_OPERATION, Profile
from profet_lab.measurements.real_index import RealIndex, RealProfile
from profet_lab.progress import Progress
from profet_lab.validation.real_report import PredictedLatency, RealCheck, RealReading, RealReport
from profet_lab.validation.real_truth import MeasuredTruth, Places, Truth, truth_of

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
    try:
        profile = index.read(entry)
    except InputError:
        raise
    except ProfetError as error:
        return _reading(entry, truth, None, refusal=str(error)), []
    left_out = _left_out_percent(places.models, profile)
    anchor = places.anchor(entry.gpu)
    if anchor is None or entry.step_ms is None or not truth.elsewhere:
        note = _no_check(anchor, truth)
        return _reading(entry, truth, profile, left_out, refusal=refusal(profile), note=note), []
    try:
        given, doubted = _predicted(places.models, catalog, profile, anchor, entry.step_ms, list(truth.elsewhere))
        not_given, _ = _predicted(places.models, catalog, profile, anchor, None, list(truth.elsewhere))
    except NoPredictionError as error:
        return _reading(entry, truth, profile, left_out, refusal=str(error)), []
    checks = _checks(places, entry, truth, anchor, entry.step_ms, given, not_given)
    return _reading(entry, truth, profile, left_out, checks=len(checks), note=DOUBTED if doubted else ""), checks


def _checks(
    places: Places,
    entry: RealProfile,
    truth: Truth,
    anchor: str,
    step_ms: float,
    given: Prediction,
    not_given: Prediction,
) -> list[RealCheck]:
    with_latency, without = ({row.instance: row for row in found.predictions} for found in (given, not_given))
    trained = places.models.manifest["training_data"]["architectures"]
    return [
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
            step_ms=step_ms,
            truth_ms=value.latency_ms,
            truth=value.source,
            with_latency=_predicted_latency(with_latency[target]),
            without_latency=_predicted_latency(without[target]),
        )
        for target, value in truth.elsewhere.items()
    ]


def _no_check(anchor: str | None, truth: Truth) -> str:
    """Why an entry can't be compared."""
    if anchor is None:
        return NO_ANCHOR
    return NO_LATENCY if truth.elsewhere else NO_TRUTH


def _predicted(
    models: Models, catalog: Catalog, profile: Profile, anchor: str, latency_ms: float | None, targets: list[str]
) -> tuple[Prediction, bool]:
    """The prediction, and whether its latency was questioned; it is used either way."""
    try:
        return predict(models, catalog, profile, anchor, latency_ms=latency_ms, targets=targets), False
    except LatencyDoubtError:
        found = predict(models, catalog, profile, anchor, latency_ms=latency_ms, targets=targets, trust_latency=True)
        return found, True


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


def _reading(
    entry: RealProfile,
    truth: Truth,
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
