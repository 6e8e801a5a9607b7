"""Fit `scaleout.json` on published steps, and validate it on held-out networks and GPU models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, linprog

from profet_core.catalog.interconnects import Link
from profet_core.files import sha256_hex
from profet_core.latency import quantile
from profet_core.training.scaling_model import (
    NUMBERS,
    SCALEOUT_VERSION,
    Links,
    ScaleoutModel,
    Strategy,
    Width,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.models_folder import signed
from profet_lab.scaleout_rows import TENSORFLOW_2017, TENSORFLOW_2017_FILE, THROUGHPUTS, load_scale_rows
from profet_lab.tasks import Progress, held_out, run_tasks

Array = NDArray[np.float64]

#: Log errors beyond this are down-weighted: some machines are far off their specs.
_ROBUST_FROM = 0.05
#: Weight of where a coefficient starts, which decides only where no row speaks of it.
_PRIOR_WEIGHT = 0.02
#: How far, in the logarithm, a coefficient may go from its start.
_RANGE = 6.0
_LINK = "link "
#: Coefficient -> where its fit starts. Bridges were in no published machine: they take NVLink's.
STARTS: Mapping[str, float] = MappingProxyType(
    {
        **{f"{_LINK}{link}": 0.3 for link in Link if link is not Link.BRIDGE},
        "host_efficiency": 0.5,
        "network_efficiency": 0.5,
        "message_ms": 0.5,
        "overlap": 0.5,
        "straggling": 0.01,
        "network_straggling": 0.01,
        "copy_efficiency": 0.5,
        "tensor_ms": 0.1,
        "tensor_gpu_ms": 0.1,
    }
)
_SHARES = tuple(name for name in STARTS if name.startswith(_LINK) or name.endswith("efficiency") or name == "overlap")


def predicted_ms(model: ScaleoutModel, rows: pd.DataFrame) -> Array:
    """Milliseconds a step of each row; shape (rows,)."""
    return _predictor(rows)(model)


def fitted_model(rows: pd.DataFrame) -> ScaleoutModel:
    """Fit the scale-out model to these rows, without interval widths."""
    predicted = _predictor(rows)
    true_log = np.log(rows["latency_ms"].to_numpy())
    starts = np.log(list(STARTS.values()))
    most = starts + _RANGE
    for place, name in enumerate(STARTS):
        if name in _SHARES:
            most[place] = 0.0

    def errors(logs: Array) -> Array:
        return np.concatenate([np.log(predicted(_model(logs))) - true_log, _PRIOR_WEIGHT * (logs - starts)])

    found = least_squares(errors, starts, loss="soft_l1", f_scale=_ROBUST_FROM, bounds=(starts - _RANGE, most))
    return _model(found.x)


def _predictor(rows: pd.DataFrame) -> Callable[[ScaleoutModel], Array]:
    """Rows of one strategy on one kind of link are predicted together."""
    kinds = rows["strategy"] + " " + rows["link"]
    groups = [(places, _alike(rows.iloc[places])) for places in kinds.groupby(kinds, sort=False).indices.values()]

    def predicted(model: ScaleoutModel) -> Array:
        out = np.empty(len(rows))
        for places, of_group in groups:
            out[places] = of_group(model)
        return out

    return predicted


def _alike(rows: pd.DataFrame) -> Callable[[ScaleoutModel], Array]:
    strategy, link = Strategy(rows["strategy"].iloc[0]), Link(rows["link"].iloc[0])
    one_gpu_ms, per_node, nodes, shared, tensors = (
        rows[["one_gpu_ms", "gpus_per_node", "nodes", "gradient_bytes", "tensors"]].to_numpy(float).T
    )
    speeds = ("link_gb_per_s", "pcie_gb_per_s", "gpus_per_root", "network_gb_per_s")
    links = Links(link, *(np.array([getattr(node, name) for node in rows["interconnect"]], float) for name in speeds))

    def predicted(model: ScaleoutModel) -> Array:
        if strategy is Strategy.ONE_PROCESS:
            return np.asarray(one_process_ms(model, one_gpu_ms, per_node, links, shared, tensors))
        in_node = node_sharing_ms(model, strategy, per_node, links, shared)
        between = network_sharing_ms(model, strategy, nodes, links, shared)
        return np.asarray(several_ms(model, one_gpu_ms, per_node, nodes, in_node + between))

    return predicted


def _model(logs: Array) -> ScaleoutModel:
    values = dict(zip(STARTS, np.exp(logs).tolist(), strict=True))
    links = {Link(name.removeprefix(_LINK)): values.pop(name) for name in list(values) if name.startswith(_LINK)}
    links[Link.BRIDGE] = links[Link.NVLINK]
    no_widths = dict.fromkeys(Link, Width(0.0, 0.0, 0.0))
    return ScaleoutModel(links, **values, widths=no_widths, one_process_widths=no_widths)


LEVEL = 0.9
#: Links that share a width: few machines were measured with each kind of NVLink, none with bridges.
ALIKE = ((Link.NVSWITCH, Link.NVLINK, Link.BRIDGE), (Link.PCIE,), (Link.PCIE_HOST,))
#: Smallest width: published speeds themselves vary as much from run to run.
_LEAST = 0.04
#: Where no row speaks of a link.
_UNKNOWN = Width(_LEAST, 0.8, 0.0)


def widths(rows: pd.DataFrame, held_out_ms: Array) -> tuple[dict[Link, Width], dict[Link, Width]]:
    """Widths that hold `LEVEL` of these errors, at few GPUs as at many: of a process per GPU, and of one in all.

    held_out_ms : milliseconds a step of each row, by a scale-out model that did not see it; shape (rows,).
    """
    links = rows["link"].to_numpy()
    by_one = (rows["strategy"] == Strategy.ONE_PROCESS).to_numpy()
    errors = np.abs(np.log(rows["latency_ms"].to_numpy()) - np.log(held_out_ms))
    added, doublings = added_shares(rows, held_out_ms), np.log2(rows["gpus"].to_numpy() / 2)

    def of(among: np.ndarray) -> dict[Link, Width]:
        found: dict[Link, Width] = {}
        for alike in ALIKE:
            here = among & np.isin(links, alike)
            width = _regressed(errors[here], added[here], doublings[here]) if here.any() else _UNKNOWN
            found.update(dict.fromkeys(alike, width))
        return found

    return of(~by_one), of(by_one)


def added_shares(rows: pd.DataFrame, predicted_ms: Array) -> Array:
    """Share of each predicted step that several GPUs add to one GPU's; shape (rows,)."""
    return 1 - rows["one_gpu_ms"].to_numpy() / predicted_ms


def log_half_widths(rows: pd.DataFrame, predicted_ms: Array, found: Sequence[Mapping[Link, Width]]) -> Array:
    """Of each row's interval, in the logarithm, by `widths`; shape (rows,)."""
    added = added_shares(rows, predicted_ms).tolist()
    kinds = zip(rows["strategy"], rows["link"], rows["gpus"], added, strict=True)
    log_sds = [
        found[strategy == Strategy.ONE_PROCESS][link].log_sd(share, gpus) for strategy, link, gpus, share in kinds
    ]
    return quantile() * np.array(log_sds)


def covered(rows: pd.DataFrame, predicted_ms: Array, half_widths: Array) -> np.ndarray:
    """Whether each measured step lies in its interval, cut at perfect scaling; (rows,)."""
    true_ms = rows["latency_ms"].to_numpy()
    low_ms = np.maximum(predicted_ms * np.exp(-half_widths), rows["one_gpu_ms"])
    return (true_ms >= low_ms) & (true_ms <= predicted_ms * np.exp(half_widths))


def _regressed(errors: Array, added: Array, doublings: Array) -> Width:
    """Quantile regression of errors, no coefficient negative (Koenker and Bassett 1978, as a linear program)."""
    n = len(errors)
    features = np.column_stack([np.ones(n), added, doublings])
    found = linprog(
        np.concatenate([np.zeros(3), np.full(n, LEVEL), np.full(n, 1 - LEVEL)]),
        A_eq=np.hstack([features, np.eye(n), -np.eye(n)]),
        b_eq=errors,
        bounds=[(_LEAST, None), *[(0, None)] * (2 + 2 * n)],
        method="highs",
    )
    return Width(*(float(value) for value in found.x[:3]))


#: Columns whose values are held out in turn.
NETWORK, GPU = "network", "gpu"
#: Inner folds for the interval widths.
_INNER = 5


def held_out_fold(rows: pd.DataFrame, by: str, name: str) -> pd.DataFrame:
    """The fold's rows, with predicted_ms and log_half_width by a model and widths fitted on the others.

    by : `NETWORK` or `GPU`.
    """
    out, others = rows[rows[by] == name], rows[rows[by] != name]
    latency_ms = predicted_ms(fitted_model(others), out)
    inner_widths = widths(others, held_out_ms(others, by, groups=_INNER))
    return out.assign(predicted_ms=latency_ms, log_half_width=log_half_widths(out, latency_ms, inner_widths))


def held_out_ms(rows: pd.DataFrame, by: str, *, groups: int | None = None) -> Array:
    """Out-of-fold milliseconds per step of each row, by folds or groups of folds."""
    _, fold = np.unique(rows[by].to_numpy(str), return_inverse=True)
    group = fold if groups is None else fold % groups
    return held_out(rows, group, lambda others, out: predicted_ms(fitted_model(others), out))


_FILES = (TENSORFLOW_2017_FILE, THROUGHPUT_FILE)


def scaleout_content(folder: Path) -> dict:
    """What `scaleout.json` holds, fitted on the published speeds of `folder/external`."""
    rows = load_scale_rows(folder).kept
    content = {
        **model_content(rows),
        "fitted_on": {
            "rows": dict(Counter(rows["data_set"])),
            "sha256": {str(name): sha256_hex((folder / name).read_bytes()) for name in _FILES},
        },
    }
    return signed(content)


def model_content(rows: pd.DataFrame) -> dict:
    """Fit the coefficients, with widths from held-out networks and GPU models."""
    model = fitted_model(rows)
    held_out = np.concatenate([held_out_ms(rows, by) for by in (NETWORK, GPU)])
    documents = [
        {str(link): asdict(width) for link, width in found.items()}
        for found in widths(pd.concat([rows, rows]), held_out)
    ]
    return {
        "schema_version": SCALEOUT_VERSION,
        "link_efficiency": {str(link): value for link, value in model.link_efficiency.items()},
        **{name: getattr(model, name) for name in NUMBERS},
        "widths": documents[0],
        "one_process_widths": documents[1],
    }


#: Perfect scaling is nearly right above this share of it: only below it a model can show something.
HARD_BELOW = 0.9


def scaleout_report(folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """All figures: held-out networks and GPU models by data set, 64 GPUs, and excluded steps."""
    found = load_scale_rows(folder)
    judged = {name: judged_steps(found.kept, by, progress) for name, by in (("networks", NETWORK), ("gpus", GPU))}
    networks = found.rows["network"].to_numpy(str)
    with_excluded = found.rows.assign(predicted_ms=held_out(found.rows, networks, _predicted_by_kept))
    on_64 = judged["networks"].query("gpus == 64")
    network_64 = zip(on_64["network"], on_64["batch_per_gpu"], on_64["predicted_ms"] / on_64["latency_ms"], strict=True)
    return {
        "data_sets": {
            name: {
                "n": int((found.kept["data_set"] == name).sum()),
                "networks": _figures(judged["networks"], name, NETWORK),
                "gpus": _figures(judged["gpus"], name, GPU),
                "excluded": found.held_out(name),
                "with_excluded": scale_errors(with_excluded[with_excluded["data_set"] == name]),
            }
            for name in (TENSORFLOW_2017, THROUGHPUTS)
        },
        "on_64": scale_errors(on_64),
        "network_64": {f"{name}, batch {batch:.0f}": float(100 * (off - 1)) for name, batch, off in network_64},
    }


def _predicted_by_kept(others: pd.DataFrame, out: pd.DataFrame) -> np.ndarray:
    """Excluded steps are predicted, and nothing is fitted on them."""
    return predicted_ms(fitted_model(others[others["excluded"] == ""]), out)


def judged_steps(rows: pd.DataFrame, by: str, progress: Progress | None = None) -> pd.DataFrame:
    """The rows with predicted_ms, log_half_width, and whether the interval is right, `inside`."""
    tasks = [(rows, by, name) for name in sorted(set(rows[by]))]
    found = pd.concat(run_tasks(held_out_fold, tasks, progress=progress)).loc[rows.index]
    return found.assign(inside=covered(found, found["predicted_ms"].to_numpy(), found["log_half_width"].to_numpy()))


def scale_errors(rows: pd.DataFrame) -> dict[str, float]:
    """Errors of rows with `predicted_ms`, percent; zeros of no row.

    `mape` and `bias` of predicted over measured steps, one GPU's measured step given; `perfect_mape` : of perfect
    scaling, the step of one GPU.
    """
    if rows.empty:
        return {"n": 0, "mape": 0.0, "bias": 0.0, "perfect_mape": 0.0}
    true_ms, predicted, one_ms = rows[["latency_ms", "predicted_ms", "one_gpu_ms"]].to_numpy().T
    return {
        "n": len(rows),
        "mape": float(100 * np.abs(predicted / true_ms - 1).mean()),
        "bias": float(100 * np.expm1(np.log(predicted / true_ms).mean())),
        "perfect_mape": float(100 * np.abs(one_ms / true_ms - 1).mean()),
    }


def _figures(judged: pd.DataFrame, data_set: str, by: str) -> dict[str, Any]:
    rows = judged[judged["data_set"] == data_set]
    several = rows[rows["strategy"] != Strategy.ONE_PROCESS]
    return {
        "every": scale_errors(rows),
        "hard": scale_errors(rows[rows["efficiency"] < HARD_BELOW]),
        "covered_90": _covered(rows)["covered_90"],
        "median_interval_pct": float(np.median(100 * np.expm1(rows["log_half_width"]))),
        "by_fold": {str(name): scale_errors(part) for name, part in rows.groupby(by)},
        "by_strategy": {str(name): scale_errors(part) for name, part in rows.groupby("strategy")},
        "covered_by_strategy": {str(name): _covered(part) for name, part in rows.groupby("strategy")},
        "covered_by_gpus": {str(name): _covered(part) for name, part in several.groupby("gpus")},
    }


def _covered(rows: pd.DataFrame) -> dict[str, float]:
    return {"n": len(rows), "covered_90": float(100 * rows["inside"].to_numpy().mean())}
