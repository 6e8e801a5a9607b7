"""Fits what answers whether a training step fits in memory."""
