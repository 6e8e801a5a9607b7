"""How wide the intervals of steps on several GPUs are, from errors on what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from profet_core.catalog.interconnects import Link
from profet_core.scaleout.model import Width
from profet_lab.scaleout.fit import Array
from profet_lab.scaleout.rows import ScaleRow

LEVEL = 0.9
#: Links that share a width: few machines were measured with each kind of NVLink, none with bridges.
ALIKE = ((Link.NVSWITCH, Link.NVLINK, Link.BRIDGE), (Link.PCIE,), (Link.PCIE_HOST,))
#: How much of the half width may grow with the share of a step that several GPUs add.
_SLOPES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
_LEAST = 0.01


def widths(rows: Sequence[ScaleRow], left_out_ms: Array) -> dict[Link, Width]:
    """By link: the width that holds `LEVEL` of these errors, of the slope that makes intervals narrowest in the mean.

    Parameters
    ----------
    left_out_ms : milliseconds a step of each row, by a law that did not see it; shape (rows,).
    """
    links = np.array([row.interconnect.link for row in rows])
    errors = np.abs(np.log([row.latency_ms for row in rows]) - np.log(left_out_ms))
    added = added_shares(rows, left_out_ms)
    found = {}
    for alike in ALIKE:
        of = np.isin(links, alike)
        width = _narrowest(errors[of], added[of]) if of.any() else Width(_LEAST, max(_SLOPES))
        found.update(dict.fromkeys(alike, width))
    return found


def added_shares(rows: Sequence[ScaleRow], predicted_ms: Array) -> Array:
    """Share of each predicted step that several GPUs add to one GPU's; shape (rows,)."""
    return 1 - np.array([row.one_gpu_ms for row in rows]) / predicted_ms


def log_half_widths(rows: Sequence[ScaleRow], predicted_ms: Array, found: Mapping[Link, Width]) -> Array:
    """Of each row's interval, in the logarithm; shape (rows,)."""
    least = np.array([found[row.interconnect.link].least for row in rows])
    exposed = np.array([found[row.interconnect.link].exposed for row in rows])
    return least + exposed * added_shares(rows, predicted_ms)


def covered(rows: Sequence[ScaleRow], predicted_ms: Array, half_widths: Array) -> np.ndarray:
    """Whether each measured step lies in its interval, which never promises more than perfect scaling; (rows,)."""
    true_ms = np.array([row.latency_ms for row in rows])
    low_ms = np.maximum(predicted_ms * np.exp(-half_widths), [row.one_gpu_ms for row in rows])
    return (true_ms >= low_ms) & (true_ms <= predicted_ms * np.exp(half_widths))


def _narrowest(errors: Array, added: Array) -> Width:
    tried = [Width(_least(errors, slope * added), slope) for slope in _SLOPES]
    return min(tried, key=lambda width: width.least + width.exposed * float(added.mean()))


def _least(errors: Array, sloped: Array) -> float:
    return max(_LEAST, float(np.quantile(errors - sloped, LEVEL, method="higher")))
