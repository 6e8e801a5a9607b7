"""Step latency and cost on 1 to 64 GPUs."""
