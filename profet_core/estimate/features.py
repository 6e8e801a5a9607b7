"""Step features for corrections of the analytical model.

A feature that `rises` grows with FLOPs, batch, pixels, or analytical time. A correction never decreases with it, so a
larger step is never predicted faster. Other features distinguish networks and GPUs and don't change with any of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.estimate.amounts import WORK, StepAmounts
from profet_core.estimate.costs import GpuCosts

#: Milliseconds treated as zero.
_NO_MS = 1e-3


@dataclass(frozen=True, slots=True)
class Feature:
    """One column. `instance` : the measured instance that it indicates; empty for others."""

    name: str
    rises: bool
    instance: str = ""


#: Kinds of work whose times are features; kernels don't change with step size and are inferred from `_COUNTED`.
_TIMED = WORK[:-1]
BY_LAW = "ms by the analytical model"
_COUNTED = ("convolutions", "dense layers", "normalizations", "layers")


def features_of(instances: Sequence[str]) -> tuple[Feature, ...]:
    """Columns of `feature_matrix` for these measured instances."""
    return (
        *(Feature(f"ms of {name}", rises=True) for name in _TIMED),
        Feature(BY_LAW, rises=True),
        Feature("batch", rises=True),
        Feature("pixels", rises=True),
        *(Feature(name, rises=False) for name in _COUNTED),
        Feature("layers per convolution", rises=False),
        Feature("normalizations per convolution", rises=False),
        Feature("is depthwise", rises=False),
        *(Feature(f"on {name}", rises=False, instance=name) for name in instances),
    )


def feature_matrix(
    amounts: StepAmounts, instance: str, costs: GpuCosts, law_ms: np.ndarray, instances: Sequence[str]
) -> np.ndarray:
    """Features of steps on one measured instance, (steps, features), float64 values that float32 represents exactly.

    Counts, sizes and times are logarithms.
    """
    parts_ms, convolutions = costs.parts_ms(amounts)[:, : len(_TIMED)], np.maximum(amounts.convolutions, 1)
    counts = [amounts.convolutions, amounts.dense_layers, amounts.normalizations, amounts.layers]
    columns = [
        *np.log(parts_ms + _NO_MS).T,
        np.log(law_ms),
        np.log(amounts.batch_sizes),
        np.log(amounts.pixels),
        *(np.log1p(count) for count in counts),
        np.log1p(amounts.layers / convolutions),
        np.log1p(amounts.normalizations / convolutions),
        (amounts.work[:, WORK.index("depthwise FLOPs")] > 0).astype(float),
        *(np.full(len(amounts), float(name == instance)) for name in instances),
    ]
    return np.stack(columns, axis=1).astype(np.float32).astype(float)
