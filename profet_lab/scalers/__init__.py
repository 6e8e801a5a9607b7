"""Fits what carries latencies to other batch and pixel sizes."""
