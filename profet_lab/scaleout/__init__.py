"""Fit and validate scale-out on published multi-GPU measurements."""
