"""Validate, and write the reports that ship with the models, and their cards (`templates/`)."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import AMP, Gpu
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shown, strict_json
from profet_core.latency import quantile
from profet_core.layers.rates import load_rates
from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.prediction.models import Models, load_models
from profet_core.prediction.unprofiled_anchor import ANALYTIC_SHARE
from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_ERROR_PERCENT,
    PUBLISHED_SPEEDUP,
    XEON_PHI_7120P,
    CheckRow,
    check_rows,
    mean_apart_percent,
    speedup_row,
)
from profet_core.training.memory import MemoryModel, load_memory
from profet_core.training.scaling_model import load_scaleout
from profet_core.transfer.model import TransferModel, load_transfer
from profet_core.transfer.speed import evidence_of, known_rates, known_speed
from profet_core.transfer.steps import LEFT_AFTER_LAUNCHES, MAX_LAUNCHES, MAX_WORK, WEIGHTS
from profet_core.transfer.targets import ASSUMED_LOG_SD, MEASURED_LOG_SD, Source
from profet_lab.class_bank import class_bank
from profet_lab.class_folds import default_report, default_table, scatter
from profet_lab.class_members import REPEATS
from profet_lab.documented import documented_report, documented_table, scaler_report
from profet_lab.estimate.report import estimate_report
from profet_lab.growth import growth_report, predictions_of_table
from profet_lab.measurements.tables import WORKLOAD, Measurements, pairs
from profet_lab.models_folder import signed, write_signed
from profet_lab.scaleout import scaleout_report
from profet_lab.tasks import Progress
from profet_lab.validation.cells import measured_cells_report
from profet_lab.validation.gpus import gpus_report, judged
from profet_lab.validation.real_profiles import (
    figures,
    grouped,
    measured_latencies,
    of_profiled,
    read_index,
    real_report,
)
from profet_recorder.profiles.profet_json import VERSION_1_STEPS
from profet_recorder.whole_files import write_whole

VALIDATION_NAME, REAL_REPORT_NAME, CARD_NAME = "validation.json", "real_profiles.json", "MODEL_CARD.md"

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """What a validation reads.

    open_data : the measurements and their folder. models : folder of the models that are judged.
    profiles : folder of third-party profiles, for "real".
    """

    open_data: Callable[[], tuple[Measurements, Path]]
    models: Path
    seed: int
    progress: Progress
    profiles: str = ""

    @cached_property
    def _data(self) -> tuple[Measurements, Path]:
        return self.open_data()

    @property
    def measurements(self) -> Measurements:
        """Those that are learned from and judged on."""
        return self._data[0]

    @property
    def data(self) -> Path:
        """Their folder."""
        return self._data[1]


@dataclass(frozen=True, slots=True)
class Part:
    """A validation, its report and its card.

    make : the report. text : the report and the models' folder -> the card as Markdown.
    judged : what it judges -> its checksum in a folder of models, which the report has too.
    report_name, card_name : of the files beside the models; no report file if empty.
    """

    make: Callable[[Task], dict[str, Any]]
    text: Callable[[Report, Path], str]
    report_name: str
    card_name: str
    judged: Mapping[str, Callable[[Path], str]] = field(default_factory=dict)

    def checksums(self, models: Path) -> dict[str, str]:
        """Of what it judges in the folder."""
        return {name: checksum(models) for name, checksum in self.judged.items()}

    def dated(self, report: Report, models: Path) -> dict[str, Any]:
        """The report with the day, and the checksums of what it judges."""
        checksums = {f"{name}_checksum": value for name, value in self.checksums(models).items()}
        return {"made": datetime.now(UTC).date().isoformat(), **checksums, **report}

    def write(self, report: Report, models: Path) -> dict[str, Any]:
        """Write a dated report and its card beside the models; returns the report as it was written.

        Two reports share the card of the models: each is written with what the other one shows.
        """
        content = dict(report)
        if self.card_name == CARD_NAME:
            data = json.dumps(content, separators=(",", ":")) + "\n"
            write_whole(models / self.report_name, data.encode())
            text = _whole_model_card(load_models(models), self.report_name)
        else:
            content = signed(report)
            text = self.text(content, models)
            if self.report_name:
                write_signed(content, models / self.report_name)
        write_whole(models / self.card_name, text.encode())
        return content


def _models_checksum(folder: Path) -> str:
    return str(load_models(folder).manifest["checksum"])


def _models_report(task: Task) -> dict[str, Any]:
    """Both methods, the scaler and other sizes."""
    measurements = task.measurements
    how: dict[str, Any] = {"seed": task.seed, "progress": task.progress}
    documented = documented_table(measurements, pairs(measurements.instances), **how)
    bank = class_bank(measurements)
    table = default_table(bank, measurements.workloads, pairs(bank.instances), **how)
    return {
        "seed": task.seed,
        "noise_percent": measured_noise(measurements),
        "default": default_report(table),
        "profet": documented_report(documented),
        "original": {
            "pairs": baseline_pairs().reset_index().to_dict("records"),
            "mean": baseline_pairs().mean().to_dict(),
            "by_model": baseline_architectures().to_dict("index"),
            "scaler_mape": SCALER_MAPE,
        },
        "scaler": scaler_report(measurements, documented),
        "growth": growth_report(measurements, bank, predictions_of_table(table)),
        "scatter": scatter(table),
    }


def _real_report(task: Task) -> dict[str, Any]:
    index = read_index(task.profiles)
    is_measured = any(entry.measured is not None for entry in index.profiles)
    known = (lambda workload: measured_latencies(task.measurements, workload)) if is_measured else None
    return real_report(load_models(task.models), index, known)


#: Name, an option of `profet validate` -> the part; "models" is what `--card` alone writes.
PARTS = {
    "models": Part(
        _models_report,
        lambda report, folder: _model_card(report, load_models(folder)),
        VALIDATION_NAME,
        CARD_NAME,
        {"models": _models_checksum},
    ),
    "real": Part(
        _real_report, lambda report, _: real_section(report), REAL_REPORT_NAME, CARD_NAME, {"models": _models_checksum}
    ),
    "cells": Part(
        lambda task: measured_cells_report(task.measurements, task.data, seed=task.seed, progress=task.progress),
        lambda report, _: render("cells_card.md.j2", report=report, gpus=list(report["rows"][0]["gpus"])),
        "cells_validation.json",
        "CELLS_CARD.md",
    ),
    "gpus": Part(
        lambda task: gpus_report(
            load_models(task.models), task.measurements, task.data, seed=task.seed, progress=task.progress
        ),
        lambda report, folder: gpu_card(report, load_transfer(folder), load_memory(folder)),
        "gpus_validation.json",
        "GPU_CARD.md",
        {
            "transfer": lambda folder: load_transfer(folder).checksum,
            "memory": lambda folder: load_memory(folder).checksum,
        },
    ),
    "estimate": Part(
        lambda task: estimate_report(task.measurements, task.data, task.progress),
        lambda report, folder: render("estimate_card.md.j2", report=report, model=load_rates(folder)),
        "estimate_validation.json",
        "ESTIMATE_CARD.md",
        {"estimate": lambda folder: load_rates(folder).checksum},
    ),
    "scaleout": Part(
        lambda task: scaleout_report(task.data, task.progress),
        lambda report, folder: render("scaleout_card.md.j2", report=report, model=load_scaleout(folder)),
        "scaleout_validation.json",
        "SCALEOUT_CARD.md",
        {"scaleout": lambda folder: load_scaleout(folder).checksum},
    ),
    "manycore": Part(
        lambda _: {"rows": [asdict(row) for row in check_rows()], "speedup": asdict(speedup_row())},
        lambda report, _: manycore_card(report["made"], check_rows(), speedup_row()),
        "",
        "MANYCORE_CARD.md",
    ),
}


def read_report(path: Path, command: str, **made_for: str) -> JsonObject:
    """A report as `command` wrote it.

    made_for : what it judges, "models" or the name of a file of coefficients without its ending -> the checksum of the
        loaded one. A report on models has no checksum of its own.
    """
    remedy = f"restore it (git checkout models) or run `{command}`"
    try:
        report = strict_json(path)
    except OSError:
        raise ArtifactError(f"The accuracy report {shown(path)} is missing: {remedy}.") from None
    except (ValueError, RecursionError):
        report = None
    whole = isinstance(report, Mapping) and (
        "models" in made_for or report.get("checksum") == manifest_checksum(report)
    )
    if not isinstance(report, Mapping) or not whole:
        raise ArtifactError(f"The accuracy report {shown(path)} is damaged or was changed: {remedy}.")
    for name, loaded in made_for.items():
        if report.get(f"{name}_checksum") != loaded:
            other = "other models than those" if name == "models" else f"another {name}.json than that"
            raise ArtifactError(f"The figures in {shown(path)} belong to {other} loaded: {remedy}.")
    return report


def load_validation(models: Models) -> Report:
    """The report on these very models, `validation.json`."""
    path = models.folder / VALIDATION_NAME
    return read_report(path, "profet validate --card", models=models.manifest["checksum"])


def load_real_report(models: Models) -> Report | None:
    """Results on third-party profiles with these very models; None until `profet validate --real DIR --card` runs."""
    path = models.folder / REAL_REPORT_NAME
    try:
        return read_report(path, "", models=models.manifest["checksum"])
    except ArtifactError:
        return None


def _whole_model_card(models: Models, written: str) -> str:
    """The card of the models from both reports in their folder, the first of which must be there."""
    try:
        return _model_card(load_validation(models), models)
    except ArtifactError as error:
        raise ArtifactError(f"{written} was written, {CARD_NAME} was not: {error}") from None


def _model_card(report: Report, models: Models) -> str:
    """With what third-party profiles showed, if that is known of these models."""
    real = load_real_report(models)
    return model_card(report, models.manifest, real_section(real) if real else "")


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(WORKLOAD)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found


# --- cards ------------------------------------------------------------------------------------------------------------


def render(template: str, **values: object) -> str:
    """The text of one of the templates, without blanks at the ends of lines."""
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.split("\n"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("profet_lab"),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "fixed": fixed,
        "digits": lambda value, decimals, sign="": f"{value:{sign}.{decimals}f}",
        # Two cells of a table: a figure of the row with the anchor's latency and without; coverage and half-width.
        "both": lambda row, name="mape", ending="": _cells(
            row, *(f"{name}_{case}_latency{ending}" for case in ("with", "without"))
        ),
        "interval": lambda row, ending="_with_latency": _cells(
            row, f"coverage_90{ending}", f"median_interval_pct{ending}"
        ),
        "largest": lambda rows, name: fixed(max(row[name] for row in rows)),
        "cell": lambda value: "" if value is None else fixed(value),
        "paragraph": lambda text: textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n",
        # Of a width or ratio in the logarithm.
        "factor": lambda log_width: f"{math.exp(log_width):.1f}",
        "exp": math.exp,
        "percent": lambda log_ratio: 100 * math.expm1(log_ratio),
    }
    environment.filters.update(filters)
    return environment


def fixed(value: float) -> str:
    """Two decimals, one from 20 on."""
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def _cells(row: Mapping[str, float], *names: str) -> str:
    return " | ".join(fixed(row[name]) for name in names)


#: The baseline on the eight architectures without a near twin in the data, with and without latency, percent.
WITHOUT_TWIN_MAPE = (15.7, 16.3)

#: Mean error of PROFET's scaler over the inner sizes from true end latencies, percent, and per instance.
SCALER_MAPE = {
    "batch": {"g3s.xlarge": 3.91, "g4dn.xlarge": 4.81, "p2.xlarge": 6.06, "p3.2xlarge": 5.16, "mean": 5.01},
    "pixels": {"g3s.xlarge": 7.90, "g4dn.xlarge": 7.23, "p2.xlarge": 10.14, "p3.2xlarge": 6.89, "mean": 7.98},
}


def baseline_pairs() -> pd.DataFrame:
    """Per (anchor, target): MAPE of ensembles and members in percent, R2, RMSE in milliseconds."""
    return _read("baseline_pairs.csv").set_index(["anchor", "target"])


def baseline_architectures() -> pd.DataFrame:
    """Per architecture: MAPE with and without the anchor's latency, percent, over all pairs."""
    return _read("baseline_architectures.csv").set_index("model")


def _read(name: str) -> pd.DataFrame:
    with resources.files("profet_lab").joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file)


#: Percent of measurements that a 90% interval may miss.
_PROMISED_MISSES = 10.0
#: The aim of memory fit: recall of what did not run, and false "fits" among all answers.
_RECALL, _FALSE_FITS = 0.8, 0.02


def gpu_card(report: Report, transfer: TransferModel, memory: MemoryModel) -> str:
    """The card as Markdown.

    report : as `gpus_validation.json` holds it.
    """
    gpus, rented = accuracy_by_gpu(report, transfer), _rented(transfer)
    directions = report["left_out_gpus"]["directions"]
    return render(
        "gpu_card.md.j2",
        report=report,
        transfer=transfer,
        from_specs=transfer.rates.from_specs,
        judged=list(judged(report)),
        picture=report["served"]["picture"],
        promised_misses=_PROMISED_MISSES,
        beaten=[row for row in directions if row["one_constant"] < row["mape_with_latency"]],
        by_gpu=gpus,
        unchecked=[row["gpu"].name for row in gpus if not row["has_tables"] and row["gpu"].name in rented],
        weights=WEIGHTS,
        left_after_launches=LEFT_AFTER_LAUNCHES,
        most_launches=MAX_LAUNCHES,
        most_work=MAX_WORK,
        analytic_share=ANALYTIC_SHARE,
        measured_host_log_sd=MEASURED_LOG_SD,
        assumed_host_log_sd=ASSUMED_LOG_SD,
        sha256={**transfer.fitted_on, **{name: value for name, value in memory.fitted_on.items() if "/" in name}},
        **_memory_figures(report["memory"], memory),
    )


def _rented(transfer: TransferModel) -> set[str]:
    """GPUs that a cloud offers."""
    return {transfer.gpus.find(row.gpu, row.gpu_memory_gib).name for row in load_shipped().values()}


def _memory_figures(report: Report, memory: MemoryModel) -> dict[str, Any]:
    """Scores by what is known of the network, from most to least, and which of them meet the aim.

    `called_fitting` and `left_open` : share of what did not run that was answered by "fits" and by "can't tell".
    """
    rows = {}
    for name, row in {"layers known": report["arithmetic"], **report["recorded"], **report["served"]}.items():
        called_fitting = row["strict_false_fits"] * row["cells"] / row["did_not_run"]
        left_open = max(1 - row["strict_recall"] - called_fitting, 0.0)
        rows[name] = {**row, "called_fitting": called_fitting, "left_open": left_open}
    return {
        "memory": memory,
        "memory_report": report,
        "memory_rows": rows,
        "meet_aim_forced": [name for name, row in rows.items() if _meets_aim(row["recall"], row["false_fits"])],
        "meet_aim_as_answered": [
            name for name, row in rows.items() if _meets_aim(row["strict_recall"], row["strict_false_fits"])
        ],
    }


def _meets_aim(recall: float | None, false_fits: float | None) -> bool:
    return recall is not None and false_fits is not None and recall >= _RECALL and false_fits <= _FALSE_FITS


def accuracy_by_gpu(report: Report, model: TransferModel) -> list[dict[str, Any]]:
    """Every GPU with specs, best evidence first.

    Returns:
    `gpu`, `evidence`, `rates`; `has_tables` : whether anything but its specs is known of it; `held_out` : error of its
    published speeds by rates that saw none of them, percent, None without any; `half_width`, `amp_half_width` : of its
    90 % interval at least, upwards, percent, in the default precision and in AMP, of a profiled GPU as if it were not.
    """
    held_out = {row["gpu"]: row["mape"] for row in report["rates"]["gpus"]}
    reference, found = model.gpus[model.reference_gpu], []
    for gpu in model.gpus.values():
        width, evidence = _half_width(report, model, gpu), evidence_of(model, gpu, True)
        amp = model.rates.amp(gpu, reference, AMP).log_sd
        found.append(
            {
                "gpu": gpu,
                "evidence": evidence,
                "rates": known_rates(model, gpu),
                "has_tables": evidence.source in (Source.PROFILED, Source.CELLS, Source.PUBLISHED),
                "held_out": held_out.get(gpu.name),
                "half_width": 100 * math.expm1(width),
                "amp_half_width": 100 * math.expm1(math.hypot(width, quantile() * amp)),
            }
        )
    order = list(Source)
    return sorted(found, key=lambda row: (order.index(row["evidence"].source), row["half_width"]))


def _half_width(report: Report, model: TransferModel, gpu: Gpu) -> float:
    instance = next((name for name, row in model.step.instances.items() if row.gpu == gpu.name), None)
    if row := report["left_out_gpus"]["by_gpu"].get(instance):
        return math.log1p(row["median_interval_pct_with_latency"] / 100)
    if calibrated := model.calibrated_gpu(gpu, True):
        return quantile() * calibrated.log_sd
    return quantile() * known_speed(model, gpu, True).step_log_sd


def manycore_card(made: str, rows: Sequence[CheckRow], speedup: CheckRow) -> str:
    """Published predictions and both many-core models."""
    return render(
        "manycore_card.md.j2",
        made=made,
        rows=rows,
        speedup=speedup,
        published_speedup=PUBLISHED_SPEEDUP,
        apart=[
            (name, *(mean_apart_percent(rows, name, extrapolated=each) for each in (False, True))) for name in PUBLISHED
        ],
        large=PUBLISHED["large"],
        published_errors=PUBLISHED_ERROR_PERCENT,
        processor=XEON_PHI_7120P,
    )


def real_section(report: Report) -> str:
    """The section on third-party profiles; `report` : as `real_profiles.json` holds it."""
    checks = report["profiles"]
    # Checks that differ in the profile alone are one row.
    alike = grouped(checks, ("anchor", "target", "framework", "kind"))
    pytorch = [check for check in of_profiled(checks) if check["framework"].startswith("PyTorch")]
    here = {row["profile"]: row["here_ms"] for row in report["read"] if row["here_ms"] is not None}
    steps_here_ms: dict[float, list[float]] = {}
    for name, step_ms in {check["profile"]: check["step_ms"] for check in pytorch}.items():
        if name in here:
            steps_here_ms.setdefault(here[name], []).append(step_ms)
    return render(
        "real_profiles.md.j2",
        report=report,
        compared=len({check["profile"] for check in checks}),
        kinds=len({check["kind"] for check in checks}),
        rows=[(checks, figures(checks)) for checks in alike],
        pytorch=pytorch,
        pytorch_figures=figures(pytorch) if pytorch else None,
        steps_here_ms=steps_here_ms,
        sources=list(dict.fromkeys(row["source"] for row in report["read"] if row["source"])),
    )


#: Networks that are named as the worst.
_WORST_NAMED = 4


def model_card(report: Report, manifest: Mapping[str, Any], real: str = "") -> str:
    """The card as Markdown.

    report : as `validation.json` holds it. real : the section on third-party profiles, if any.
    """
    by_error = sorted(report["default"]["by_model"].items(), key=lambda item: -item[1]["mape_with_latency"])
    documented, original = (
        {(row["anchor"], row["target"]): row for row in report[method]["pairs"]} for method in ("profet", "original")
    )
    return render(
        "model_card.md.j2",
        report={"growth": {}, **report},
        manifest=manifest,
        real=real,
        worst=by_error[:_WORST_NAMED],
        without_twin=WITHOUT_TWIN_MAPE,
        documented_pairs=documented,
        original_pairs=original,
        tree_repeats=REPEATS,
        device_rows=VERSION_1_STEPS * TYPICAL_RATIO,
    )
