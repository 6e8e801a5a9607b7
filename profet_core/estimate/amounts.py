"""Work of training steps from layer counts and batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.layers.counts import Counts

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
