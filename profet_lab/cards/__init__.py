"""Writes the cards that ship with the models from the reports of validation."""
