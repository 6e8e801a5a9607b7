"""Fit and write `estimate.json`, and the rates as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import AMP, FP32, TF32
from profet_core.files import sha256_hex
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    ONCE,
    RATES_NAME,
    RATES_VERSION,
    SMALL_BATCH,
    Mode,
    RateModel,
    load_rates,
    mode_of,
)
from profet_lab.estimate.fit import (
    OFTEN,
    Fitted,
    Problem,
    as_new_source,
    chip_of,
    fit,
    group_of,
    log_power_limit,
    predicted_ms,
    problem,
    today_log_launch,
)
from profet_lab.estimate.judge import Judge, known_steps, log_sds_by_case
from profet_lab.estimate.rows import PROFET, estimate_rows
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import LATENCIES_FILE, Measurements
from profet_lab.models_folder import signed, write_coefficients
from profet_lab.tasks import Progress
from profet_recorder.whole_files import write_whole

RATES_TABLE = "rates.csv"
_DIGITS = 4
#: Uncertainty of the speed of a GPU that is known at small batches alone, by judgment.
_SMALL_LOG_SD = 0.15


def fit_and_write(measurements: Measurements, folder: Path, out: Path, progress: Progress | None = None) -> RateModel:
    """Fit on all measurements, take the intervals from held-out errors, and write the files.

    folder : of the data. out : a models folder.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    fitted = fit(fit_problem)
    judge = Judge(fit_problem, fitted, progress)
    files = (LATENCIES_FILE, THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE)
    content = {
        **coefficients(fit_problem, fitted, judge.point_log_sd),
        "unknown_gpu_log_sd": _rounded(judge.unknown_gpu_log_sd),
        "source_log_sd": _rounded(judge.source_log_sd),
        "log_sds": {key: _rounded(value) for key, value in log_sds_by_case(judge).items()},
        "fitted_on": {
            "steps": str(len(rows)),
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in files},
        },
    }
    write_coefficients(signed(content), out / RATES_NAME)
    model = load_rates(out)
    write_whole(out / RATES_TABLE, rates_table(model).encode())
    return model


def coefficients(fit_problem: Problem, fitted: Fitted, point_log_sd: float) -> dict[str, Any]:
    """The fitted effects as `estimate.json` holds them, but for the intervals.

    point_log_sd : uncertainty of the speed of a GPU that is known by few steps.
    """
    values = dict(zip(fit_problem.keys, fitted.values.tolist(), strict=True))

    def of(*key: str) -> float:
        return values.get(key, 0.0)

    rows, offers, answered = fit_problem.rows, load_shipped(), as_new_source(fit_problem.keys, fitted)
    chips = set(map(chip_of, set(rows.gpus.tolist())))

    def effects(gpu: str, specific: str, name: str) -> dict[str, Any]:
        logs, chip = [], chip_of(gpu)
        for kind in KINDS:
            part = "compute" if kind in FLOPS else "bandwidth" if kind in (*ELEMENTS, *ONCE) else ""
            own = of(f"kind on {specific}", kind, name) + of(f"group on {specific}", group_of(kind), name)
            own += of("speed", chip) + of("speed", gpu) + (of("speed", name) if name != gpu else 0.0)
            faster = of("gpu", part, chip) + of("gpu", part, gpu) if part else 0.0
            faster += of("power", "limit") * log_power_limit(gpu) if part == "compute" else 0.0
            logs.append(_rounded(own - faster))
        number = int(np.sum(rows.gpus == gpu))
        is_small = bool(number and rows.batch_sizes[rows.gpus == gpu].max() < SMALL_BATCH)
        log_sd = _SMALL_LOG_SD if is_small else 0.0 if number >= OFTEN else _rounded(point_log_sd)
        return {"log_costs": logs, "log_sd": log_sd, "rows": number, "is_small": is_small}

    instances = sorted({str(name) for name in rows.instances.tolist()} - {""})
    gpu_of = {name: load_gpus().find(offers[name].gpu, offers[name].gpu_memory_gib).name for name in instances}
    source, launch, start = of("source", PROFET), of("launch"), of("start")
    return {
        "schema_version": RATES_VERSION,
        "kinds": list(KINDS),
        "log_costs": {
            mode.name: [_rounded(of("kind", kind) + of("mode", kind, mode.name)) for kind in KINDS] for mode in Mode
        },
        "powers": {part: _rounded(of("power", part)) for part in ("compute", "bandwidth")},
        "gpus": {gpu: effects(gpu, "GPU", gpu) for gpu in sorted(load_gpus()) if chip_of(gpu) in chips},
        "average": {
            "log_costs": [0.0] * len(KINDS),
            "log_launch": _rounded(launch + today_log_launch(fit_problem.keys, fitted.values)),
            "log_start_ms": _rounded(start),
        },
        "measured": {
            "log_costs": [
                _rounded(source + of("kind of source", kind, PROFET) + of("group of source", group_of(kind), PROFET))
                for kind in KINDS
            ],
            "log_launch": _rounded(source + launch + of("launch of source", PROFET)),
            "log_start_ms": _rounded(start + of("start of source", PROFET)),
        },
        "instances": {
            name: {
                "gpu": gpu_of[name],
                "log_launch": _rounded(of("launch on", PROFET, name)),
                **effects(gpu_of[name], "instance", name),
            }
            for name in instances
        },
        "known": known_steps(rows, np.log(rows.latency_ms / predicted_ms(fit_problem, answered))),
    }


def _rounded(value: float) -> float:
    return round(value, _DIGITS)


def rates_table(model: RateModel) -> str:
    """Rates by GPU and mode, one column a kind, with how sure they are.

    Rates are forward work of a training step per second: TFLOP, billions of values written, billions of parameters,
    thousands of images' values or of kernels.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["gpu", "mode", *_units(), "log_sd", "steps"])
    for gpu in load_gpus().values():
        modes = [mode_of(gpu, FP32, "plain"), mode_of(gpu, TF32, "plain")]
        modes += [mode_of(gpu, AMP, code) for code in ("plain", "channels-last")]
        for mode in dict.fromkeys(modes):
            costs = model.costs_ms(gpu, Mode(mode), model.average)
            known = model.gpus.get(gpu.name)
            rates = [f"{1 / cost:.3g}" for cost in costs.tolist()]
            name = mode.name.lower().replace("_", " ")
            table.writerow([gpu.name, name, *rates, f"{model.gpu_log_sd(gpu.name):.2f}", known.rows if known else 0])
    return text.getvalue()


def _units() -> Sequence[str]:
    flops = [f"{kind} TFLOP/s" for kind in FLOPS]
    values = [f"{kind} G/s" for kind in (*ELEMENTS, *ONCE)]
    return [*flops, *values, "images G/s", "kernels M/s"]
