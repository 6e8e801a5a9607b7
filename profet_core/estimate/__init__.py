"""Step latency without a profile: from what a network's layers ask of a GPU."""
