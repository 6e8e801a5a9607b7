"""One training on an offer: cost, memory, several GPUs, recommendation."""
