"""Fit the scalers to other batch and pixel sizes."""
