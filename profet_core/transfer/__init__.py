"""Latency on unprofiled GPUs."""
