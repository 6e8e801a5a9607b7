"""Writes the table that tells what every operation does."""
