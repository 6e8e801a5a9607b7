"""Fit the transfer to unprofiled GPUs."""
