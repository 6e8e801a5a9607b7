"""Reads `transfer_validation.json`, as `profet validate --transfer --card` wrote it for one `transfer.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType

from profet_core.accuracy.transfer import (
    CORRECTED,
    RAW,
    DerivedGpu,
    Direction,
    Figures,
    GpuErrors,
    MemoryAccuracy,
    MemoryScores,
    Route,
    Served,
    TransferAccuracy,
)
from profet_core.accuracy.validation import Errors
from profet_core.errors import ArtifactError
from profet_core.files import default_models_folder, finite_number, manifest_checksum, strict_json
from profet_core.memory.model import MemoryModel
from profet_core.transfer.model import TransferModel

TRANSFER_REPORT_NAME = "transfer_validation.json"

#: Anchor's latency given -> how the report names it.
_CASES = {True: "with_latency", False: "without_latency"}
_WRITE_AGAIN = "get it again (git checkout models) or run `profet validate --transfer --card`"


def load_transfer_validation(
    model: TransferModel, folder: Path | str | None = None, *, memory: MemoryModel | None = None
) -> Mapping:
    """The report's sections by name ("left_out_gpus", "derived", "memory") with the day it was "made".

    Parameters
    ----------
    memory : None: its section may belong to any `memory.json`.

    Raises
    ------
    ArtifactError : it is missing or damaged, or was written for another `transfer.json` or `memory.json`.
    """
    path = _path(folder)
    try:
        report = strict_json(path)
    except OSError:
        raise ArtifactError(f"The accuracy report {path} is missing: {_WRITE_AGAIN}.") from None
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(report, dict) or report.get("checksum") != manifest_checksum(report):
        raise _damaged(path)
    if report.get("transfer_checksum") != model.checksum:
        raise ArtifactError(f"The figures in {path} belong to another transfer.json than that loaded: {_WRITE_AGAIN}.")
    if memory is not None and report.get("memory_checksum") != memory.checksum:
        raise ArtifactError(f"The figures in {path} belong to another memory.json than that loaded: {_WRITE_AGAIN}.")
    return MappingProxyType(report)


def load_transfer_accuracy(
    model: TransferModel, memory: MemoryModel, folder: Path | str | None = None
) -> TransferAccuracy:
    """The same report as records.

    Raises
    ------
    ArtifactError : as `load_transfer_validation`, and where a figure is missing.
    """
    report = load_transfer_validation(model, folder, memory=memory)
    try:
        return read_transfer_accuracy(report)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(_path(folder)) from None


def read_transfer_accuracy(report: Mapping) -> TransferAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    gpus, derived = report["left_out_gpus"], report["derived"]
    routes = dict(derived["routes"])
    by_model = routes.pop("by_model")
    found = TransferAccuracy(
        made=str(report["made"]),
        seed=_whole(report["seed"]),
        transfer_checksum=str(report["transfer_checksum"]),
        memory_checksum=str(report["memory_checksum"]),
        directions=tuple(_direction(row, _CASES) for row in gpus["directions"]),
        mean=GpuErrors(**_errors(gpus["mean"], _CASES)),
        by_gpu={str(name): GpuErrors(**_errors(row, _CASES)) for name, row in gpus["by_gpu"].items()},
        by_model={str(name): finite_number(value) for name, value in gpus["by_model"].items()},
        other_gpus=tuple(_direction(row, [True]) for row in gpus["other_gpus"]),
        routes={str(name): _route(row) for name, row in routes.items()},
        routes_by_model={
            str(name): (finite_number(row["T4 -> V100"]), finite_number(row["V100 -> T4"]))
            for name, row in by_model.items()
        },
        derived={str(name): _derived(row) for name, row in derived["gpus"].items()},
        memory=_memory(report["memory"]),
    )
    if not found.directions or not {RAW, CORRECTED} <= found.routes.keys() or not found.memory.served:
        raise ValueError("empty")
    if any(row.one_constant is None for row in (*found.directions, found.mean, *found.by_gpu.values())):
        raise ValueError("one plain constant is what every direction is judged by")
    return found


def _direction(row: Mapping, given: Iterable[bool]) -> Direction:
    published = _figures(row, "published_{}_with_latency") if "published_mape_with_latency" in row else None
    return Direction(
        **_errors(row, given),
        anchor=str(row["anchor"]),
        target=str(row["target"]),
        n=_whole(row["n"]),
        published=published,
    )


def _errors(row: Mapping, given: Iterable[bool]) -> dict:
    known = list(given)
    return {
        "point": {case: _figures(row, f"{{}}_{_CASES[case]}") for case in known},
        "sheet_only": {case: _figures(row, f"sheet_only_{{}}_{_CASES[case]}") for case in known},
        "one_constant": _maybe(row.get("one_constant")),
    }


def _figures(row: Mapping, name: str) -> Figures:
    return Figures(**{field.name: finite_number(row[name.format(field.name)]) for field in fields(Figures)})


def _route(row: Mapping) -> Route:
    ends = (finite_number(row[name]) for name in ("T4 -> V100", "V100 -> T4", "median_ratio_t4_to_v100"))
    return Route(_whole(row["n"]), *ends)


def _derived(row: Mapping) -> DerivedGpu:
    return DerivedGpu(
        n=_whole(row["n"]),
        law=finite_number(row["law"]),
        law_by_model={str(name): finite_number(value) for name, value in row["law_by_model"].items()},
        median_ratio_to_t4=finite_number(row["median_ratio_to_t4"]),
        mean=_both(row, "mean"),
        served=tuple(
            Served(
                anchor=str(part["anchor"]),
                n=_whole(part["n"]),
                **{name: _both(part, name) for name in ("mape", "missed_90", "median_interval_pct")},
                claims=_maybe(part.get("claims_pct_with_latency")),
                claims_right=_maybe(part.get("claims_right_pct_with_latency")),
            )
            for part in row["served"]
        ),
    )


def _memory(row: Mapping) -> MemoryAccuracy:
    return MemoryAccuracy(
        architectures=_whole(row["architectures"]),
        certain=finite_number(row["certain"]),
        profiled_batch=_whole(row["profiled_batch"]),
        pairs=_whole(row["ran_elsewhere"]["pairs"]),
        failures=_whole(row["ran_elsewhere"]["failures"]),
        layers_known=_scores(row["arithmetic"]),
        served={str(name): _scores(part) for name, part in row["served"].items()},
    )


def _scores(row: Mapping) -> MemoryScores:
    kinds = {"int": _whole, "float": finite_number, "float | None": _maybe}
    found = MemoryScores(**{field.name: kinds[field.type](row[field.name]) for field in fields(MemoryScores)})
    if found.did_not_run < 1:
        raise ValueError("nothing that did not run was asked for")
    return found


def _both(row: Mapping, name: str) -> Errors:
    return Errors(*(finite_number(row[f"{name}_{case}"]) for case in _CASES.values()))


def _whole(value: object) -> int:
    return int(finite_number(value))


def _maybe(value: object) -> float | None:
    return None if value is None else finite_number(value)


def _path(folder: Path | str | None) -> Path:
    return (Path(folder) if folder is not None else default_models_folder()) / TRANSFER_REPORT_NAME


def _damaged(path: Path) -> ArtifactError:
    return ArtifactError(f"The accuracy report {path} is damaged: {_WRITE_AGAIN}.")
