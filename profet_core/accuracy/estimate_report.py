"""Reads `estimate_validation.json`, as `profet validate --estimate --card` wrote it for one `estimate.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from profet_core.accuracy.reading import ReportFile, by_name, count, text
from profet_core.estimate.model import METHODS, EstimateModel
from profet_core.estimate.regimes import Regime
from profet_core.files import finite_number, models_folder

ESTIMATE_REPORT_NAME = "estimate_validation.json"


@dataclass(frozen=True, slots=True)
class RegimeAccuracy:
    """Errors where just this was left out, percent.

    Attributes
    ----------
    n : judged rows. paper_pct : what the paper reports; None: nothing.
    mape : by method. coverage_90 : share of the 90 % intervals that held the latency, by method. half_width_pct : of
        them, upwards, by method.
    chosen_mape : of the methods that inner folds chose. chosen : method -> folds.
    by_network, by_instance : of the default method.
    """

    n: int
    paper_pct: float | None
    mape: Mapping[str, float]
    coverage_90: Mapping[str, float]
    half_width_pct: Mapping[str, float]
    chosen_mape: float
    chosen: Mapping[str, int]
    by_network: Mapping[str, float]
    by_instance: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PublishedErrors:
    """Errors beside published steps of other frameworks, percent: mean and lean, and how many the intervals held."""

    n: int
    gpus: int
    mape: float
    bias: float
    coverage_90: float


@dataclass(frozen=True, slots=True)
class EstimateAccuracy:
    """The whole report.

    Attributes
    ----------
    sheet_only : error on an unseen GPU of which the data sheet alone is known, percent, by instance; `sheet_only_mape`:
        by method.
    memory_cells : workloads on GPUs; `memory_accuracy`: share judged right, `memory_recall`: of those that did not run,
        the share told so, `memory_false_fits`: share told to fit that did not run; 0 to 1.
    """

    made: str
    default: str
    rows: int
    networks: int
    regimes: Mapping[Regime, RegimeAccuracy]
    sheet_only: Mapping[str, float]
    sheet_only_mape: Mapping[str, float]
    memory_cells: int
    memory_accuracy: float
    memory_recall: float
    memory_false_fits: float
    published: PublishedErrors


def load_estimate_accuracy(model: EstimateModel, folder: Path | str | None = None) -> EstimateAccuracy:
    """The accuracy of these very coefficients, from a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the report is missing or damaged, or was written for another `estimate.json`.
    """
    path = models_folder(folder) / ESTIMATE_REPORT_NAME
    file = ReportFile(path, "The accuracy report", "profet validate --estimate --card")
    return file.read_signed(read_estimate_accuracy, estimate=model.checksum)


def read_estimate_accuracy(report: Mapping) -> EstimateAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    memory = report["memory"]
    return EstimateAccuracy(
        made=text(report["made"]),
        default=_method(report["default"]),
        rows=count(report["rows"]),
        networks=count(report["networks"]),
        regimes={regime: _regime(report["regimes"][regime]) for regime in Regime},
        sheet_only=by_name(report["sheet_only"]["by_instance"], finite_number),
        sheet_only_mape=by_name(report["sheet_only"]["mape"], finite_number),
        memory_cells=count(memory["cells"]),
        memory_accuracy=finite_number(memory["accuracy"]),
        memory_recall=finite_number(memory["recall"]),
        memory_false_fits=finite_number(memory["false_fits"]),
        published=_published(report["published"]),
    )


def _published(row: Mapping) -> PublishedErrors:
    every = row["all"]
    mape, bias, coverage = (finite_number(every[key]) for key in ("mape", "bias", "coverage_90"))
    return PublishedErrors(count(every["n"]), len(row["by_gpu"]), mape, bias, coverage)


def _method(name: object) -> str:
    if name not in METHODS:
        raise ValueError(f"no method: {name!r}")
    return str(name)


def _regime(row: Mapping) -> RegimeAccuracy:
    mape, coverage, widths = (by_name(row[key], finite_number) for key in ("mape", "coverage_90", "half_width_pct"))
    if not all(set(METHODS) <= set(one) for one in (mape, coverage, widths)):
        raise ValueError("not every method")
    return RegimeAccuracy(
        n=count(row["n"]),
        paper_pct=None if row["paper_pct"] is None else finite_number(row["paper_pct"]),
        mape=mape,
        coverage_90=coverage,
        half_width_pct=widths,
        chosen_mape=finite_number(row["chosen_mape"]),
        chosen=by_name(row["chosen"], count),
        by_network=by_name(row["by_network"], finite_number),
        by_instance=by_name(row["by_instance"], finite_number),
    )
