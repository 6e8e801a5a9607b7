"""Precision of a training step, and how much faster mixed precision makes it on each GPU."""
