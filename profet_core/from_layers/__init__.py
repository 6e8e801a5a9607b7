"""Step latency without a profile, from a network's layers."""
