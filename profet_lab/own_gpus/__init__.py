"""Trains on measurements of one's own: which GPU gets which models, and why another one gets none."""
