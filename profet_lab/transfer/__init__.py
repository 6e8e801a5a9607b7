"""Fits what reaches GPUs that nobody profiled."""
