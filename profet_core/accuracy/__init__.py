"""Measured accuracy that ships with the models, as records."""
