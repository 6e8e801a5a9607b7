"""Trained networks of one member, all pairs and folds as stacked matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profet_core.ensemble.fitted import DenseStack
from profet_core.ensemble.members import CLASS_RATIO, HOMOGENEOUS, StepInputs, member_latency


@dataclass(frozen=True)
class Recipe:
    """How one member is trained.

    Attributes
    ----------
    activation : of the hidden layers. dropout : share of hidden values dropped while training.
    composed : share of the training samples that are two workloads run one after the other.
    standardised : inputs are shifted and scaled by their training rows' mean and deviation (plus `softening`).
    output_scale : initial size of the last layer's weights.
    """

    activation: str
    dropout: float
    composed: float
    standardised: bool
    output_scale: float
    softening: float = 1e-2


RECIPES = {
    HOMOGENEOUS: Recipe("relu", 0.0, 0.0, False, 1.0),
    CLASS_RATIO: Recipe("silu", 0.2, 0.3, True, 0.1),
}


@dataclass(frozen=True)
class StackedNetworks:
    """Trained networks of one member, standardization folded into the first layer.

    Attributes
    ----------
    kernels, biases : per layer (networks, inputs, outputs) and (networks, 1, outputs).
    constants : (networks, 1, ...), as `members.network_latency` takes them.
    typical_log_ratio : (networks,). unseen : (networks, classes).
    """

    member: str
    kernels: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    constants: np.ndarray
    typical_log_ratio: np.ndarray
    unseen: np.ndarray

    def run(self, network: int, inputs: np.ndarray) -> np.ndarray:
        """One network's raw output, (rows, inputs) -> (1, rows, outputs)."""
        only = slice(network, network + 1)
        kernels, biases = ([layer[only] for layer in layers] for layers in (self.kernels, self.biases))
        return DenseStack(kernels, biases, RECIPES[self.member].activation).run(inputs)

    def predict(self, network: int, inputs: StepInputs, device_classes: int) -> np.ndarray:
        """One network's latency on its target, milliseconds (rows,)."""
        only = slice(network, network + 1)
        return member_latency(
            self.member,
            lambda table: self.run(network, table),
            inputs,
            device_classes,
            self.constants[only],
            self.typical_log_ratio[only],
        )[0]
