"""Writes the catalogue's tables: the offers of each cloud, and the data sheets of their GPUs."""
