"""What the times of a profile's classes say of a step: its work by kind, its number of kernels, and its latency."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from profet_core.ensemble.members import StepInputs
from profet_core.ensemble.operations import COPY_CLASS, IDLE_CLASS, OperationClasses
from profet_core.files import JsonObject, finite_number
from profet_core.latency import FloatArray, smooth_max

_CONVOLUTIONS = (
    *("convolution", "1 x 1 convolution", "narrow convolution"),
    *("convolution and product outputs", "convolution and product inputs"),
)
#: Groups of classes whose times are read together -> kinds of work in them, as `layers.rates` has them. Other classes
#: are no work.
GROUPS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("convolution",): _CONVOLUTIONS,
    ("convolution filter gradient",): _CONVOLUTIONS,
    ("convolution input gradient",): _CONVOLUTIONS,
    ("matrix product",): ("matrix product",),
    ("depthwise", "depthwise filter gradient", "depthwise input gradient"): (
        *("depthwise convolution", "depthwise outputs"),
    ),
    ("batch norm", "batch norm gradient"): ("normalization",),
    ("pooling", "pooling gradient"): ("pooling", "activation function"),
    ("activation", "activation gradient", "bias gradient"): ("activation function", "normalization"),
    ("addition", "elementwise", "rest"): (
        *("elementwise", "convolution and product outputs", "parameters", "dense parameters"),
    ),
    ("weight update",): ("parameters", "dense parameters"),
    ("data movement",): ("copy",),
}
#: Of a step on a host of PROFET's cells, milliseconds: its start, and gaps that no launch leaves.
_START_MS, _GAP_MS = 1.9, 1.7
#: A copy of the batch over its time in the profile, gaps in a millisecond of it, and launches in one of other gaps.
_COPY, _GAP_PER_COPY, _LAUNCHES_PER_GAP = 1.15, 0.3, 4.0
#: A copy of a million values of images, milliseconds: on PROFET's four instances nine of ten take 0.40 to 1.18.
_COPY_MS_PER_MILLION, _CHANNELS = 0.75, 3
#: A launch-bound step that is profiled over one that isn't.
_PROFILED = 1.7


class StepTimes(Struct, frozen=True):
    """GPU time of profiles, milliseconds of one step as recorded.

    Attributes
    ----------
    groups_ms : work by `GROUPS`, (profiles, groups).
    busy_ms, copy_ms, idle_ms : all work, copies of the batch, and gaps, (profiles,).
    host_ms : CPU time of the step's operations, (profiles,); infinity if the profile doesn't indicate it.
    """

    groups_ms: FloatArray
    busy_ms: FloatArray
    copy_ms: FloatArray
    idle_ms: FloatArray
    host_ms: FloatArray

    @classmethod
    def of(cls, classes: OperationClasses, inputs: StepInputs, host_ms: FloatArray) -> StepTimes:
        """Make times from the default method's imputed class times; operations without a class are work of no group."""
        device = tuple(classes.device)
        times_ms = inputs.classes_ms[:, : len(device)]
        copy_ms, idle_ms = (times_ms[:, device.index(name)] for name in (COPY_CLASS, IDLE_CLASS))
        busy_ms = times_ms.sum(axis=1) + inputs.unknown_ms[:, 0] - copy_ms - idle_ms
        return cls(times_ms @ _group_sums(device), busy_ms, copy_ms, idle_ms, host_ms)

    @property
    def launch_ms(self) -> FloatArray:
        """Launches on the profile's own host, at most the step.

        The host's own time says it where the trace has that. Else it follows from the gaps by a smooth minimum.
        """
        step_ms = (self.busy_ms + self.idle_ms) / _PROFILED
        gaps_ms = np.maximum(self.idle_ms - _GAP_MS - _GAP_PER_COPY * self.copy_ms, 0.0)
        by_gaps_ms = 1 / (1 / np.maximum(step_ms, 1e-9) + 1 / (_START_MS + _LAUNCHES_PER_GAP * gaps_ms))
        return np.where(np.isfinite(self.host_ms), np.minimum(self.host_ms / _PROFILED, step_ms), by_gaps_ms)

    def pixels(self, batch_sizes: FloatArray) -> FloatArray:
        """Height and width of the images by the copy of the batch, (profiles,); 0 without one."""
        values = 1e6 * np.maximum(self.copy_ms, 0.0) / _COPY_MS_PER_MILLION
        side: FloatArray = np.sqrt(values / (_CHANNELS * batch_sizes))
        return side

    @property
    def work_ms(self) -> FloatArray:
        """All that the GPU does, copies too."""
        return self.busy_ms + _COPY * self.copy_ms

    @property
    def latency_ms(self) -> FloatArray:
        """The step where it isn't profiled."""
        step_ms: FloatArray = smooth_max(self.work_ms + _START_MS, self.launch_ms)
        return step_ms


@cache
def _group_sums(device: tuple[str, ...]) -> FloatArray:
    """Indicate which GPU class is in which group, 0 or 1, (classes, groups)."""
    return np.array([[float(name in group) for group in GROUPS] for name in device])


#: Added to shares of groups before their logarithm.
_SHARE_AT_LEAST = 0.01
#: Inputs beyond so many standard deviations of those that were learned from are no more different.
_FARTHEST = 4.0


class WorkReader(Struct, frozen=True):
    """Infers the work of steps that were profiled on one anchor.

    Attributes
    ----------
    mean, scale : of the inputs, (inputs,).
    centers : standardized inputs of typical steps, (centers, inputs).
    width : how far from a center a step is like it.
    typical : kind of work, as `layers.rates` names it -> typical amount per millisecond.
    weights : of a constant, inputs, and nearness to centers, (1 + inputs + centers, kinds + 1); the last output is the
        logarithm of the number of kernels.
    """

    mean: FloatArray
    scale: FloatArray
    centers: FloatArray
    width: float
    typical: Mapping[str, float]
    weights: FloatArray

    def read(self, groups_ms: FloatArray) -> tuple[Mapping[str, FloatArray], FloatArray]:
        """Return kind of work -> amount, and the number of kernels, (profiles,) each, from the times of `GROUPS`."""
        inputs = (work_inputs(groups_ms) - self.mean) / self.scale
        outputs: FloatArray = np.exp(regressors(inputs, self.centers, self.width) @ self.weights)
        over_typical, total_ms = np.maximum(outputs[:, :-1] - AMOUNT_AT_LEAST, 0.0), groups_ms.sum(axis=1)
        amounts = {name: over_typical[:, n] * usual * total_ms for n, (name, usual) in enumerate(self.typical.items())}
        return amounts, outputs[:, -1]


#: Added to amounts over typical ones before their logarithm.
AMOUNT_AT_LEAST = 0.1


def work_inputs(groups_ms: FloatArray) -> FloatArray:
    """Make a reader's inputs, (profiles, inputs): shares of the groups, and their sum, as logarithms."""
    total = np.maximum(groups_ms.sum(axis=1, keepdims=True), 1e-6)
    return np.column_stack([np.log(groups_ms / total + _SHARE_AT_LEAST), np.log(total)])


def regressors(inputs: FloatArray, centers: FloatArray, width: float) -> FloatArray:
    """Columns that the logarithms of amounts are sums of, (profiles, columns), from standardized inputs."""
    inputs = np.clip(inputs, -_FARTHEST, _FARTHEST)
    apart = (inputs**2).sum(axis=1)[:, None] - 2 * inputs @ centers.T + (centers**2).sum(axis=1)
    return np.column_stack([np.ones(len(inputs)), inputs, np.exp(-apart / (2 * width**2))])


def readers_of(content: JsonObject) -> Mapping[str, WorkReader]:
    """Readers of a file's content by anchor; raises `ValueError` or similar for invalid content."""
    readers, inputs = {}, len(GROUPS) + 1
    for anchor, row in content.items():
        mean, scale, centers, weights = (np.array(row[name], float) for name in ("mean", "scale", "centers", "weights"))
        typical = {str(name): finite_number(value) for name, value in row["typical"].items()}
        shapes = mean.shape, scale.shape, centers.shape[1:], weights.shape
        if shapes != ((inputs,), (inputs,), (inputs,), (1 + inputs + len(centers), 1 + len(typical))):
            raise ValueError("a reader's arrays don't belong together")
        if not all(np.isfinite(each).all() for each in (mean, centers, weights)) or not (scale > 0).all():
            raise ValueError("a reader's arrays hold numbers")
        width, of_kinds = finite_number(row["width"]), MappingProxyType(typical)
        readers[str(anchor)] = WorkReader(mean, scale, centers, width, of_kinds, weights)
    return MappingProxyType(readers)
