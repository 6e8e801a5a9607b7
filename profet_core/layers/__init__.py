"""Networks as layers: parameters, FLOPs and activations."""

from profet_core.layers.network import Counts, Network
from profet_core.layers.networks import counts_of, measured_networks, named_networks, network_name
from profet_core.layers.reading import read_network
from profet_core.layers.rules import Kind, Layer

__all__ = [
    "Counts",
    "Kind",
    "Layer",
    "Network",
    "counts_of",
    "measured_networks",
    "named_networks",
    "network_name",
    "read_network",
]
