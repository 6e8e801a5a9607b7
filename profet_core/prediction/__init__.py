"""Predict step latency on every instance from a profile."""
