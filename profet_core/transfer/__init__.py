"""Latency on GPUs that nobody profiled."""
