"""Step latency on every instance and at every size, from a profile."""
