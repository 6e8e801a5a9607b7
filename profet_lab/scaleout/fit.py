"""Fit efficiency, overlap and time per message on published steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
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
from profet_lab.scaleout.rows import ScaleRow

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


@dataclass(frozen=True, slots=True)
class _Alike:
    """Rows of one strategy on one kind of link, as arrays; `places` among all rows."""

    places: NDArray[np.intp]
    strategy: Strategy
    links: Links
    one_gpu_ms: Array
    gpus_per_node: Array
    nodes: Array
    gradient_bytes: Array
    tensors: Array

    def predicted_ms(self, model: ScaleoutModel) -> Array:
        if self.strategy is Strategy.ONE_PROCESS:
            return np.asarray(
                one_process_ms(
                    model, self.one_gpu_ms, self.gpus_per_node, self.links, self.gradient_bytes, self.tensors
                )
            )
        in_node = node_sharing_ms(model, self.strategy, self.gpus_per_node, self.links, self.gradient_bytes)
        between = network_sharing_ms(model, self.strategy, self.nodes, self.links, self.gradient_bytes)
        return np.asarray(several_ms(model, self.one_gpu_ms, self.gpus_per_node, self.nodes, in_node + between))


def predicted_ms(model: ScaleoutModel, rows: Sequence[ScaleRow]) -> Array:
    """Milliseconds a step of each row; shape (rows,)."""
    return _predictor(rows)(model)


def fitted_model(rows: Sequence[ScaleRow]) -> ScaleoutModel:
    """Fit the scale-out model to these rows, without interval widths."""
    predicted = _predictor(rows)
    true_log = np.log([row.latency_ms for row in rows])
    starts = np.log(list(STARTS.values()))
    most = starts + _REACH
    for place, name in enumerate(STARTS):
        if name in _SHARES:
            most[place] = 0.0

    def errors(logs: Array) -> Array:
        return np.concatenate([np.log(predicted(_model(logs))) - true_log, _PRIOR_WEIGHT * (logs - starts)])

    found = least_squares(errors, starts, loss="soft_l1", f_scale=_ROBUST_FROM, bounds=(starts - _REACH, most))
    return _model(found.x)


def _predictor(rows: Sequence[ScaleRow]) -> Callable[[ScaleoutModel], Array]:
    groups = _groups(rows)

    def predicted(model: ScaleoutModel) -> Array:
        out = np.empty(len(rows))
        for group in groups:
            out[group.places] = group.predicted_ms(model)
        return out

    return predicted


def _groups(rows: Sequence[ScaleRow]) -> list[_Alike]:
    places: dict[tuple[Strategy, Link], list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault((row.strategy, row.interconnect.link), []).append(place)
    return [_alike([rows[place] for place in each], each, *key) for key, each in places.items()]


def _alike(rows: Sequence[ScaleRow], places: Sequence[int], strategy: Strategy, link: Link) -> _Alike:
    def of(value: Callable[[ScaleRow], float]) -> Array:
        return np.array([value(row) for row in rows], float)

    return _Alike(
        places=np.array(places),
        strategy=strategy,
        links=Links(
            link,
            of(lambda row: row.interconnect.link_gb_per_s),
            of(lambda row: row.interconnect.pcie_gb_per_s),
            of(lambda row: row.interconnect.gpus_per_root),
            of(lambda row: row.interconnect.network_gb_per_s),
        ),
        one_gpu_ms=of(lambda row: row.one_gpu_ms),
        gpus_per_node=of(lambda row: row.gpus_per_node),
        nodes=of(lambda row: row.nodes),
        gradient_bytes=of(lambda row: row.gradient_bytes),
        tensors=of(lambda row: row.weights.tensors or 0),
    )


def _model(logs: Array) -> ScaleoutModel:
    values = dict(zip(STARTS, np.exp(logs).tolist(), strict=True))
    links = {Link(name.removeprefix(_LINK)): values.pop(name) for name in list(values) if name.startswith(_LINK)}
    links[Link.BRIDGE] = links[Link.NVLINK]
    no_widths = dict.fromkeys(Link, Width(0.0, 0.0, 0.0))
    return ScaleoutModel(links, **values, widths=no_widths, one_process_widths=no_widths)
