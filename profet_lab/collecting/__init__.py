"""Choose the first cells of `profet collect` and fit its expected step latency."""
