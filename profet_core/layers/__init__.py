"""Networks as layers: parameters, FLOPs, activations, and step latency without a profile."""
