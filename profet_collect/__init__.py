"""Measures a grid of workloads on the GPU at hand: a step's profile, its median latency and the peak memory of each."""
