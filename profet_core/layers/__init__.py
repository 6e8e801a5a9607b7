"""What a network is made of: its layers, and the parameters, operations and activations counted from them."""

from profet_core.layers.counts import Counts
from profet_core.layers.networks import counts_of, layers_of, measured_networks, named_networks, network_name

__all__ = ["Counts", "counts_of", "layers_of", "measured_networks", "named_networks", "network_name"]
