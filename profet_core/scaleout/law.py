"""The formulas, on numbers or on arrays of as many rows: what sharing gradients takes, and what it adds to a step.

The field's standard forms, after Pei et al., IEEE Access 2019 (doi 10.1109/ACCESS.2019.2916550), whose equations were
not read; where published measurements say otherwise, that is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.scaleout.model import ScaleoutModel

Values: TypeAlias = float | FloatArray

#: The backward pass's share of a step: two convolutions for one forward.
BACKWARD_SHARE = 2 / 3
_BYTES_PER_MS = 1e6
#: Between nodes only this was measured.
_MEASURED_NETWORK_GB_PER_S = 10.0 / 8


class Strategy(StrEnum):
    """How gradients are shared; the values are those of documents and of the command line.

    >>> Strategy("ps-cpu").words
    'parameter server on the CPU'
    """

    RING = "ring"
    TREE = "tree"
    PS_CPU = "ps-cpu"
    PS_GPU = "ps-gpu"
    ONE_PROCESS = "one-process"

    @property
    def words(self) -> str:
        """The same for a person."""
        return _WORDS[self]


_WORDS = {
    Strategy.RING: "ring all-reduce",
    Strategy.TREE: "tree all-reduce",
    Strategy.PS_CPU: "parameter server on the CPU",
    Strategy.PS_GPU: "parameter server on the GPUs",
    Strategy.ONE_PROCESS: "one process for all GPUs (DataParallel)",
}


@dataclass(frozen=True, slots=True)
class Links:
    """What `Interconnect` says, of one node or of as many as there are rows; 10^9 bytes a second, one direction."""

    kind: Link
    link_gb_per_s: Values
    pcie_gb_per_s: Values
    gpus_per_root: Values
    network_gb_per_s: Values

    @classmethod
    def of(cls, node: Interconnect) -> Links:
        """Of a node."""
        return cls(node.link, node.link_gb_per_s, node.pcie_gb_per_s, node.gpus_per_root, node.network_gb_per_s)


def node_sharing_ms(
    model: ScaleoutModel, strategy: Strategy, gpus: Values, links: Links, gradient_bytes: Values
) -> Values:
    """Milliseconds in which the GPUs of a node share gradients; 0 on one GPU.

    A parameter server on the CPU is reached by all GPUs behind a root port at once (measured on K80 nodes: eight take
    no longer than four). One on the GPUs keeps its part on each, as TensorFlow's does: a ring's bytes.
    """
    if strategy is Strategy.PS_CPU:
        once_ms = _ms(gradient_bytes, links.pcie_gb_per_s * model.host_efficiency)
        several = np.minimum(gpus, links.gpus_per_root)
        return np.where(np.greater(gpus, 1), 2 * several * once_ms + gpus * model.message_ms, 0.0)
    once_ms = _ms(gradient_bytes, links.link_gb_per_s * model.link_efficiency[links.kind])
    return all_reduce_ms(strategy, gpus, once_ms, model.message_ms)


def network_sharing_ms(
    model: ScaleoutModel, strategy: Strategy, nodes: Values, links: Links, gradient_bytes: Values
) -> Values:
    """Milliseconds in which nodes share their sums; 0 on one node. Parameter servers keep their part on each node."""
    once_ms = _ms(gradient_bytes, links.network_gb_per_s * model.network_efficiency)
    return all_reduce_ms(strategy, nodes, once_ms, model.message_ms)


def all_reduce_ms(strategy: Strategy, members: Values, once_ms: Values, message_ms: float) -> Values:
    """A tree's time, else a ring's; `once_ms`: all gradients once over one link.

    >>> float(all_reduce_ms(Strategy.RING, 4, 10, 0.5)), float(all_reduce_ms(Strategy.TREE, 4, 10, 0.5))
    (18.0, 42.0)
    """
    if strategy is Strategy.TREE:
        return 2 * np.ceil(np.log2(members)) * (once_ms + message_ms)
    return 2 * (members - 1) / members * once_ms + 2 * (members - 1) * message_ms


def several_ms(
    model: ScaleoutModel, one_gpu_ms: Values, gpus_per_node: Values, nodes: Values, sharing_ms: Values
) -> Values:
    """A step's milliseconds on several GPUs that each have a process: never below one GPU's.

    Of sharing, the part that can overlap hides behind the backward pass; the rest, and waiting, adds up.
    """
    backward_ms = BACKWARD_SHARE * one_gpu_ms
    overlapped_ms = model.overlap * sharing_ms
    waiting = model.straggling * np.log2(gpus_per_node) + model.network_straggling * np.log2(nodes)
    longer_ms = np.maximum(overlapped_ms - backward_ms, 0.0) + sharing_ms - overlapped_ms
    return one_gpu_ms * (1 + waiting) + longer_ms


def one_process_ms(
    model: ScaleoutModel,
    one_gpu_ms: Values,
    gpus: Values,
    links: Links,
    gradient_bytes: Values,
    tensors: Values,
) -> Values:
    """A step's milliseconds where one process launches for all GPUs of a node, and weights are copied from one of them.

    Weights go out and gradients come back at once to all (measured: as long for four GPUs as for two); each tensor
    costs the process time, and more for each GPU.
    """
    copies_ms = 2 * _ms(gradient_bytes, links.link_gb_per_s * model.copy_efficiency)
    launches_ms = tensors * (model.tensor_ms + model.tensor_gpu_ms * (gpus - 1))
    return one_gpu_ms + np.where(np.greater(gpus, 1), copies_ms + launches_ms, 0.0)


def input_copy_ms(model: ScaleoutModel, gpus: Values, links: Links, input_bytes: Values) -> Values:
    """Milliseconds of the input's copy to all GPUs behind one root port of the host."""
    sharing_port = np.minimum(gpus, links.gpus_per_root)
    return sharing_port * _ms(input_bytes, links.pcie_gb_per_s * model.host_efficiency)


def network_doubt(network_gb_per_s: float) -> float:
    """By how much the half-width of a step over several nodes grows, whose network was measured nowhere.

    A judgment: as much again for each factor of ten away from the 10 Gb/s of all measurements.

    >>> network_doubt(1.25), round(network_doubt(125), 3)
    (1.0, 3.0)
    """
    return 1 + abs(math.log10(network_gb_per_s / _MEASURED_NETWORK_GB_PER_S))


def _ms(amount_bytes: Values, gb_per_s: Values) -> Values:
    return amount_bytes / (gb_per_s * _BYTES_PER_MS)
