"""Validate, and write the reports that ship with the models, and the card that summarizes them.

`python -m profet_lab.reports` writes the card again from the reports in `models/`.
"""

from __future__ import annotations

import json
import math
import string
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct, field

from profet_core.catalog import load_shipped
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shipped_folder, shown, strict_json
from profet_core.layers.gpu_effects import Source, source_of
from profet_core.layers.networks import PROFET, measured_networks
from profet_core.layers.rates import load_rates
from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.prediction.models import Models, load_models, load_transfer
from profet_core.training.memory import MemoryModel, load_memory
from profet_core.training.scaling_model import ScaleoutModel, load_scaleout
from profet_lab.cells import measured_cells_report
from profet_lab.class_folds import default_report, default_table, scatter
from profet_lab.class_members import REPEATS
from profet_lab.counts import counts_report, held_out_estimates
from profet_lab.documented import documented_report, documented_table, scaler_report
from profet_lab.estimate_report import estimate_report
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import WORKLOAD, Measurements, class_bank, pairs
from profet_lab.models_folder import signed, write_signed
from profet_lab.real_profiles import measured_latencies, real_report
from profet_lab.scaleout import scaleout_report
from profet_lab.sizes import growth_report, predictions_of_table
from profet_lab.tasks import Progress
from profet_lab.validation.gpus import gpus_report
from profet_lab.validation.steps import steps_report
from profet_profiles.profet_json import VERSION_1_STEPS
from profet_profiles.whole_files import write_whole

VALIDATION_NAME, REAL_REPORT_NAME, CARD_NAME = "validation.json", "real_profiles.json", "MODEL_CARD.md"


Report: TypeAlias = Mapping[str, Any]
#: Rows of a table: mappings, or values or mappings by name.
Rows: TypeAlias = Mapping[Any, Any] | Iterable[Report]


class Validation(Struct, frozen=True, dict=True):
    """Inputs of a validation.

    Attributes
    ----------
    open_data : the measurements and their folder, which not every validation needs.
    models : folder of the models that are judged.
    profiles : folder of third-party profiles, for "real".
    """

    open_data: Callable[[], tuple[Measurements, Path]]
    models: Path
    seed: int
    progress: Progress
    profiles: str = ""

    @cached_property
    def data(self) -> tuple[Measurements, Path]:
        """The measurements that are learned from and judged on, and their folder."""
        return self.open_data()


class ReportPart(Struct, frozen=True):
    """A validation, its report, and its section of the card.

    Attributes
    ----------
    make : the report.
    section : the report and the models' folder -> values for the block of the card's template that has the part's name.
    report_name : of the file beside the models.
    judged : name of what it judges -> its checksum in a folder of models, which the report has too.
    """

    make: Callable[[Validation], dict[str, Any]]
    section: Callable[[Report, Path], dict[str, Any]]
    report_name: str
    judged: Mapping[str, Callable[[Path], str]] = field(default_factory=dict)

    def checksums(self, models: Path) -> dict[str, str]:
        """Return the checksums of what it judges in the folder."""
        return {name: checksum(models) for name, checksum in self.judged.items()}

    def dated(self, report: Report, models: Path) -> dict[str, Any]:
        """Return the report with the day, and the checksums of what it judges."""
        checksums = {f"{name}_checksum": value for name, value in self.checksums(models).items()}
        return {"made": datetime.now(UTC).date().isoformat(), **checksums, **report}

    def write(self, report: Report, models: Path) -> dict[str, Any]:
        """Write a dated report and the card beside the models; returns the report as it was written."""
        content = dict(report)
        if "models" in self.judged:
            data = json.dumps(content, separators=(",", ":")) + "\n"
            write_whole(models / self.report_name, data.encode())
        else:
            content = signed(report)
            write_signed(content, models / self.report_name)
        write_whole(models / CARD_NAME, model_card(models).encode())
        return content


def _models_checksum(folder: Path) -> str:
    return str(load_models(folder).manifest["checksum"])


def _models_report(task: Validation) -> dict[str, Any]:
    """Both methods, also with the network known by name, the scaler and other sizes."""
    measurements, folder = task.data
    how: dict[str, Any] = {"seed": task.seed, "progress": task.progress}
    documented = documented_table(measurements, pairs(measurements.instances), **how)
    bank = class_bank(measurements)
    table = default_table(bank, pairs(bank.instances), **how)
    # Rates are fitted with the published speeds, and on networks whose layers are counted.
    counted = {name.removeprefix(PROFET) for name in measured_networks()}
    is_counted = (folder / THROUGHPUT_FILE).is_file() and counted >= set(measurements.architectures)
    return {
        "seed": task.seed,
        "noise_percent": measured_noise(measurements),
        "default": default_report(table),
        "counts": counts_report(table, held_out_estimates(measurements, folder, task.progress)) if is_counted else None,
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


def _real_report(task: Validation) -> dict[str, Any]:
    return real_report(
        load_models(task.models), Path(task.profiles), lambda workload: measured_latencies(task.data[0], workload)
    )


#: Name, an option of `profet validate` -> the part, in the card's order; "models" is what `--card` alone writes.
PARTS = {
    "models": ReportPart(
        _models_report,
        lambda report, folder: _models_section(report, load_models(folder).manifest),
        VALIDATION_NAME,
        {"models": _models_checksum},
    ),
    "real": ReportPart(
        _real_report, lambda report, _: _real_section(report), REAL_REPORT_NAME, {"models": _models_checksum}
    ),
    "gpus": ReportPart(
        lambda task: gpus_report(load_models(task.models), *task.data, progress=task.progress),
        lambda report, folder: _gpus_section(report, load_models(folder), load_memory(folder)),
        "gpus_validation.json",
        {
            "estimate": lambda folder: load_rates(folder).checksum,
            "transfer": lambda folder: load_transfer(folder).checksum,
            "memory": lambda folder: load_memory(folder).checksum,
        },
    ),
    "cells": ReportPart(
        lambda task: measured_cells_report(
            load_models(task.models), *task.data, seed=task.seed, progress=task.progress
        ),
        lambda report, _: _cells_section(report),
        "cells_validation.json",
    ),
    "estimate": ReportPart(
        lambda task: estimate_report(*task.data, task.progress),
        lambda report, folder: {
            "model": load_rates(folder),
            "judged": [row for row in report["judged"] if "depthwise" not in row["held_out"]],
            "pairs": [row for row in report["measured_pairs"] if "below" not in row["kind"]],
        },
        "estimate_validation.json",
        {"estimate": lambda folder: load_rates(folder).checksum},
    ),
    "steps": ReportPart(
        lambda task: steps_report(load_models(task.models), *task.data, task.progress),
        lambda report, _: _steps_section(report),
        "steps_validation.json",
        {
            "estimate": lambda folder: load_rates(folder).checksum,
            "transfer": lambda folder: load_transfer(folder).checksum,
        },
    ),
    "scaleout": ReportPart(
        lambda task: scaleout_report(task.data[1], task.progress),
        lambda report, folder: _scaleout_section(report, load_scaleout(folder)),
        "scaleout_validation.json",
        {"scaleout": lambda folder: load_scaleout(folder).checksum},
    ),
}


def model_card(folder: Path) -> str:
    """Return the card of the models in a folder, from its reports.

    A part whose report is missing, or belongs to other models, has no section.
    """
    sections = [render("title")]
    for name, part in PARTS.items():
        with suppress(ArtifactError):
            sections.append(section(name, read_report(folder / part.report_name, "", **part.checksums(folder)), folder))
    return "\n".join([*sections, render("manycore")])


def section(name: str, report: Report, folder: Path) -> str:
    """Return a part's section of the card, as Markdown."""
    return render(name, {"report": report, **PARTS[name].section(report, folder)})


def _steps_section(report: Report) -> dict[str, Any]:
    """Return figures, each of its worst anchor."""

    def worst(rows: Rows, name: str) -> Report:
        return max(rows, key=lambda row: row[name])

    by_gpu: dict[str, list[Report]] = {}
    for row in report["falls"]:
        by_gpu.setdefault(row["gpu"], []).append(row)
    return {
        "named": worst([row for row in report["ratios"] if row["named"]], "largest"),
        "unnamed": worst([row for row in report["ratios"] if not row["named"]], "largest"),
        "repeats": worst(report["repeats"], "largest")["largest"],
        "falls": [worst(rows, "percent") for rows in by_gpu.values()],
    }


def read_report(path: Path, command: str, **made_for: str) -> JsonObject:
    """Return a report as `command` wrote it.

    Parameters
    ----------
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


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    noise = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(WORKLOAD)["latency_ms"].transform("median")
        noise[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return noise


def render(card: str, values: Mapping[str, object] | None = None) -> str:
    """Return the text of a card, without blanks at the ends of lines."""
    template = _environment().get_template("card.md.j2")
    text = "".join(template.blocks[card](template.new_context(dict(values or {}))))
    return "\n".join(line.rstrip() for line in text.split("\n"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("profet_lab", ""),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "fixed": fixed,
        "digits": lambda value, decimals: f"{value:.{decimals}f}",
        "paragraph": lambda text: textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n",
        # Two cells: a figure with the anchor's latency and without; coverage and half-width.
        "both": lambda row, name="mape", ending="": _cells(
            row, *(f"{name}_{case}_latency{ending}" for case in ("with", "without"))
        ),
        "interval": lambda row, ending="_with_latency": _cells(
            row, f"coverage_90{ending}", f"median_interval_pct{ending}"
        ),
    }
    environment.filters.update(filters)
    environment.globals.update(table=table, listed=listed, checksums=checksums)
    return environment


class _Figures(string.Formatter):
    """Formats a float without a format as `fixed`, `%` as percent; None is empty."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return ""
        if format_spec == "%":
            return fixed(100 * value)
        if not format_spec and isinstance(value, float):
            return fixed(value)
        return str(super().format_field(value, format_spec))


def fixed(value: float) -> str:
    """Two decimals, one from 20 on."""
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def _cells(row: Report, *names: str) -> str:
    return " | ".join(fixed(row[name]) for name in names)


def _filled(cells: str, rows: Rows) -> list[str]:
    """`cells` filled from each row: its entries, or `name` and `value`."""
    if isinstance(rows, Mapping):
        rows = [{"name": name, **(row if isinstance(row, Mapping) else {"value": row})} for name, row in rows.items()]
    return [_Figures().vformat(cells, (), row) for row in rows]


def listed(cells: str, rows: Rows, divider: str = ", ") -> str:
    """Rows in one line."""
    return divider.join(_filled(cells, rows))


def table(headers: str, cells: str, rows: Rows) -> str:
    """Return a Markdown table."""
    lines = (headers, "|".join("---" for _ in headers.split("|")), *_filled(cells, rows))
    return "\n".join(f"| {line} |" if at != 1 else f"|{line}|" for at, line in enumerate(lines))


def checksums(sha256: Mapping[str, str]) -> str:
    """Return a list of files."""
    return listed("- `{name}`: sha256 `{value}`", sha256, "\n")


#: The baseline on the eight architectures without a near twin in the data, with and without latency, percent.
WITHOUT_TWIN_MAPE = (15.7, 16.3)

#: Mean error of PROFET's scaler over the inner sizes from true end latencies, percent, and per instance.
SCALER_MAPE = {
    "batch": {"g3s.xlarge": 3.91, "g4dn.xlarge": 4.81, "p2.xlarge": 6.06, "p3.2xlarge": 5.16, "mean": 5.01},
    "pixels": {"g3s.xlarge": 7.90, "g4dn.xlarge": 7.23, "p2.xlarge": 10.14, "p3.2xlarge": 6.89, "mean": 7.98},
}


def baseline_pairs() -> pd.DataFrame:
    """Per (anchor, target): MAPE of ensembles and members in percent, R2, RMSE in milliseconds."""
    return pd.read_csv(Path(__file__).with_name("baseline_pairs.csv"), index_col=["anchor", "target"])


def baseline_architectures() -> pd.DataFrame:
    """Per architecture: MAPE with and without the anchor's latency, percent, over all pairs."""
    return pd.read_csv(Path(__file__).with_name("baseline_architectures.csv"), index_col="model")


_MAPE = ("mape_with_latency", "mape_without_latency")


def _models_section(report: Report, manifest: Mapping[str, Any]) -> dict[str, Any]:
    default, original = report["default"], report["original"]
    shipped = manifest["methods"][manifest["default_method"]]
    of_documented = report["scaler"]["settings"]
    scaler = [
        {
            "axis": axis,
            "ends": ends,
            **row,
            "documented": of_documented.get(name, {}).get("mean_mape"),
            "original": mape,
        }
        for name, row in report["scaler"].get("settings_default", {}).items()
        for axis, ends in [name.rsplit("_", 1)]
        for mape in [original["scaler_mape"][axis]["mean"] if ends == "true" else None]
    ]
    return {
        "manifest": manifest,
        "worst_original": {name: max(row[name] for row in original["pairs"]) for name in _MAPE},
        "without_twin": WITHOUT_TWIN_MAPE,
        "networks": {
            name: {**row, "original": original["by_model"][name][_MAPE[0]]} for name, row in default["by_model"].items()
        },
        "growth": [
            {"proportional": None, **row, "known": source}
            for source, rows in report.get("growth", {}).items()
            for row in rows
            if row.get("knots") is None
        ],
        "scaler": scaler,
        "weights": [
            {"case": case.replace("_", " "), "weights": shipped[case]["weights"]}
            for case in ("with_latency", "without_latency")
        ],
        "tree_repeats": REPEATS,
        "device_rows": VERSION_1_STEPS * TYPICAL_RATIO,
    }


def _real_section(report: Report) -> dict[str, Any]:
    checks = report["profiles"]
    return {
        "compared": len({check["profile"] for check in checks}),
        "kinds": len({check["kind"] for check in checks}),
        "sources": list(dict.fromkeys(row["source"] for row in report["read"] if row["source"])),
    }


def _gpus_section(report: Report, models: Models, memory: MemoryModel) -> dict[str, Any]:
    targets, anchors = report["left_out_gpus"], report["left_out_anchors"]
    rows = {**targets["by_gpu"], "mean": targets["mean"]}
    as_anchors = {**anchors["by_gpu"], "mean": anchors["mean"]}
    transfer = models.transfer
    rented = {transfer.gpus.find(row.gpu, row.gpu_memory_gib).name for row in load_shipped().values()}
    return {
        "transfer": transfer,
        "memory": memory,
        "gpus": [
            {
                **row,
                "name": name,
                "anchor_mape": as_anchors[name]["mape_with_latency"],
                "anchor_bias": as_anchors[name]["bias_with_latency"],
                "anchor_missed": as_anchors[name]["missed_90_with_latency"],
            }
            for name, row in rows.items()
        ],
        "published_gpus": [{"name": name, **row} for name, row in report["published"]["by_gpu"].items()],
        "unchecked": sorted(
            name
            for name, gpu in transfer.gpus.items()
            if name in rented and source_of(models, gpu) not in (Source.PROFILED, Source.PUBLISHED)
        ),
        # By what is known of the network, from most to least.
        "memory_rows": {
            "layers known": report["memory"]["arithmetic"],
            **report["memory"]["recorded"],
            **report["memory"]["served"],
        },
    }


def _cells_section(report: Report) -> dict[str, Any]:
    gpus = list(report["rows"][0]["gpus"])
    return {"by_gpu": lambda cells: " | ".join(cells.replace("NAME", gpu) for gpu in gpus)}


def _scaleout_section(report: Report, model: ScaleoutModel) -> dict[str, Any]:
    sets = report["data_sets"]
    what = {"network": "network", "gpu": "GPU model", "group": "framework", "count": "number of GPUs"}
    parts = [
        {"data_set": name, "what": words, **rows[by]}
        for name, rows in sets.items()
        for by, words in what.items()
        if by in rows
    ]
    return {
        "parts": parts,
        "model": model,
        "factors": {name: math.exp(log_sd) for name, log_sd in model.log_sds.items()},
    }


if __name__ == "__main__":
    MODELS = shipped_folder("models")
    write_whole(MODELS / CARD_NAME, model_card(MODELS).encode())
