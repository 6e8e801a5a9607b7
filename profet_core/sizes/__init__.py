"""Latency at other batch and pixel sizes."""
