"""Fits what reaches unprofiled GPUs."""
