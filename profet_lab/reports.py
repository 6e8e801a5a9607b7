"""Validate, and write the reports that ship with the models, and their cards, from one template."""

from __future__ import annotations

import json
import math
import string
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import AMP, Gpu
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shown, strict_json
from profet_core.latency import quantile
from profet_core.layers.networks import PROFET, measured_networks
from profet_core.layers.rates import load_rates
from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.prediction.models import Models, load_models
from profet_core.prediction.other_gpus import ANALYTIC_SHARE
from profet_core.training import many_core
from profet_core.training.many_core import check_rows, speedup_row
from profet_core.training.memory import MemoryModel, load_memory
from profet_core.training.scaling_model import ScaleoutModel, load_scaleout
from profet_core.transfer.model import TransferModel, evidence_of, known_rates, known_speed, load_transfer
from profet_core.transfer.steps import LEFT_AFTER_LAUNCHES, MAX_LAUNCHES, MAX_WORK, WEIGHTS
from profet_core.transfer.targets import ASSUMED_LOG_SD, MEASURED_LOG_SD, Source
from profet_lab.cells import measured_cells_report
from profet_lab.class_folds import default_report, default_table, scatter
from profet_lab.class_members import REPEATS
from profet_lab.counts import counts_report, held_out_estimates
from profet_lab.documented import documented_report, documented_table, scaler_report
from profet_lab.estimate_report import estimate_report
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import WORKLOAD, Measurements, class_bank, pairs
from profet_lab.models_folder import signed, write_signed
from profet_lab.real_profiles import (
    figures,
    grouped,
    measured_latencies,
    of_profiled,
    real_report,
)
from profet_lab.scaleout import scaleout_report
from profet_lab.sizes import growth_report, predictions_of_table
from profet_lab.tasks import Progress
from profet_lab.validation.gpus import gpus_report, judged
from profet_recorder.profiles.profet_json import VERSION_1_STEPS
from profet_recorder.whole_files import write_whole

VALIDATION_NAME, REAL_REPORT_NAME, CARD_NAME = "validation.json", "real_profiles.json", "MODEL_CARD.md"


Report: TypeAlias = Mapping[str, Any]
#: Rows of a table: mappings, or values or mappings by name.
Rows: TypeAlias = Mapping[Any, Any] | Iterable[Report]


@dataclass(frozen=True)
class Task:
    """What a validation reads.

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


@dataclass(frozen=True, slots=True)
class Part:
    """A validation, its report and its card.

    Attributes
    ----------
    make : the report.
    text : the report and the models' folder -> the card as Markdown.
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
            shipped = load_models(models)
            try:
                text = _model_card(load_validation(shipped), shipped)
            except ArtifactError as error:
                raise ArtifactError(f"{self.report_name} was written, {CARD_NAME} was not: {error}") from None
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


def _real_report(task: Task) -> dict[str, Any]:
    return real_report(
        load_models(task.models),
        Path(task.profiles),
        lambda workload: measured_latencies(task.data[0], workload),
    )


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
        lambda task: measured_cells_report(task.data[0], seed=task.seed, progress=task.progress),
        lambda report, _: cells_card(report),
        "cells_validation.json",
        "CELLS_CARD.md",
    ),
    "gpus": Part(
        lambda task: gpus_report(load_models(task.models), *task.data, seed=task.seed, progress=task.progress),
        lambda report, folder: gpu_card(report, load_transfer(folder), load_memory(folder)),
        "gpus_validation.json",
        "GPU_CARD.md",
        {
            "transfer": lambda folder: load_transfer(folder).checksum,
            "memory": lambda folder: load_memory(folder).checksum,
        },
    ),
    "estimate": Part(
        lambda task: estimate_report(*task.data, task.progress),
        lambda report, folder: render("estimate", report=report, model=load_rates(folder)),
        "estimate_validation.json",
        "ESTIMATE_CARD.md",
        {"estimate": lambda folder: load_rates(folder).checksum},
    ),
    "scaleout": Part(
        lambda task: scaleout_report(task.data[1], task.progress),
        lambda report, folder: scaleout_card(report, load_scaleout(folder)),
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


def render(card: str, **values: object) -> str:
    """The text of a card, without blanks at the ends of lines."""
    template = _environment().get_template("cards.md.j2")
    text = "".join(template.blocks[card](template.new_context(values)))
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
        "exp": lambda value: f"{math.exp(value):.2f}",
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
    """A float without a format as `fixed`; `%` : percent as `fixed`; `exp` : of a logarithm; None is empty."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return ""
        if format_spec == "exp":
            return f"{math.exp(value):.2f}"
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
    """A Markdown table."""
    lines = (headers, "|".join("---" for _ in headers.split("|")), *_filled(cells, rows))
    return "\n".join(f"| {line} |" if at != 1 else f"|{line}|" for at, line in enumerate(lines))


def checksums(sha256: Mapping[str, str]) -> str:
    """A list of files."""
    return listed("- `{name}`: sha256 `{value}`", sha256, "\n")


def _largest(rows: Sequence[Report], *names: str) -> dict[str, float | None]:
    """The largest of each of these figures; nothing of all others."""
    return {**dict.fromkeys(rows[0]), **{name: max(row[name] for row in rows) for name in names}}


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


#: Networks that are named as the worst.
_WORST_NAMED = 4
_MAPE = ("mape_with_latency", "mape_without_latency")


def model_card(report: Report, manifest: Mapping[str, Any], real: str = "") -> str:
    """The card of the models as Markdown.

    Parameters
    ----------
    report : as `validation.json` holds it.
    real : the section on third-party profiles, if any.
    """
    default, original = report["default"], report["original"]
    shipped = manifest["methods"][manifest["default_method"]]
    by_error = sorted(default["by_model"].items(), key=lambda item: -item[1]["mape_with_latency"])
    others = {
        method: {(row["anchor"], row["target"]): _cells(row, *_MAPE) for row in report[key]["pairs"]}
        for method, key in (("documented", "profet"), ("original", "original"))
    }
    scaler = [
        {"method": method, "axis": axis, "ends": ends, **row, "original": mape["mean"] if ends == "true" else None}
        for method, key in (("default", "settings_default"), ("documented", "settings"))
        for name, row in report["scaler"].get(key, {}).items()
        for axis, ends in [name.rsplit("_", 1)]
        for mape in [original["scaler_mape"][axis]]
    ]
    return render(
        "models",
        report=report,
        manifest=manifest,
        real=real,
        worst=dict(by_error[:_WORST_NAMED]),
        worst_original=_largest(original["pairs"], *_MAPE),
        without_twin=WITHOUT_TWIN_MAPE,
        pairs=[
            {**row, **{method: cells[row["anchor"], row["target"]] for method, cells in others.items()}}
            for row in default["pairs"]
        ],
        architectures={
            name: {**row, "original": _cells(original["by_model"][name], *_MAPE)}
            for name, row in default["by_model"].items()
        },
        growth=[
            {"proportional": None, **row, "known": known, "knots": row.get("knots") or "all"}
            for known, rows in report.get("growth", {}).items()
            for row in rows
        ],
        scaler=scaler,
        weights=[
            {"case": case.replace("_", " "), "weights": shipped[case]["weights"]}
            for case in ("with_latency", "without_latency")
        ],
        tree_repeats=REPEATS,
        device_rows=VERSION_1_STEPS * TYPICAL_RATIO,
    )


def real_section(report: Report) -> str:
    """The section on third-party profiles; `report` : as `real_profiles.json` holds it."""
    checks = report["profiles"]
    pytorch = [check for check in of_profiled(checks) if check["framework"].startswith("PyTorch")]
    here = {row["profile"]: row["here_ms"] for row in report["read"] if row["here_ms"] is not None}
    steps_here_ms: dict[float, list[float]] = {}
    for name, step_ms in {check["profile"]: check["step_ms"] for check in pytorch}.items():
        if name in here:
            steps_here_ms.setdefault(here[name], []).append(step_ms)
    return render(
        "real",
        report=report,
        compared=len({check["profile"] for check in checks}),
        kinds=len({check["kind"] for check in checks}),
        # Checks that differ in the profile alone are one row.
        rows=[_alike(rows) for rows in grouped(checks, ("anchor", "target", "framework", "kind"))],
        pytorch=pytorch,
        pytorch_figures=figures(pytorch) if pytorch else None,
        steps_here_ms=steps_here_ms,
        readings=[
            {
                **row,
                "found": "" if row["steps_found"] is None else f"{row['steps_found']} ({row['steps_basis']})",
                "result": row["refusal"] or row["note"] or "compared",
            }
            for row in report["read"]
        ],
        sources=list(dict.fromkeys(row["source"] for row in report["read"] if row["source"])),
    )


def _alike(checks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row of them."""
    found = {"truth_ms": [check["truth_ms"] for check in checks]}
    found |= {
        f"{case}_ms": [check[f"{case}_latency"]["latency_ms"] for check in checks] for case in ("with", "without")
    }
    ends = {name: dict.fromkeys(f"{end(values):.1f}" for end in (min, max)) for name, values in found.items()}
    return {**checks[0], **figures(checks), **{name: "-".join(values) for name, values in ends.items()}}


#: Percent of measurements that a 90% interval may miss.
_PROMISED_MISSES = 10.0
#: The aim of memory fit: recall of what did not run, and false "fits" among all answers.
_RECALL, _FALSE_FITS = 0.8, 0.02


def gpu_card(report: Report, transfer: TransferModel, memory: MemoryModel) -> str:
    """The card of unprofiled GPUs, precisions and memory as Markdown.

    Parameters
    ----------
    report : as `gpus_validation.json` holds it.
    """
    targets, anchors, picture = report["left_out_gpus"], report["left_out_anchors"], report["served"]["picture"]
    gpus = accuracy_by_gpu(report, transfer)
    rented = {transfer.gpus.find(row.gpu, row.gpu_memory_gib).name for row in load_shipped().values()}
    worst, worst_anchor = (
        max(part["directions"], key=lambda row: row["mape_with_latency"]) for part in (targets, anchors)
    )
    directions = targets["directions"]
    # By what is known of the network, from most to least; of what did not run the share that was answered by "fits" and
    # by "can't tell".
    known = {
        "layers known": report["memory"]["arithmetic"],
        **report["memory"]["recorded"],
        **report["memory"]["served"],
    }
    memory_rows = {}
    for name, row in known.items():
        called_fitting = row["strict_false_fits"] * row["cells"] / row["did_not_run"]
        left_open = max(1 - row["strict_recall"] - called_fitting, 0.0)
        memory_rows[name] = {**row, "called_fitting": called_fitting, "left_open": left_open}
    met = {
        how: [
            name
            for name, row in memory_rows.items()
            if (row[f"{how}recall"] or 0.0) >= _RECALL and row[f"{how}false_fits"] <= _FALSE_FITS
        ]
        for how in ("", "strict_")
    }
    as_known = ("mape_without_resnet50_with_latency", "sheet_only_mape_with_latency", "sheet_only_mape_without_latency")
    return render(
        "gpus",
        report=report,
        transfer=transfer,
        judged=[{"what": what, "figure": figure, "wanted": wanted} for what, figure, wanted in judged(report)],
        instances=[f"{name} {row.gpu}" for name, row in transfer.step.instances.items()],
        promised_misses=_PROMISED_MISSES,
        worst=worst,
        worst_anchor=worst_anchor,
        beaten=[row for row in directions if row["one_constant"] < row["mape_with_latency"]],
        as_targets=[
            *directions,
            {"anchor": "mean", "target": "", **targets["mean"]},
            {**_largest(directions, *_MAPE, *as_known, "one_constant"), "anchor": "worst"},
            *({"anchor": "all", "target": name, **row} for name, row in targets["by_gpu"].items()),
        ],
        as_anchors=[
            *anchors["directions"],
            {**anchors["mean"], "anchor": "mean", "target": "", "n": ""},
            {**_largest(anchors["directions"], *_MAPE, "mape_law_alone_with_latency"), "anchor": "worst"},
            *({**row, "anchor": name, "target": "all", "n": ""} for name, row in anchors["by_anchor"].items()),
        ],
        rate_rows=[*report["rates"]["gpus"], {"gpu": "all", "tables": "", **report["rates"]["specs"]}],
        picture_rows=[
            {**row, "speeds": " | ".join(f"{value:.0f}" for value in row["images_per_s"])} for row in picture["rows"]
        ],
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
        memory=memory,
        memory_report=report["memory"],
        memory_rows=memory_rows,
        meet_aim_forced=met[""],
        meet_aim_as_answered=met["strict_"],
    )


def accuracy_by_gpu(report: Report, model: TransferModel) -> list[dict[str, Any]]:
    """Every GPU with specs, best evidence first.

    Returns
    -------
    gpu, evidence, rates : as the transfer model has them.
    tf32, amp, amp_bandwidth : logarithms of rates, None without such cores.
    has_tables : whether anything but its specs is known of it.
    held_out : error of its published speeds by rates that saw none of them, percent, None without any.
    half_width, amp_half_width : of its 90 % interval at least, upwards, percent, in the default precision and in AMP,
        of a profiled GPU as if it were not.
    """
    held_out = {row["gpu"]: row["mape"] for row in report["rates"]["gpus"]}
    reference, found = model.gpus[model.reference_gpu], []
    for gpu in model.gpus.values():
        width, evidence = _half_width(report, model, gpu), evidence_of(model, gpu, True)
        amp = model.rates.amp(gpu, reference, AMP, transferred=True).log_sd
        rates = known_rates(model, gpu)
        has_amp = bool(gpu.fp16_tensor_dense_tflops)
        found.append(
            {
                "gpu": gpu,
                "evidence": evidence,
                "rates": rates,
                "tf32": rates.compute if gpu.tf32_tensor_dense_tflops else None,
                "amp": rates.compute + rates.amp_compute if has_amp else None,
                "amp_bandwidth": rates.bandwidth + rates.amp_bandwidth if has_amp else None,
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


def cells_card(report: Report) -> str:
    """The card of a GPU with few measurements; `report` : as `cells_validation.json` holds it."""
    gpus = list(report["rows"][0]["gpus"])
    return render("cells", report=report, by_gpu=lambda cells: " | ".join(cells.replace("NAME", gpu) for gpu in gpus))


def scaleout_card(report: Report, model: ScaleoutModel) -> str:
    """The card of `scaleout.json`; `report` : as `scaleout_validation.json` holds it."""
    what = {"network": "network", "gpu": "GPU model", "group": "framework", "count": "number of GPUs"}
    parts = [
        {"data_set": name, "what": what[by], **found[by]}
        for name, found in report["data_sets"].items()
        for by in what
        if by in found
    ]
    keys = ("covered_by_strategy", "covered_by_gpus")
    for part in parts:
        part |= {f"{key}_names": list(part[key]) for key in keys}
    coverage = [
        {**part, **{key: listed("{covered_90:.1f}% of {n}", part[key], " | ") for key in keys}} for part in parts
    ]
    widths = [{"link": link, "a": width, "b": model.widths[True][link]} for link, width in model.widths[False].items()]
    factors = {name: math.exp(log_sd) for name, log_sd in model.log_sds.items()}
    return render(
        "scaleout", report=report, model=model, factors=factors, parts=parts, coverage=coverage, widths=widths
    )


def manycore_card(made: str, rows: Sequence[many_core.CheckRow], speedup: many_core.CheckRow) -> str:
    """Published predictions and both many-core models."""
    return render(
        "manycore",
        made=made,
        published=[
            {"row": row, "same_digits": "yes" if row.same_digits else "no"}
            for row in rows
            if row.published_min is not None
        ],
        compared=[{"row": row} for row in rows if row.threads in (1, 60, 240, 480, 3840)],
        speedup=speedup,
        published_speedup=many_core.PUBLISHED_SPEEDUP,
        apart={
            name: [many_core.mean_apart_percent(rows, name, extrapolated=each) for each in (False, True)]
            for name in many_core.PUBLISHED
        },
        large=many_core.PUBLISHED["large"],
        published_errors=many_core.PUBLISHED_ERROR_PERCENT,
        processor=many_core.XEON_PHI_7120P,
    )
