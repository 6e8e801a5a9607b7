"""Parts of a profiled step: GPU work, batch copy, and launch gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.networks.stacks import StepInputs
from profet_core.operations.classes import COPY_CLASS, IDLE_CLASS, OperationClasses

CONVOLUTION, PRODUCT, SCATTERED, BANDWIDTH = "convolution", "matrix product", "depthwise gradient", "bandwidth"
#: Kinds of GPU work with equal speedups between GPUs. The filter gradient of a depthwise convolution is its own kind:
#: its kernels don't fill any GPU, so a T4 takes 1.2 times V100's time for it and 3 times for everything else.
KINDS = (CONVOLUTION, PRODUCT, SCATTERED, BANDWIDTH)
_KIND_OF_CLASS = {
    "convolution": CONVOLUTION,
    "convolution filter gradient": CONVOLUTION,
    "convolution input gradient": CONVOLUTION,
    "matrix product": PRODUCT,
    "depthwise filter gradient": SCATTERED,
}


@dataclass(frozen=True)
class StepParts:
    """Device time of profiles by bottleneck, milliseconds of one step as recorded.

    Attributes
    ----------
    kinds_ms : GPU work by kind, (profiles, kinds) in the order of `KINDS`. copy_ms, idle_ms : (profiles,).
    host_ms : CPU time of the step's operations, (profiles,); infinity if the profile doesn't indicate it.
    """

    kinds_ms: FloatArray
    copy_ms: FloatArray
    idle_ms: FloatArray
    host_ms: FloatArray

    @property
    def busy_ms(self) -> FloatArray:
        """All GPU work, (profiles,)."""
        total: FloatArray = self.kinds_ms.sum(axis=1)
        return total

    @property
    def compute_share(self) -> FloatArray:
        """Share of convolutions and matrix products in GPU work, (profiles,): the part bound by peak arithmetic."""
        compute: FloatArray = self.kinds_ms[:, : KINDS.index(PRODUCT) + 1].sum(axis=1)
        return compute / np.maximum(self.busy_ms, 1e-9)

    def of(self, rows: np.ndarray) -> StepParts:
        """A subset of profiles."""
        return StepParts(self.kinds_ms[rows], self.copy_ms[rows], self.idle_ms[rows], self.host_ms[rows])


def step_parts(classes: OperationClasses, inputs: StepInputs, host_ms: FloatArray | None = None) -> StepParts:
    """Parts of steps from imputed class times of the default method.

    Operations without a class count as bandwidth-bound, like most operations.

    Parameters
    ----------
    host_ms : as in `StepParts`; None if no profile indicates it.
    """
    device = tuple(classes.device)
    kinds_ms = inputs.classes_ms[:, : len(device)] @ _kind_sums(device)
    kinds_ms[:, KINDS.index(BANDWIDTH)] += inputs.unknown_ms[:, 0]
    return StepParts(
        kinds_ms=kinds_ms,
        copy_ms=inputs.classes_ms[:, device.index(COPY_CLASS)],
        idle_ms=inputs.classes_ms[:, device.index(IDLE_CLASS)],
        host_ms=np.full(len(kinds_ms), np.inf) if host_ms is None else host_ms,
    )


def kind_of_class(name: str) -> str:
    """Kind of a class of operations: bandwidth-bound unless listed."""
    return _KIND_OF_CLASS.get(name, BANDWIDTH)


def shares(kinds_ms: Sequence[float] | FloatArray) -> FloatArray:
    """Times by kind as shares of their sum, along the last axis."""
    values: FloatArray = np.asarray(kinds_ms, float)
    total: FloatArray = values.sum(axis=-1, keepdims=True)
    return values / np.maximum(total, 1e-9)


def _kind_sums(device: tuple[str, ...]) -> FloatArray:
    """Indicator of GPU class in kind of work, 0 or 1, (classes, kinds)."""
    sums = np.zeros((len(device), len(KINDS)))
    for row, name in enumerate(device):
        if name not in (COPY_CLASS, IDLE_CLASS):
            sums[row, KINDS.index(kind_of_class(name))] = 1.0
    return sums
