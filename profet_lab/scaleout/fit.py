"""Fit efficiency, overlap and time per message on published steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares

from profet_core.catalog.interconnects import Link
from profet_core.multi_gpu.law import (
    Links,
    ScaleoutModel,
    Strategy,
    Width,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)

Array = NDArray[np.float64]

#: Log errors beyond this are down-weighted: some machines are far off their specs.
_ROBUST_FROM = 0.05
#: Weight of where a coefficient starts, which decides only where no row speaks of it.
_PRIOR_WEIGHT = 0.02
#: How far, in the logarithm, a coefficient may go from its start.
_REACH = 6.0
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
    most = starts + _REACH
    for place, name in enumerate(STARTS):
        if name in _SHARES:
            most[place] = 0.0

    def errors(logs: Array) -> Array:
        return np.concatenate([np.log(predicted(_model(logs))) - true_log, _PRIOR_WEIGHT * (logs - starts)])

    found = least_squares(errors, starts, loss="soft_l1", f_scale=_ROBUST_FROM, bounds=(starts - _REACH, most))
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
