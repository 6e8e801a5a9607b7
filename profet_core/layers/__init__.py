"""What a network is made of: its layers, and the parameters, operations and activations counted from them."""

from profet_core.layers.counts import Counts

__all__ = ["Counts"]
