"""How long gradients take to be shared, by strategy: the field's standard forms, with fitted shares of bandwidth.

After Pei et al., IEEE Access 2019 (doi 10.1109/ACCESS.2019.2916550), whose equations were not read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from profet_core.catalog.interconnects import Interconnect
from profet_core.errors import InputError
from profet_core.scaleout.model import ScaleoutModel
from profet_core.units import MS_PER_S, whole_number

#: The most GPUs that measurements reach.
MOST_GPUS = 64


class Strategy(StrEnum):
    """How gradients are shared; the values are those of documents and of the command line.

    >>> Strategy("ps-cpu").words
    'parameter server on the CPU'
    """

    RING = "ring"
    TREE = "tree"
    PS_CPU = "ps-cpu"
    PS_GPU = "ps-gpu"

    @property
    def words(self) -> str:
        """The same for a person."""
        return _WORDS[self]


_WORDS = {
    Strategy.RING: "ring all-reduce",
    Strategy.TREE: "tree all-reduce",
    Strategy.PS_CPU: "parameter server on the CPU",
    Strategy.PS_GPU: "parameter server on one GPU",
}
#: What asks for the strategy with the shortest step.
BEST = "best"


@dataclass(frozen=True, slots=True)
class Layout:
    """So many GPUs as nodes: the first `gpus_per_node` share a node, the others have nodes as full.

    >>> Layout.of(16, 8), Layout.of(4, 8)
    (Layout(nodes=2, gpus_per_node=8), Layout(nodes=1, gpus_per_node=4))
    """

    nodes: int
    gpus_per_node: int

    @classmethod
    def of(cls, gpus: int, gpus_per_node: int) -> Layout:
        """Part of a node, or whole nodes.

        Raises
        ------
        InputError : no number of GPUs from 1 to `MOST_GPUS`, or more than a node and not whole nodes.
        """
        if whole_number("The number of GPUs", gpus) > MOST_GPUS:
            raise InputError(f"The number of GPUs must be at most {MOST_GPUS}, not {gpus}: more were not measured.")
        if gpus <= gpus_per_node:
            return cls(1, gpus)
        if gpus % gpus_per_node:
            raise InputError(
                f"{gpus} GPUs are no whole nodes of {gpus_per_node}: choose a multiple of {gpus_per_node}, or fewer."
            )
        return cls(gpus // gpus_per_node, gpus_per_node)

    @property
    def gpus(self) -> int:
        """Of all nodes."""
        return self.nodes * self.gpus_per_node


@dataclass(frozen=True, slots=True)
class Sharing:
    """Milliseconds that gradients of a step take within the nodes, and between them."""

    node_ms: float
    network_ms: float

    @property
    def total_ms(self) -> float:
        """One after the other."""
        return self.node_ms + self.network_ms


def sharing(
    model: ScaleoutModel, strategy: Strategy, layout: Layout, interconnect: Interconnect, gradient_bytes: float
) -> Sharing:
    """What a step's gradients take; nothing on one GPU. Within nodes first, the nodes' sums between them after.

    A parameter server across nodes keeps its share of the parameters on each: as many bytes as a ring.
    """
    return Sharing(
        _node_ms(model, strategy, layout.gpus_per_node, interconnect, gradient_bytes),
        _network_ms(model, strategy, layout.nodes, interconnect, gradient_bytes),
    )


def _node_ms(
    model: ScaleoutModel, strategy: Strategy, gpus: int, interconnect: Interconnect, gradient_bytes: float
) -> float:
    if gpus == 1:
        return 0.0
    if strategy is Strategy.PS_CPU:
        once_ms = _ms(gradient_bytes, interconnect.pcie_gb_per_s * model.host_efficiency)
        return 2 * gpus * once_ms + gpus * model.message_ms
    once_ms = _ms(gradient_bytes, interconnect.link_gb_per_s * model.link_efficiency[interconnect.link])
    if strategy is Strategy.PS_GPU:
        return 2 * (gpus - 1) * once_ms + (gpus - 1) * model.message_ms
    return all_reduce_ms(strategy, gpus, once_ms, model.message_ms)


def _network_ms(
    model: ScaleoutModel, strategy: Strategy, nodes: int, interconnect: Interconnect, gradient_bytes: float
) -> float:
    if nodes == 1:
        return 0.0
    once_ms = _ms(gradient_bytes, interconnect.network_gb_per_s * model.network_efficiency)
    return all_reduce_ms(strategy, nodes, once_ms, model.network_message_ms)


def all_reduce_ms(strategy: Strategy, members: int, once_ms: float, message_ms: float) -> float:
    """A ring's or a tree's time; `once_ms`: all gradients once over one link.

    >>> all_reduce_ms(Strategy.RING, 4, 10, 0.5), all_reduce_ms(Strategy.TREE, 4, 10, 0.5)
    (18.0, 42.0)
    """
    if strategy is Strategy.TREE:
        return 2 * math.ceil(math.log2(members)) * (once_ms + message_ms)
    return 2 * (members - 1) / members * once_ms + 2 * (members - 1) * message_ms


def _ms(amount_bytes: float, gb_per_s: float) -> float:
    return amount_bytes / (gb_per_s * 1e9) * MS_PER_S
