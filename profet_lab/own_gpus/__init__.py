"""Train on your own measurements: which GPU gets which models, or why none."""
