"""Trains on measurements of your own: which GPU gets which models, and why another one gets none."""
