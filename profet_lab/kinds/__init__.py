"""Writes the table of operation kinds: what every operation does."""
