"""Networks as layers: parameters, FLOPs and activations."""
