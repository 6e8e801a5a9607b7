"""Write the cards that ship with the models from their reports: the templates in `templates/` and what they need."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import AMP, Gpu
from profet_core.latency import quantile
from profet_core.layers.rates import RateModel
from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.prediction.unprofiled_anchor import ANALYTIC_SHARE
from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_ERROR_PERCENT,
    PUBLISHED_SPEEDUP,
    XEON_PHI_7120P,
    CheckRow,
    mean_apart_percent,
)
from profet_core.training.memory import MemoryModel
from profet_core.transfer.model import TransferModel
from profet_core.transfer.rates import GpuRates
from profet_core.transfer.speed import evidence_of, known_rates, known_speed
from profet_core.transfer.steps import LEFT_AFTER_LAUNCHES, MAX_LAUNCHES, MAX_WORK, WEIGHTS
from profet_core.transfer.targets import ASSUMED_LOG_SD, MEASURED_LOG_SD, Evidence, Source
from profet_lab.class_members import REPEATS
from profet_lab.validation.gpus import judged
from profet_lab.validation.real_profiles import figures, grouped, of_profiled
from profet_recorder.profiles.profet_json import VERSION_1_STEPS


def render(template: str, **values: object) -> str:
    """The text of one of the templates, without blanks at the ends of lines."""
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.split("\n"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("profet_lab.cards"),
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


@dataclass(frozen=True, slots=True)
class GpuAccuracy:
    """One GPU.

    Attributes
    ----------
    held_out : error of its published speeds by rates that saw none of them, percent; None without any.
    half_width, amp_half_width : of its 90 % interval at least, upwards, percent, in the default precision and in AMP.
        Of a profiled GPU: as if it were not.
    """

    gpu: Gpu
    evidence: Evidence
    rates: GpuRates
    held_out: float | None
    half_width: float
    amp_half_width: float

    @property
    def has_tables(self) -> bool:
        """Whether anything but its specs is known of it."""
        return self.evidence.source in (Source.PROFILED, Source.CELLS, Source.PUBLISHED)


def gpu_card(report: Mapping[str, Any], transfer: TransferModel, memory: MemoryModel) -> str:
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
        unchecked=[row.gpu.name for row in gpus if not row.has_tables and row.gpu.name in rented],
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


def _memory_figures(report: Mapping[str, Any], memory: MemoryModel) -> dict[str, Any]:
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


def accuracy_by_gpu(report: Mapping[str, Any], model: TransferModel) -> list[GpuAccuracy]:
    """Every GPU with specs, best evidence first."""
    held_out = {row["gpu"]: row["mape"] for row in report["rates"]["gpus"]}
    reference, found = model.gpus[model.reference_gpu], []
    for gpu in model.gpus.values():
        width = _half_width(report, model, gpu)
        amp = model.rates.amp(gpu, reference, AMP).log_sd
        found.append(
            GpuAccuracy(
                gpu=gpu,
                evidence=evidence_of(model, gpu, True),
                rates=known_rates(model, gpu),
                held_out=held_out.get(gpu.name),
                half_width=100 * math.expm1(width),
                amp_half_width=100 * math.expm1(math.hypot(width, quantile() * amp)),
            )
        )
    order = list(Source)
    return sorted(found, key=lambda row: (order.index(row.evidence.source), row.half_width))


def _half_width(report: Mapping[str, Any], model: TransferModel, gpu: Gpu) -> float:
    instance = next((name for name, row in model.step.instances.items() if row.gpu == gpu.name), None)
    if row := report["left_out_gpus"]["by_gpu"].get(instance):
        return math.log1p(row["median_interval_pct_with_latency"] / 100)
    if calibrated := model.calibrated_gpu(gpu, True):
        return quantile() * calibrated.log_sd
    return quantile() * known_speed(model, gpu, True).step_log_sd


Report = Mapping[str, Any]


def estimate_card(report: Report, model: RateModel) -> str:
    """Latency without a profile."""
    return render("estimate_card.md.j2", report=report, model=model)


MANYCORE_CARD_NAME = "MANYCORE_CARD.md"


def manycore_card(rows: Sequence[CheckRow], speedup: CheckRow) -> str:
    """Published predictions and both many-core models."""
    return render(
        "manycore_card.md.j2",
        made=datetime.now(UTC).date().isoformat(),
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


def model_card(report: Mapping[str, Any], manifest: Mapping[str, Any], real: str = "") -> str:
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
