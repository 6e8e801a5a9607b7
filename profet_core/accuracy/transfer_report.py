"""Reads `transfer_validation.json`, as `profet validate --transfer --card` wrote it for one `transfer.json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.left_out_anchors import AnchorAccuracy, AnchorDirection, AnchorFigures
from profet_core.accuracy.memory import MemoryAccuracy, MemoryScores
from profet_core.accuracy.published import PublishedTable, SelfCheck
from profet_core.accuracy.reading import ReportFile, by_name, count, optional, read_record, text
from profet_core.accuracy.transfer import (
    CORRECTED,
    RAW,
    DerivedGpu,
    Direction,
    Figures,
    LeftOutGpu,
    OtherGpu,
    Route,
    Served,
    TransferAccuracy,
)
from profet_core.files import JsonObject, finite_number, models_folder
from profet_core.memory.model import MemoryModel
from profet_core.transfer.model import TransferModel

TRANSFER_REPORT_NAME = "transfer_validation.json"

#: Anchor's latency given -> how the report names it.
_CASES = {True: "with_latency", False: "without_latency"}
_NAMES = {"tuple[str, ...]": lambda names: tuple(text(name) for name in names)}

AnyFigures = TypeVar("AnyFigures", Figures, AnchorFigures)


def load_transfer_accuracy(
    model: TransferModel, memory: MemoryModel, folder: Path | str | None = None
) -> TransferAccuracy:
    """The accuracy of these very coefficients, from a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the report is missing or damaged, or was written for another `transfer.json` or `memory.json`.
    """
    path = models_folder(folder) / TRANSFER_REPORT_NAME
    file = ReportFile(path, "The accuracy report", "profet validate --transfer --card")
    return file.read_signed(read_transfer_accuracy, transfer=model.checksum, memory=memory.checksum)


def read_transfer_accuracy(report: JsonObject) -> TransferAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    gpus, derived, published = report["left_out_gpus"], report["derived"], report["published"]
    routes = dict(derived["routes"])
    by_model = routes.pop("by_model")
    found = TransferAccuracy(
        made=text(report["made"]),
        seed=count(report["seed"]),
        transfer_checksum=text(report["transfer_checksum"]),
        memory_checksum=text(report["memory_checksum"]),
        directions=tuple(_direction(row) for row in gpus["directions"]),
        mean=_left_out(gpus["mean"]),
        by_gpu=by_name(gpus["by_gpu"], _left_out),
        by_model=by_name(gpus["by_model"], finite_number),
        other_gpus=tuple(_other_gpu(row) for row in gpus["other_gpus"]),
        anchors=_anchors(report["left_out_anchors"]),
        tables=tuple(_table(row) for row in published["tables"]),
        self_checks=tuple(_self_check(row) for row in published["self_checks"]),
        routes=by_name(routes, _route),
        routes_by_model=by_name(by_model, _route_ends),
        derived=by_name(derived["gpus"], _derived),
        memory=_memory(report["memory"]),
    )
    parts = (found.directions, found.anchors.directions, found.tables, found.self_checks, found.memory.served)
    if not all(parts) or not {RAW, CORRECTED} <= found.routes.keys():
        raise ValueError("empty")
    return found


def _anchors(report: JsonObject) -> AnchorAccuracy:
    return AnchorAccuracy(
        directions=tuple(
            AnchorDirection(text(row["anchor"]), text(row["target"]), count(row["n"]), _anchor_figures(row))
            for row in report["directions"]
        ),
        mean=_anchor_figures(report["mean"]),
        by_anchor=by_name(report["by_anchor"], _anchor_figures),
    )


def _table(row: JsonObject) -> PublishedTable:
    found = read_record(PublishedTable, row, _NAMES)
    if not found.n or found.bias <= -100:
        raise ValueError("no ratio")
    return found


def _self_check(row: JsonObject) -> SelfCheck:
    found = read_record(SelfCheck, row)
    if found.own_point <= -100:
        raise ValueError("no speed")
    return found


def _anchor_figures(row: JsonObject) -> dict[bool, AnchorFigures]:
    return {known: _figures(row, f"{{}}_{case}", AnchorFigures) for known, case in _CASES.items()}


def _left_out(row: JsonObject) -> LeftOutGpu:
    return LeftOutGpu(
        point=_by_case(row, "{}", _CASES),
        sheet_only=_by_case(row, "sheet_only_{}", _CASES),
        one_constant=finite_number(row["one_constant"]),
    )


def _direction(row: JsonObject) -> Direction:
    errors = _left_out(row)
    return Direction(
        errors.point,
        errors.sheet_only,
        errors.one_constant,
        anchor=text(row["anchor"]),
        target=text(row["target"]),
        n=count(row["n"]),
    )


def _other_gpu(row: JsonObject) -> OtherGpu:
    published = _figures(row, "published_{}_with_latency", Figures) if "published_mape_with_latency" in row else None
    return OtherGpu(
        point=_by_case(row, "{}", [True]),
        sheet_only=_by_case(row, "sheet_only_{}", [True]),
        anchor=text(row["anchor"]),
        target=text(row["target"]),
        n=count(row["n"]),
        published=published,
    )


def _by_case(row: JsonObject, name: str, given: Iterable[bool]) -> dict[bool, Figures]:
    return {known: _figures(row, f"{name}_{_CASES[known]}", Figures) for known in given}


def _figures(row: JsonObject, name: str, kind: type[AnyFigures]) -> AnyFigures:
    return kind(**{field.name: finite_number(row[name.format(field.name)]) for field in fields(kind)})


def _route(row: JsonObject) -> Route:
    return Route(count(row["n"]), *_route_ends(row), finite_number(row["median_ratio_t4_to_v100"]))


def _route_ends(row: JsonObject) -> tuple[float, float]:
    return finite_number(row["T4 -> V100"]), finite_number(row["V100 -> T4"])


def _derived(row: JsonObject) -> DerivedGpu:
    return DerivedGpu(
        n=count(row["n"]),
        law=finite_number(row["law"]),
        law_by_model=by_name(row["law_by_model"], finite_number),
        median_ratio_to_t4=finite_number(row["median_ratio_to_t4"]),
        mean=_both(row, "mean"),
        served=tuple(_served(part) for part in row["served"]),
    )


def _served(row: JsonObject) -> Served:
    share = optional(finite_number)
    return Served(
        anchor=text(row["anchor"]),
        n=count(row["n"]),
        mape=_both(row, "mape"),
        missed_90=_both(row, "missed_90"),
        median_interval_pct=_both(row, "median_interval_pct"),
        claims=share(row.get("claims_pct_with_latency")),
        claims_right=share(row.get("claims_right_pct_with_latency")),
    )


def _both(row: JsonObject, name: str) -> Errors:
    return Errors(*(finite_number(row[f"{name}_{case}"]) for case in _CASES.values()))


def _memory(row: JsonObject) -> MemoryAccuracy:
    return MemoryAccuracy(
        architectures=count(row["architectures"]),
        certain=finite_number(row["certain"]),
        profiled_batch=count(row["profiled_batch"]),
        pairs=count(row["ran_elsewhere"]["pairs"]),
        failures=count(row["ran_elsewhere"]["failures"]),
        layers_known=_scores(row["arithmetic"]),
        served=by_name(row["served"], _scores),
        recorded=by_name(row.get("recorded", {}), _scores),
    )


def _scores(row: JsonObject) -> MemoryScores:
    found = read_record(MemoryScores, row)
    if found.did_not_run < 1:
        raise ValueError("a recall needs something that did not run")
    return found
