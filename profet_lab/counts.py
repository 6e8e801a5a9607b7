"""Judge the default method where the network is known by name, and fit how its counts join the members."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from profet_core.prediction.counts import WEIGHTS, CountsWeight, max_log_ratio
from profet_lab.class_folds import LEVEL, families_of
from profet_lab.estimate_fit import PROFET, estimate_rows, fit, predicted_ms, problem
from profet_lab.measurements.tables import CASES, WITH_LATENCY, Measurements
from profet_lab.tasks import Progress, error_figures, run_tasks

#: Ending of columns -> what is held out; a family with the published steps of its like.
HELD_OUT = {"": "model", "_family": "family"}
_STEP = ["model", "pixels", "batch_size"]
#: The fit takes a row in so many: repeats are near-copies.
_EVERY, _MAX_SEARCH = 3, 120


def held_out_estimates(
    measurements: Measurements, folder: Path, progress: Progress | None = None
) -> Mapping[str, pd.Series]:
    """Return estimates of PROFET's cells by the rates without their network, or without their family, by `HELD_OUT`.

    Returns
    -------
    estimates : milliseconds by (instance, model, pixels, batch_size).
    """
    every = problem(estimate_rows(measurements.all_latencies, folder))
    rows, warm = every.rows, fit(every)
    is_cell = (rows["source"] == PROFET).to_numpy()
    cells = rows[is_cell].rename(columns={"network": "model"})
    keys = pd.MultiIndex.from_frame(cells[["instance", *_STEP]])
    estimates = {}
    for ending, names in {"": rows["network"].to_numpy(), "_family": families_of(rows["network"])}.items():
        judged = [is_cell & (names == name) for name in np.unique(names[is_cell])]
        alike = [~is_cell & rows["family"].isin(rows.loc[held, "family"]).to_numpy() for held in judged]
        learned = [~(held | others) if ending else ~held for held, others in zip(judged, alike, strict=True)]
        fits = run_tasks(fit, [(every.subset(kept), warm) for kept in learned], progress=progress, threads=True)
        latency_ms = np.full(len(rows), np.nan)
        for held, effects in zip(judged, fits, strict=True):
            latency_ms[held] = predicted_ms(every.subset(held), effects)
        estimates[ending] = pd.Series(latency_ms[is_cell], keys)
    return estimates


def counts_report(table: pd.DataFrame, estimates: Mapping[str, pd.Series]) -> dict[str, Any]:
    """Accuracy where counts join the members, with weights from errors on other networks or families.

    Parameters
    ----------
    table : as `class_folds.default_table` gives it.
    estimates : as `held_out_estimates` gives them.

    Returns
    -------
    mape, coverage_90, median_interval_pct : of each case, "_family" of families held out; percent.
    fitted : case -> weights fitted on all networks.
    """
    report: dict[str, Any] = {"fitted": {}}
    table = table.assign(family=families_of(table["model"]))
    here = table[["anchor", "target", *_STEP, "repeat", "true_ms"]]
    # On the anchor, the same run.
    run = [*_STEP, "repeat"]
    on_anchor = here.drop_duplicates(["target", *run]).set_index(["target", *run])["true_ms"]
    anchor_ms = on_anchor.reindex(pd.MultiIndex.from_frame(here[["anchor", *run]])).to_numpy()
    for case in CASES.values():
        parts = {}
        for ending, estimated in estimates.items():
            anchor, target = (
                estimated.reindex(pd.MultiIndex.from_frame(here[[place, *_STEP]])).to_numpy()
                for place in ("anchor", "target")
            )
            name = f"{case}{ending}_and_sizes"
            parts[ending] = pd.DataFrame(
                {
                    **table[["model", "family", "true_ms"]],
                    "members_ms": table[name],
                    "spread": table[f"{name}_spread"],
                    "half": table[f"{name}_half"],
                    "estimate_ms": target,
                    # Without the anchor's latency there is no ratio.
                    "ratio": anchor_ms / anchor if case == WITH_LATENCY else 1.0,
                    "is_used": np.abs(np.log(anchor_ms / anchor)) <= max_log_ratio() if case == WITH_LATENCY else True,
                }
            )
        for ending, judged in parts.items():
            column = HELD_OUT[ending]
            latency_ms, half = np.empty(len(judged)), np.empty(len(judged))
            for name in np.unique(judged[column]):
                held = (judged[column] == name).to_numpy()
                weight = fitted_weight([part[~held] for part in parts.values()], case)
                latency_ms[held], half[held] = _joined(judged[held], weight)
            figures = error_figures(np.log(latency_ms / judged["true_ms"]), pd.Series(half, judged.index))
            report |= {f"{figure}_{case}{ending}": figures[figure] for figure in ("mape", "coverage_90")}
            # Half-widths as everywhere in this report: the mean of the way up and the way down.
            report[f"median_interval_pct_{case}{ending}"] = float(100 * np.median(np.sinh(half)))
        weight = fitted_weight(list(parts.values()), case)
        report["fitted"][case] = {name: round(getattr(weight, name), 4) for name in CountsWeight.__struct_fields__}
    return report


def fitted_weight(parts: list[pd.DataFrame], case: str) -> CountsWeight:
    """Return the weights of least error on these rows, and the width that covers them as often as it should."""
    rows = pd.concat([part[part["is_used"]] for part in parts])
    few = rows.iloc[::_EVERY]
    start = WEIGHTS[case == WITH_LATENCY]

    def weight_of(numbers: np.ndarray) -> CountsWeight:
        members_log_sd, counts_log_sd = np.exp(numbers[:2]).tolist()
        return CountsWeight(members_log_sd, counts_log_sd, float(numbers[2]) if len(numbers) > 2 else 0.0, width=1.0)

    def error(numbers: np.ndarray) -> float:
        latency_ms, _ = _joined(few, weight_of(numbers))
        return float(np.abs(np.log(latency_ms / few["true_ms"].to_numpy())).mean())

    logs = np.log([start.members_log_sd, start.counts_log_sd])
    first = [*logs, start.anchor_power] if case == WITH_LATENCY else logs
    options = {"maxiter": _MAX_SEARCH, "xatol": 0.02, "fatol": 1e-6}
    weight = weight_of(minimize(error, first, method="Nelder-Mead", options=options).x)
    latency_ms, half = _joined(rows, weight)
    width = np.quantile(np.abs(np.log(latency_ms / rows["true_ms"].to_numpy())) / half, LEVEL)
    return CountsWeight(weight.members_log_sd, weight.counts_log_sd, weight.anchor_power, float(width))


def _joined(rows: pd.DataFrame, weight: CountsWeight) -> tuple[np.ndarray, np.ndarray]:
    """Latencies and log half-widths; members alone where the estimate on the anchor can't be that of the network."""
    counts_ms = rows["estimate_ms"] * rows["ratio"] ** weight.anchor_power
    joined_ms = weight.joined(rows["members_ms"].to_numpy(), rows["spread"].to_numpy(), counts_ms.to_numpy())
    is_used, half = rows["is_used"].to_numpy(bool), rows["half"].to_numpy()
    return np.where(is_used, joined_ms, rows["members_ms"]), np.where(is_used, weight.width, 1.0) * half
