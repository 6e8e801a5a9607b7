"""A training on an offer: epochs, cost, energy, memory, several GPUs, and which offer to rent."""
