"""Writes the catalog's tables: the offers of each cloud, and the specs of their GPUs."""
