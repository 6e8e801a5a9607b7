"""Measures a grid of workloads on the GPU at hand: a profile of one step, the step latency and the peak memory of each."""
