"""Validation split that matches a question's distance from the measurements."""

from __future__ import annotations

from enum import StrEnum

from profet_core.errors import InputError
from profet_core.layers.counts import Counts
from profet_core.layers.networks import counts_of, measured_networks

#: Measured batch and image sizes.
BATCHES, PIXELS = (16, 256), (32, 256)
#: Deeper networks of a family whose shallower ones were measured.
_DEEPER = frozenset({"ResNet-101 v1.5", "ResNet-152 v1.5"})


class Regime(StrEnum):
    """The unmeasured part of a question; values as in files and documents."""

    INTERPOLATION = "interpolation"
    LARGER_BATCH = "larger batch"
    DEEPER = "deeper network"
    UNSEEN_GPU = "unseen GPU"
    UNSEEN_NETWORK = "unseen architecture"
    UNSEEN_BOTH = "unseen GPU and architecture"

    @property
    def words(self) -> str:
        """Display text."""
        return _WORDS[self]


_WORDS = {
    Regime.INTERPOLATION: "this network was measured on this GPU",
    Regime.LARGER_BATCH: "this network was measured on this GPU, at smaller batches",
    Regime.DEEPER: "shallower networks of its family were measured on this GPU",
    Regime.UNSEEN_GPU: "this network was measured, on other GPUs",
    Regime.UNSEEN_NETWORK: "other networks were measured on this GPU",
    Regime.UNSEEN_BOTH: "other networks were measured, on other GPUs",
}


def measured_network(network: Counts) -> str | None:
    """The measured network with these counts at this size; None: another network."""
    for name in measured_networks():
        try:
            found = counts_of(name, network.pixels, network.classes)
        except InputError:
            continue
        if found == network:
            return name
    return None


def regime_of(network: Counts, name: str, batch_size: int, *, gpu_measured: bool) -> Regime:
    """Validation split of a question about a network, named or not."""
    low, high = PIXELS
    is_known = low <= network.pixels <= high and measured_network(network) is not None
    if not gpu_measured:
        return Regime.UNSEEN_GPU if is_known else Regime.UNSEEN_BOTH
    if not is_known:
        return Regime.DEEPER if name in _DEEPER else Regime.UNSEEN_NETWORK
    return Regime.INTERPOLATION if batch_size <= BATCHES[1] else Regime.LARGER_BATCH
