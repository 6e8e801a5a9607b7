"""What a step's work costs on a measured GPU, and on others by their speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.latency import smooth_max
from profet_core.layers.network import Counts
from profet_core.transfer.steps import WEIGHTS
from profet_core.transfer.targets import Host, host_named

#: Kinds of work that a GPU does at different speeds. Parameters count separately from FLOPs because a step reads each
#: of them, computes its gradient and updates it once, regardless of batch. Kernels count because the end of each leaves
#: part of the GPU idle.
WORK = (
    "convolution FLOPs",
    "depthwise FLOPs",
    "dense FLOPs",
    "activation elements",
    "dense parameters",
    "other parameters",
    "convolution kernels",
)
#: Values per pixel.
_CHANNELS = 3
#: Multiply and add for each parameter of a dense layer.
_FLOPS_PER_DENSE_PARAMETER = 2


@dataclass(frozen=True)
class StepAmounts:
    """Work of steps, inferred from the forward pass.

    The backward pass is proportional to it.

    Attributes
    ----------
    work : of one step, (steps, kinds) in the order of `WORK`.
    image_values : of the batch, copied from host to GPU, (steps,).
    batch_sizes, pixels, convolutions, dense_layers, normalizations, layers : (steps,).
    """

    work: FloatArray
    image_values: FloatArray
    batch_sizes: FloatArray
    pixels: FloatArray
    convolutions: FloatArray
    dense_layers: FloatArray
    normalizations: FloatArray
    layers: FloatArray

    def __len__(self) -> int:
        return len(self.batch_sizes)

    def of(self, rows: np.ndarray) -> StepAmounts:
        """A subset of the steps."""
        return StepAmounts(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def step_amounts(networks: Sequence[Counts], batch_sizes: Sequence[int]) -> StepAmounts:
    """Work of a step of each network at its batch size."""

    def each(name: str) -> FloatArray:
        return np.array([getattr(network, name) for network in networks], float)

    batches, pixels, convolutions = np.array(batch_sizes, float), each("pixels"), each("convolutions")
    # Without biases; a dense layer applied at every position of an image has FLOPs for each, and its parameters once.
    dense_parameters = np.minimum(each("dense_flops") / _FLOPS_PER_DENSE_PARAMETER, each("dense_parameters"))
    work = [
        batches * each("convolution_flops"),
        batches * each("depthwise_flops"),
        batches * each("dense_flops"),
        batches * each("activation_elements"),
        dense_parameters,
        each("parameters") - each("dense_parameters"),
        convolutions,
    ]
    return StepAmounts(
        work=np.stack(work, axis=1),
        image_values=_CHANNELS * batches * pixels**2,
        batch_sizes=batches,
        pixels=pixels,
        convolutions=convolutions,
        dense_layers=each("dense_layers"),
        normalizations=each("normalizations"),
        layers=each("layers"),
    )


def class_counts(counts: Counts) -> tuple[float, float, float]:
    """What the shares of products, normalizations and depthwise kernels follow from: ratios of a network's counts."""
    plain = max(counts.layers - counts.convolutions - counts.dense_layers, 1)
    return (
        counts.dense_flops / max(counts.convolution_flops, 1.0),
        counts.normalizations / plain,
        counts.depthwise_flops / max(counts.other_elements, 1.0),
    )


# step = work combined with launches, + copy of the batch + start. "Combined" is the smooth maximum of both, as for
# steps scaled from profiles (`profet_core/transfer`).


@dataclass(frozen=True)
class GpuCosts:
    """Costs fitted on one measured instance.

    Launches, copy and start are those of the reference host.

    Attributes
    ----------
    gpu : its full name. host : name of the host CPU.
    work_ms : milliseconds per unit of each kind, in the order of `WORK`.
    layer_ms, convolution_ms : launches per step, for each layer and for each convolution.
    start_ms : per step. value_ms : copy, per value of the batch.
    log_speed : log speedup over the reference on the benchmark's work.
    """

    gpu: str
    host: str
    work_ms: tuple[float, ...]
    layer_ms: float
    convolution_ms: float
    start_ms: float
    value_ms: float
    log_speed: float = 0.0

    @cached_property
    def measured_host(self) -> Host:
        """The host it was measured in."""
        return host_named(self.host)

    def parts_ms(self, amounts: StepAmounts) -> FloatArray:
        """Time of work by kind, milliseconds, (steps, kinds)."""
        return amounts.work * np.array(self.work_ms, np.float64)

    def launch_ms(self, amounts: StepAmounts, host: Host | None = None) -> FloatArray:
        """Launch time of the steps on a host (None: its own), (steps,)."""
        reference_ms = self.layer_ms * amounts.layers + self.convolution_ms * amounts.convolutions
        return reference_ms * (host or self.measured_host).launch

    def fixed_ms(self, amounts: StepAmounts, host: Host | None = None) -> FloatArray:
        """Copy and start, which don't overlap with other work, (steps,)."""
        host = host or self.measured_host
        return self.value_ms * host.copy * amounts.image_values + self.start_ms * host.launch

    def latency_ms(
        self, amounts: StepAmounts, log_gain: float | FloatArray = 0.0, host: Host | None = None
    ) -> FloatArray:
        """Milliseconds per step, (steps,) or (gains, steps).

        Parameters
        ----------
        log_gain : log speedup of the GPU over this one; a number or (gains, 1).
        host : another host than its own.
        """
        work_ms: FloatArray = self.parts_ms(amounts).sum(axis=1) * np.exp(-np.asarray(log_gain, float))
        launch_ms = self.launch_ms(amounts, host)
        found: FloatArray = smooth_max(work_ms, launch_ms) + self.fixed_ms(amounts, host)
        return found


# Each measured GPU predicts the step latency at the target GPU's speed and in its host. The result is a geometric mean
# with the largest weights on the GPUs nearest in speed, as for steps scaled from profiles.

#: Log speeds over the reference's at which a slower GPU is evaluated too: the weights of the measured GPUs change with
#: speed, and that must not make a faster GPU slower.
_SLOWER_TRIED = np.arange(-4.0, 5.0, 0.125)


@dataclass(frozen=True)
class KnownSteps:
    """The same steps on one measured GPU. log_ratio : correction of the model there, (steps,)."""

    costs: GpuCosts
    log_ratio: FloatArray


def reached_ms(known: Mapping[str, KnownSteps], amounts: StepAmounts, log_speed: float, host: Host) -> FloatArray:
    """Milliseconds per step on another GPU, (steps,).

    They never exceed those on a slower one in the same host.

    Parameters
    ----------
    known : measured instances. log_speed : log speedup over the reference on the benchmark's work.
    """
    slower = _SLOWER_TRIED[log_speed > _SLOWER_TRIED]
    speeds = np.array([*slower, log_speed])[:, None]
    gains = np.stack([speeds - one.costs.log_speed for one in known.values()])
    logs = np.stack(
        [
            np.log(one.costs.latency_ms(amounts, gain, host)) + one.log_ratio
            for one, gain in zip(known.values(), gains, strict=True)
        ]
    )
    least_ms: FloatArray = np.exp((_nearness(gains) * logs).sum(axis=0)).min(axis=0)
    return least_ms


def speed_weights(known: Mapping[str, GpuCosts], log_speed: float) -> dict[str, float]:
    """Measured instance -> its weight in the geometric mean."""
    gains = np.array([log_speed - one.log_speed for one in known.values()])
    return dict(zip(known, _nearness(gains).tolist(), strict=True))


def _nearness(gains: FloatArray) -> FloatArray:
    """Weights of measured GPUs by their distance in log speed, (GPUs, ...), 1 in sum."""
    nearness = np.exp(-WEIGHTS.nearness * np.abs(gains))
    weights: FloatArray = nearness / nearness.sum(axis=0)
    return weights
