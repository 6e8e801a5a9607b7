"""Predict from the third-party profiles of an index and compare with measured latencies: `real_profiles.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from profet_core.answers.predict import placements
from profet_core.catalog import Catalog, gpu_model, load_shipped
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, ProfetError
from profet_core.latency import Basis
from profet_core.offers import OfferStep
from profet_core.prediction.checks import refusal
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict_many
from profet_core.prediction.targets import recorded_on
from profet_lab.measurements.tables import WORKLOAD, Measurements
from profet_lab.validation.gpus import one_offer_per_gpu
from profet_profiles import read_profile
from profet_profiles.record import UNKNOWN_DEVICE_OPERATION, Profile

INDEX_NAME = "index.json"
_Line = Annotated[str, msgspec.Meta(pattern=r"^\S(.*\S)?\Z")]
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Ms = Annotated[float, msgspec.Meta(gt=0)]


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload of the PROFET measurements."""

    model: _Line
    pixels: _Count
    batch_size: _Count


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step latency on some GPU, milliseconds, and who measured it."""

    latency_ms: _Ms
    source: _Line


class RealProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One profile of the index.

    Attributes
    ----------
    file : its path below the folder.
    framework : name, then version.
    kind : what was trained, as tables show it.
    steps : how many the file covers.
    step_ms : latency of one, milliseconds. None: not known.
    elsewhere : GPU -> what the same workload took there.
    measured : the same workload in the PROFET measurements.
    source, licence : who published it, and under what terms.
    """

    file: _Line
    gpu: _Line
    framework: _Line
    kind: _Line
    steps: _Count | None = None
    step_ms: _Ms | None = None
    elsewhere: dict[str, Known] = {}
    measured: Measured | None = None
    source: str = ""
    licence: str = ""


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    profiles: Annotated[tuple[RealProfile, ...], msgspec.Meta(min_length=1)]


def read_index(folder: Path) -> tuple[RealProfile, ...]:
    """Read `index.json` of `folder`."""
    if not folder.is_dir():
        raise InputError(f"Folder {folder} not found.")
    path = folder / INDEX_NAME
    if not path.is_file():
        raise InputError(f"{folder} has no {INDEX_NAME}: add one that lists its profiles.")
    try:
        entries = msgspec.json.decode(path.read_bytes(), type=_Index).profiles
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from None
    for entry in entries:
        if not (folder / entry.file).is_file():
            raise InputError(f"{path} lists {entry.file}, which is missing: add the file or remove the entry.")
    return entries


#: A workload of the measurements -> instance -> step latency, milliseconds.
MeasuredTruth = Callable[[Measured], Mapping[str, float]]
Report = dict[str, Any]
_PAIR = ("anchor", "anchor_gpu", "target", "target_gpu", "basis")

NO_ANCHOR = "no model for this anchor"
NO_TRUTH = "not measured elsewhere"
NO_LATENCY = "no step latency in the index"
DOUBTED = "the latency is implausible"


def _profiled(models: Models, gpu: str) -> str | None:
    """Return the instance that was profiled with this GPU, if one was."""
    shipped = load_shipped()
    return next((name for name in models.instances if shipped[name].gpu_model == gpu_model(gpu)), None)


def _instance_of(models: Models, gpu: str) -> str:
    """Return the profiled instance with this GPU, else the GPU's full name, which `one_offer_per_gpu` has."""
    return _profiled(models, gpu) or models.transfer.gpus.find(gpu).name


def measured_truth(
    models: Models, entry: RealProfile, measured: MeasuredTruth | None
) -> tuple[dict[str, Known], float | None]:
    """Return an entry's measured latencies: by the instance of each GPU, and on the profile's own GPU, milliseconds.

    What the index itself says, then the measurements: the later one counts.
    """
    try:
        truth = {_instance_of(models, gpu): value for gpu, value in entry.elsewhere.items()}
        if entry.measured is not None and measured is not None:
            source = f"PROFET measurements of {entry.measured.model}, TensorFlow 2.5"
            truth |= {name: Known(latency_ms, source) for name, latency_ms in measured(entry.measured).items()}
        here = truth.pop(_instance_of(models, entry.gpu), None) if truth else None
    except InputError as error:
        raise InputError(f"{entry.file}: {error}") from None
    supported = {*models.instances, *models.transfer.gpus}
    return {name: value for name, value in truth.items() if name in supported}, here.latency_ms if here else None


def measured_latencies(measurements: Measurements, workload: Measured) -> dict[str, float]:
    """Instance -> median step latency of the workload over its repeats, milliseconds."""
    table = measurements.all_latencies
    rows = table[(table[WORKLOAD] == [workload.model, workload.pixels, workload.batch_size]).all(axis=1)]
    if rows.empty:
        raise InputError(
            f"The measurements hold no {workload.model} at {workload.pixels} pixels, batch {workload.batch_size}: "
            "correct the index of the real profiles."
        )
    return {str(name): float(ms) for name, ms in rows.groupby("instance")["batch_latency_ms"].median().items()}


def real_report(models: Models, folder: Path, measured: MeasuredTruth | None = None) -> Report:
    """Read every profile of the folder's index, and predict where a truth is known.

    Parameters
    ----------
    measured : called where an entry names a workload of the measurements.

    Returns
    -------
    pairs, mean : `figures` of each pair, and of GPUs that were profiled (None: there are none), percent.
    profiles : one profile towards one GPU on which the same workload was measured, milliseconds; `trained_on`: the
        models learned from measurements of this very network.
    read : what the readers made of each profile: `steps` by the index and `steps_found` in the file; `left_out`,
        percent of the GPU's busy time without an operation class; `here_ms`, measured by others on the same GPU;
        `refusal`, why it was not read or not predicted from; `note`, why there is no comparison.
    """
    entries = read_index(folder)
    truths = [measured_truth(models, entry, measured) for entry in entries]
    catalog = one_offer_per_gpu(models)
    checks: list[Report] = []
    readings = []
    for entry, (elsewhere, here_ms) in zip(entries, truths, strict=True):
        reading, compared = _compare(models, catalog, folder, entry, elsewhere)
        steps_right = None if None in (entry.steps, reading["steps_found"]) else entry.steps == reading["steps_found"]
        readings.append({**reading, "here_ms": here_ms, "checks": len(compared), "steps_right": steps_right})
        checks += compared
    profiled = of_profiled(checks)
    return {
        "pairs": [
            {**{name: rows[-1][name] for name in _PAIR}, **figures(rows)}
            for rows in grouped(checks, ("anchor", "target"))
        ],
        "mean": figures(profiled) if profiled else None,
        "profiles": checks,
        "read": readings,
    }


def of_profiled(checks: Iterable[Report]) -> list[Report]:
    """Return checks towards GPUs that were profiled for the training data: what the means are over."""
    return [check for check in checks if check["basis"] == Basis.MEASURED]


def figures(checks: Sequence[Report]) -> dict[str, float]:
    """Mean absolute error and share of measurements inside the 90% interval, percent; every check counts the same."""
    n = len(checks)
    means: dict[str, float] = {"n": n}
    for case, ending in (("with_latency", ""), ("without_latency", "_without_latency")):
        rows = [(check[case], check["truth_ms"]) for check in checks]
        means[f"mape_{case}"] = sum(abs(100 * (row["latency_ms"] / true - 1)) for row, true in rows) / n
        inside = [row["low_ms"] <= true <= row["high_ms"] for row, true in rows]
        means[f"coverage_90{ending}"] = 100.0 * sum(inside) / n
    return means


def grouped(checks: Iterable[Report], keys: Sequence[str]) -> list[list[Report]]:
    """Return checks that share these values, in the order they are first met."""
    groups: dict[tuple, list[Report]] = {}
    for check in checks:
        groups.setdefault(tuple(check[key] for key in keys), []).append(check)
    return list(groups.values())


def _compare(
    models: Models, catalog: Catalog, folder: Path, entry: RealProfile, truth: Mapping[str, Known]
) -> tuple[Report, list[Report]]:
    """Return the outcome of one entry, and its predictions beside the truth."""
    reading: Report = {
        "profile": entry.file,
        "gpu": entry.gpu,
        "framework": entry.framework,
        "kind": entry.kind,
        "format": "",
        "steps": entry.steps,
        "steps_found": None,
        "steps_basis": "",
        "left_out": None,
        "source": f"{entry.source} ({entry.licence})" if entry.licence else entry.source,
        "refusal": "",
        "note": "",
    }
    try:
        with (folder / entry.file).open("rb") as file:
            profile = read_profile(file, Path(entry.file).name)
    except OSError as error:
        raise InputError(f"{folder / entry.file} can't be read: {error.strerror}.") from None
    except InputError:
        raise
    except ProfetError as error:
        return {**reading, "refusal": str(error)}, []
    reading |= {
        "format": profile.source_format,
        "steps_found": profile.steps,
        "steps_basis": profile.steps_basis,
        "left_out": _left_out_percent(models, profile),
    }
    anchor = _profiled(models, entry.gpu) or recorded_on(models, entry.gpu)
    if anchor is None or entry.step_ms is None or not truth:
        note = NO_ANCHOR if anchor is None else NO_LATENCY if truth else NO_TRUTH
        return {**reading, "refusal": refusal(profile), "note": note}, []
    predict = partial(predict_many, models, catalog, [profile], anchor, targets=list(truth))
    try:
        try:
            given = predict(latencies_ms=[entry.step_ms])[0]
        except LatencyDoubtError:
            reading["note"] = DOUBTED
            given = predict(latencies_ms=[entry.step_ms], trust_latency=True)[0]
        without = predict(latencies_ms=None)[0]
    except NoPredictionError as error:
        return {**reading, "refusal": str(error)}, []
    trained = models.manifest["training_data"]["architectures"]
    rows = [{row.instance: row for row in prediction.predictions} for prediction in (given, without)]
    checks: list[Report] = [
        {
            "profile": entry.file,
            "anchor": anchor,
            "anchor_gpu": catalog[anchor].gpu_model,
            "target": target,
            "target_gpu": catalog[target].gpu_model,
            "framework": entry.framework,
            "kind": entry.kind,
            "basis": str(rows[0][target].basis),
            "trained_on": entry.measured is not None and entry.measured.model in trained,
            "step_ms": entry.step_ms,
            "truth_ms": value.latency_ms,
            "truth": value.source,
            "with_latency": _predicted_latency(rows[0][target]),
            "without_latency": _predicted_latency(rows[1][target]),
        }
        for target, value in truth.items()
    ]
    return reading, checks


def _predicted_latency(row: OfferStep) -> dict[str, float]:
    if row.latency_ms is None or row.interval is None:
        raise InputError("These models have no intervals: train them with `profet train`.")
    return {"latency_ms": row.latency_ms, "low_ms": row.interval.low_ms, "high_ms": row.interval.high_ms}


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
