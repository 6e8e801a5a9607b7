"""Measure a grid of workloads on the local GPU."""
