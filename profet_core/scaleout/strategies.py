"""Layout of GPUs in nodes, and names of strategies."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.scaleout.law import Strategy
from profet_core.units import whole_number

__all__ = ["BEST", "CHECKED_ON", "MOST_GPUS", "STRATEGY_CHOICES", "USUAL", "Layout", "Strategy", "strategies_of"]

#: Maximum number of GPUs in the measurements.
MOST_GPUS = 64
#: Default strategy of current frameworks, measured with NCCL; not always the shortest step by the formulas.
USUAL = (Strategy.RING,)
#: A deprecated name for it that is still accepted.
BEST = "best"
#: Choices of `--strategy`.
STRATEGY_CHOICES = (*(each.value for each in Strategy), BEST)
#: Note on a strategy whose formula is not validated on current machines.
CHECKED_ON = {
    Strategy.TREE: "not measured",
    Strategy.PS_CPU: "measured in 2017 only",
    Strategy.PS_GPU: "measured in 2017 only",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A number of GPUs in identical nodes.

    >>> Layout.of(16, 8), Layout.of(4, 8)
    (Layout(nodes=2, gpus_per_node=8), Layout(nodes=1, gpus_per_node=4))
    """

    nodes: int
    gpus_per_node: int

    @classmethod
    def of(cls, gpus: int, gpus_per_node: int) -> Layout:
        """Layout of part of a node, or of whole nodes.

        Raises
        ------
        InputError : not a number from 1 to `MOST_GPUS`, or more than one node but not whole nodes.
        """
        if whole_number("The number of GPUs", gpus) > MOST_GPUS:
            raise InputError(
                f"The number of GPUs must be at most {MOST_GPUS}, not {gpus}: there are no measurements above that."
            )
        if gpus <= gpus_per_node:
            return cls(1, gpus)
        if gpus % gpus_per_node:
            raise InputError(
                f"{gpus} GPUs don't fill whole machines of {gpus_per_node}: choose a multiple of "
                f"{gpus_per_node}, or fewer."
            )
        return cls(gpus // gpus_per_node, gpus_per_node)

    @property
    def gpus(self) -> int:
        """Number of GPUs in all nodes."""
        return self.nodes * self.gpus_per_node


def strategies_of(strategy: str) -> tuple[Strategy, ...]:
    """Strategies that a name denotes: itself, or `USUAL`.

    Raises
    ------
    InputError : an unknown name.
    """
    if strategy == BEST:
        return USUAL
    if strategy not in list(Strategy):
        raise InputError(f"Unknown strategy {strategy!r}: choose one of {', '.join(STRATEGY_CHOICES)}.")
    return (Strategy(strategy),)
