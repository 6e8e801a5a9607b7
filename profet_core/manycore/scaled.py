"""A network of your own: its parameters from its forward FLOPs, by those of the three published networks.

The published "operations" are no FLOPs. A backward pass takes twice the FLOPs of a forward one, its published
operations 9 to 13.7 times: in all three networks they are 3.23-3.27 a multiply-add, the forward ones only 0.36, 0.30
and 0.24, so forward operations count something coarser than multiply-adds. Neither ratio is taken for all networks:
each parameter lies on the power law through the two published networks beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from profet_core.errors import InputError
from profet_core.manycore.contention import between
from profet_core.manycore.network import Network
from profet_core.manycore.published import LARGE, MEDIUM, SMALL

#: FLOPs of an image that somebody may mean.
FEWEST_FLOPS, MOST_FLOPS = 1e3, 1e16


def scaled_network(name: str, forward_flops: float) -> Network:
    """A network whose images take so many FLOPs forward.

    Between two published networks every parameter follows the power law through both. Beyond the smallest and the
    largest all that an image takes grows with the FLOPs from the nearest one, memory contention too; what a training
    starts with stays. So a published network's FLOPs give its parameters, and a network beyond has about the nearest
    one's speed-up. (From 15 threads on contention rises more slowly than FLOPs among the published networks: above the
    largest this is the pessimistic choice.)

    Raises
    ------
    InputError : the FLOPs are out of bounds.
    """
    if not FEWEST_FLOPS <= forward_flops <= MOST_FLOPS:
        raise InputError(f"The FLOPs per image must be from {FEWEST_FLOPS:g} to {MOST_FLOPS:g}, not {forward_flops:g}.")

    def grown(name: str) -> float:
        return _at_flops(attrgetter(name), forward_flops)

    def started(name: str) -> float:
        return _at_flops(attrgetter(name), forward_flops, grows_beyond=False)

    def contention(place: int) -> float:
        return _at_flops(lambda network: network.contention_s[place], forward_flops)

    return Network(
        name=name,
        forward_flops=forward_flops,
        forward_operations=grown("forward_operations"),
        backward_operations=grown("backward_operations"),
        preparation_operations=started("preparation_operations"),
        forward_s=grown("forward_s"),
        backward_s=grown("backward_s"),
        preparation_s=started("preparation_s"),
        contention_s=tuple(contention(place) for place in range(len(SMALL.contention_s))),
    )


def nearest_published(forward_flops: float) -> Network:
    """The published network whose FLOPs are fewest times apart."""
    return min(
        (SMALL, MEDIUM, LARGE),
        key=lambda network: max(network.forward_flops / forward_flops, forward_flops / network.forward_flops),
    )


def is_beyond_published(forward_flops: float) -> bool:
    """Whether it has more or fewer FLOPs than any published network."""
    return not SMALL.forward_flops <= forward_flops <= LARGE.forward_flops


def _at_flops(of: Callable[[Network], float], flops: float, *, grows_beyond: bool = True) -> float:
    """A parameter at these FLOPs; `grows_beyond` : with them, outside of the published networks."""
    if is_beyond_published(flops):
        end = nearest_published(flops)
        return of(end) * (flops / end.forward_flops if grows_beyond else 1.0)
    low, high = (SMALL, MEDIUM) if flops <= MEDIUM.forward_flops else (MEDIUM, LARGE)
    for network in (low, high):
        if flops == network.forward_flops:
            return of(network)
    return between(flops, (low.forward_flops, of(low)), (high.forward_flops, of(high)))
